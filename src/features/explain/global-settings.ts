import type { Config, ListenConfig } from '../../core/config/config.ts'
import { type RenderedValue, Secret } from '../../core/config/schema/annotations.ts'

export type SettingRows = readonly (readonly [key: string, value: string])[]

/** A part of a configuration in the spelling of the file. */
export type SettingTree = { readonly [key: string]: RenderedValue }

/** Lists the settings of all nine operations, in the order in which a connection, then a request meets them. */
export const globalSettingRows = (
  { listen, auth, clients, clientsSource, operations }: Config,
  tree: SettingTree,
): SettingRows => {
  const { upstreams: _, operations: __, ...sections } = tree
  const rows = flattenTree(sections)
  const rowsUnder = (...keys: readonly string[]): SettingRows =>
    keys.flatMap((key) => rows.filter(([path]) => path === key || path.startsWith(`${key}.`)))
  /** Finds the rows of a section without those of some keys. A key that is new in the schema appears. */
  const rowsExcept = (section: string, ...keys: readonly string[]): SettingRows => {
    const excluded = new Set(rowsUnder(...keys))
    return rowsUnder(section).filter((row) => !excluded.has(row))
  }
  /** Finds the rows of a key, with `word` for an empty value. */
  const withPlaceholder = (word: string, key: string): SettingRows =>
    rowsUnder(key).map(([path, value]) => [path, value === '' ? word : value])
  const isCached = Object.values(operations).some(({ cache }) => cache !== null)
  const listenRows: SettingRows = [
    ...rowsUnder('listen.maxConnections', 'listen.maxConnectionsPerAddress'),
    ...tlsRows(listen, rowsUnder),
    ...rowsUnder('listen.maxRequestsPerConnection', 'listen.timeouts', 'listen.interim', 'listen.minRate'),
    ...rowsUnder('listen.proxyProtocol'),
    ...withPlaceholder('none', 'listen.trustedProxies'),
    ...rowsUnder('listen.forwarded'),
    ...rowsUnder('listen.maxTarget', 'listen.maxHeaders', 'listen.maxHeaderFields'),
    ...withPlaceholder('any', 'listen.hosts'),
    ...rowsUnder('listen.publicUrl'),
    ...withPlaceholder('(empty)', 'listen.basePath'),
  ]
  const addressRows = rowsUnder('limits.address.ipv6Prefix')
  const shownKeys = new Set(listenRows.map(([path]) => path))
  return [
    ...listenRows,
    // The address makes no difference to a request, TLS has its rows above, and getContent is among the layers.
    ...rowsExcept('listen', 'listen.host', 'listen.port', 'listen.tls', 'listen.http2', 'listen.getContent').filter(
      ([path]) => !shownKeys.has(path),
    ),
    // limits.address.rate is among the layers.
    ...(addressRows.length === 0 ? [] : [...addressRows, ...rowsUnder('limits.redis')]),
    ...(auth === null ? [] : rowsUnder('auth')),
    ...(clients.length === 0 ? [] : [['clients', describeClients(clients, clientsSource)] as const]),
    ...rowsUnder('requestId'),
    // The other keys of audit are among the layers.
    ...rowsExcept('audit', 'audit.key', 'audit.onFailure', 'audit.digests'),
    ...(isCached ? rowsUnder('cache') : []),
    ...rowsUnder('log.buffer', 'shutdown'),
  ]
}

const tlsRows = ({ tls }: ListenConfig, rowsUnder: (...keys: readonly string[]) => SettingRows): SettingRows =>
  tls === null
    ? [['listen.tls', 'none']]
    : [
        ['listen.tls.certificates', String(tls.certificates.length)],
        ...rowsUnder('listen.tls.minVersion', 'listen.tls.clientCertificates', 'listen.http2'),
      ]

const describeClients = (clients: Config['clients'], { parts }: Config['clientsSource']): string => {
  const files = parts.flatMap(({ file, count }) => (file === null ? [] : [`${count} in ${file}`]))
  return files.length === 0 ? String(clients.length) : `${clients.length}: ${files.join(', ')}`
}

/** The policies with a row of their own when they are on: the file may turn one on and state none of its keys. */
const onOffSections: readonly string[] = ['healthCheck', 'outlier', 'circuitBreaker']

/** Lists the keys of a part of the configuration, each with its whole path. */
export const flattenTree = (tree: SettingTree, above = ''): SettingRows =>
  Object.entries(tree).flatMap(([key, value]): SettingRows => {
    if (!isTree(value)) return [[`${above}${key}`, renderValue(value)]]
    const turnedOn: SettingRows = onOffSections.includes(key) ? [[key, 'on']] : []
    return [...turnedOn, ...flattenTree(value, `${above}${key}.`)]
  })

/** Finds a part of a tree; empty where there is no map. */
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
