import { commandPartLoaders, type ExplainPart, type SettingRows } from '../../core/cli/built-in-command.ts'
import type { Config, ListenConfig } from '../../core/config/config.ts'
import { configParts } from '../../core/config/config-part.ts'
import { type RenderedValue, Secret } from '../../core/config/schema/annotations.ts'
import { insertBeside } from '../../core/lib/beside.ts'

export const explainParts: readonly ExplainPart[] = await Promise.all(
  (await commandPartLoaders.load()).flatMap(({ loadExplain }) => loadExplain?.() ?? []),
)

export type SettingTree = { readonly [key: string]: RenderedValue }

/** In the order in which a connection, then a request, meets them. */
export const globalSettingRows = (config: Config, tree: SettingTree): SettingRows => {
  const { listen } = config
  const { upstreams: _, operations: __, ...sections } = tree
  const rows = flattenTree(sections)
  const rowsUnder = (...keys: readonly string[]): SettingRows =>
    keys.flatMap((key) => rows.filter(([path]) => path === key || path.startsWith(`${key}.`)))
  /** `word` stands for an empty value. */
  const withPlaceholder = (word: string, key: string): SettingRows =>
    rowsUnder(key).map(([path, value]) => [path, value === '' ? word : value])
  const own = {
    connections: rowsUnder('listen.maxConnections', 'listen.maxConnectionsPerAddress'),
    tls: tlsRows(listen, rowsUnder),
    requests: rowsUnder('listen.maxRequestsPerConnection', 'listen.timeouts', 'listen.interim', 'listen.minRate'),
    trustedProxies: withPlaceholder('none', 'listen.trustedProxies'),
    forwarded: rowsUnder('listen.forwarded', 'listen.maxTarget', 'listen.maxHeaders', 'listen.maxHeaderFields'),
    hosts: withPlaceholder('any', 'listen.hosts'),
    publicUrl: rowsUnder('listen.publicUrl'),
    basePath: withPlaceholder('(empty)', 'listen.basePath'),
  }
  // `host` and `port` change no request, TLS has its rows above, getContent is a layer.
  const hidden = [
    'host',
    'port',
    'tls',
    'getContent',
    ...configParts.flatMap((part) => part.listenKeys ?? []).map(({ key }) => key),
  ]
  const shown = new Set(
    [...Object.values(own).flat(), ...rowsUnder(...hidden.map((key) => `listen.${key}`))].map(([path]) => path),
  )
  const settings = explainParts.flatMap(({ settings = [] }) =>
    settings.map((each) => ({ ...each, value: each.rows(config, rowsUnder) })),
  )
  return insertBeside(
    {
      ...own,
      // A key that is new in the schema appears.
      others: rowsUnder('listen').filter(([path]) => !shown.has(path)),
      requestId: rowsUnder('requestId'),
      rest: rowsUnder('log.buffer', 'shutdown'),
    },
    settings,
  ).flat()
}

const tlsRows = ({ tls }: ListenConfig, rowsUnder: (...keys: readonly string[]) => SettingRows): SettingRows =>
  tls === null
    ? [['listen.tls', 'none']]
    : [
        ['listen.tls.certificates', String(tls.certificates.length)],
        ...rowsUnder('listen.tls.minVersion', 'listen.tls.clientCertificates'),
      ]

/** Policies with a row even when the file turns them on and states none of their keys. */
const onOffSections: readonly string[] = ['healthCheck', 'outlier', 'circuitBreaker']

export const flattenTree = (tree: SettingTree, above = ''): SettingRows =>
  Object.entries(tree).flatMap(([key, value]): SettingRows => {
    if (!isTree(value)) return [[`${above}${key}`, renderValue(value)]]
    const turnedOn: SettingRows = onOffSections.includes(key) ? [[key, 'on']] : []
    return [...turnedOn, ...flattenTree(value, `${above}${key}.`)]
  })

export const subtree = (tree: SettingTree, ...path: readonly string[]): SettingTree => {
  let part = tree
  for (const key of path) {
    const next = part[key]
    part = next !== undefined && isTree(next) ? next : {}
  }
  return part
}

const isTree = (value: RenderedValue): value is SettingTree =>
  typeof value === 'object' && !(value instanceof Secret) && !Array.isArray(value)

const isList = (value: RenderedValue): value is readonly RenderedValue[] => Array.isArray(value)

const renderValue = (value: RenderedValue): string => {
  if (value instanceof Secret) return value.toJSON()
  return isList(value) ? value.map(renderValue).join(', ') : String(value)
}
