import type { Config, ListenConfig } from '../../config/config.ts'
import { type Effective, Secret } from '../../config/shown.ts'

/** Lists key paths, each with its value as it is shown. */
export type Rows = readonly (readonly [key: string, value: string])[]

/** A part of a configuration in the spelling of the file. */
export type Tree = { readonly [key: string]: Effective }

/** Shows what holds for all nine, in the order in which a connection, then a request meets it. */
export const everywhereRows = (
  { listen, limits, auth, clients, clientsSource, operations }: Config,
  tree: Tree,
): Rows => {
  const { upstreams: _, operations: __, ...sections } = tree
  const rows = flat(sections)
  /** Finds the rows of some keys, and of what stands below them. */
  const of = (...keys: readonly string[]): Rows =>
    keys.flatMap((key) => rows.filter(([path]) => path === key || path.startsWith(`${key}.`)))
  /** Finds the rows of a section, but for some: a key that is new to it shows. */
  const without = (section: string, ...keys: readonly string[]): Rows => {
    const left = new Set(of(...keys))
    return of(section).filter((row) => !left.has(row))
  }
  /** Shows what is empty by a word. */
  const or = (word: string, key: string): Rows => of(key).map(([path, value]) => [path, value === '' ? word : value])
  const isCached = Object.values(operations).some(({ cache }) => cache !== null)
  const met: Rows = [
    ...of('listen.maxConnections', 'listen.maxConnectionsPerAddress'),
    ...tlsRows(listen, of),
    ...of('listen.maxRequestsPerConnection', 'listen.timeouts', 'listen.interim', 'listen.minRate'),
    ...or('none', 'listen.trustedProxies'),
    ...of('listen.maxTarget', 'listen.maxHeaders', 'listen.maxHeaderFields'),
    ...or('any', 'listen.hosts'),
    ...of('listen.publicUrl'),
    ...or('(empty)', 'listen.basePath'),
  ]
  const isShown = new Set(met.map(([path]) => path))
  return [
    ...met,
    // Where it listens is no matter of requests, and TLS has its rows above.
    ...without('listen', 'listen.host', 'listen.port', 'listen.tls', 'listen.http2').filter(
      ([path]) => !isShown.has(path),
    ),
    // How often an address may ask is among the layers.
    ...(limits.address === null ? [] : of('limits.address.ipv6Prefix', 'limits.redis')),
    ...(auth === null ? [] : of('auth')),
    ...(clients.length === 0 ? [] : [['clients', clientsIn(clients, clientsSource)] as const]),
    ...of('requestId'),
    // What is recorded, and what if that fails, is among the layers.
    ...without('audit', 'audit.key', 'audit.onFailure', 'audit.digests'),
    ...(isCached ? of('cache') : []),
    ...of('log.buffer', 'shutdown'),
  ]
}

const tlsRows = ({ tls }: ListenConfig, of: (...keys: readonly string[]) => Rows): Rows =>
  tls === null
    ? [['listen.tls', 'none']]
    : [
        ['listen.tls.certificates', String(tls.certificates.length)],
        ...of('listen.tls.minVersion', 'listen.tls.clientCertificates', 'listen.http2'),
      ]

/** Shows how many clients there are, and in which files. */
const clientsIn = (clients: Config['clients'], { parts }: Config['clientsSource']): string => {
  const files = parts.flatMap(({ file, count }) => (file === null ? [] : [`${count} in ${file}`]))
  return files.length === 0 ? String(clients.length) : `${clients.length}: ${files.join(', ')}`
}

/** Lists what has a row of its own when it is on: its keys may be built in, and yet the file turns it on. */
const switches: readonly string[] = ['healthCheck', 'outlier', 'circuitBreaker']

/** Lists the keys of a tree of the configuration, each with its whole path. */
export const flat = (tree: Tree, above = ''): Rows =>
  Object.entries(tree).flatMap(([key, value]): Rows => {
    if (!isTree(value)) return [[`${above}${key}`, shown(value)]]
    const turnedOn: Rows = switches.includes(key) ? [[key, 'on']] : []
    return [...turnedOn, ...flat(value, `${above}${key}.`)]
  })

/** Finds a part of a tree; nothing where that is no map. */
export const partOf = (tree: Tree, ...path: readonly string[]): Tree => {
  let part = tree
  for (const key of path) {
    const next = part[key]
    part = next !== undefined && isTree(next) ? next : {}
  }
  return part
}

const isTree = (value: Effective): value is Tree =>
  typeof value === 'object' && !(value instanceof Secret) && !Array.isArray(value)

const isList = (value: Effective): value is readonly Effective[] => Array.isArray(value)

const shown = (value: Effective): string => {
  if (value instanceof Secret) return value.toJSON()
  return isList(value) ? value.map(shown).join(', ') : String(value)
}
