import { isIPv6 } from 'node:net'
import type { Milliseconds } from '../../core/lib/text/units.ts'
import type { RedisConfig } from './config.ts'

/** The Redis of a section, with how many replicas must have what is written with `isReplicated`; by default none. */
export type RedisSettings = RedisConfig & { readonly replicas?: number }

export type RedisTls = NonNullable<RedisSettings['tls']>

/** The sections of the file that may have a Redis. */
export const redisSections = ['limits', 'cache', 'idempotency'] as const

export type RedisSection = (typeof redisSections)[number]

interface SectionWithRedis {
  readonly redis: RedisConfig | null
  /** Left out: the section says nothing of replicas. */
  readonly replicas?: number | null
}

/** Returns what a section of a configuration says of its Redis; that of a feature which is left out has none. */
export const sectionWithRedis = (config: object, name: RedisSection): SectionWithRedis =>
  (config as { readonly [Name in RedisSection]?: SectionWithRedis })[name] ?? { redis: null }

/** A host, without brackets, and a port. */
export interface RedisAddress {
  readonly host: string
  readonly port: number
}

export interface RedisServerOptions extends RedisAddress {
  /** Null: without TLS. */
  readonly tls: RedisTls | null
  readonly username: string | null
  readonly password: string | null
  readonly database: number
  /** The longest wait for a connection and its first replies, and for a Sentinel that is asked again. */
  readonly connectTimeoutMs: Milliseconds
  /** How many replicas must have what is written with `isReplicated`, and the longest wait for them. */
  readonly replicas: number
  readonly replicaTimeoutMs: Milliseconds
}

const [redisPort, sentinelPort] = [6379, 26_379]

// For a Redis that is near enough to be asked for every request, this is plenty; and one that comes back is tried again
// soon.
const defaultConnectTimeoutMs = 500

const systemTls: RedisTls = { ca: null, certificate: null, key: null }

/**
 * Reads from settings where Redis is: one server, the master that Sentinels name, or a cluster, of which some nodes are
 * known. Throws when they name none, which the rules of the file do not let through.
 */
export const redisTopology = (settings: RedisSettings, connectTimeoutMs: Milliseconds = defaultConnectTimeoutMs) => {
  const { url, sentinels, name, cluster, username, password, sentinelUsername, sentinelPassword, tls } = settings
  // A reply that there are too few comes in time as well. 0 would be for ever.
  const replicaTimeoutMs = Math.max(1, Math.floor(settings.timeout / 2))
  const common = { connectTimeoutMs, replicas: settings.replicas ?? 0, replicaTimeoutMs }
  if (url !== null) return { kind: 'server' as const, server: { ...parseServer(url, settings), ...common } }
  if (sentinels !== null && name !== null) {
    const toServer = (address: RedisAddress) => ({ ...address, tls, username, password, database: 0, ...common })
    const asSentinel = { username: sentinelUsername, password: sentinelPassword }
    const servers = sentinels.map((each) => ({ ...toServer(parseAddress(each, sentinelPort)), ...asSentinel }))
    return { kind: 'sentinel' as const, sentinels: servers, name, toServer }
  }
  const seeds = (cluster ?? []).map((each) => ({ ...parseServer(each, settings), ...common }))
  const [first] = seeds
  if (first === undefined) throw new Error('no Redis is named')
  return { kind: 'cluster' as const, seeds, toServer: (address: RedisAddress) => ({ ...first, ...address }) }
}

const parseServer = (
  url: string,
  { tls, username, password }: RedisSettings,
): Omit<RedisServerOptions, 'connectTimeoutMs' | 'replicas' | 'replicaTimeoutMs'> => {
  const parsed = new URL(url)
  return {
    ...parseAddress(parsed.host, redisPort),
    tls: parsed.protocol === 'rediss:' ? (tls ?? systemTls) : null,
    username: parsed.username === '' ? username : decodeURIComponent(parsed.username),
    password: parsed.password === '' ? password : decodeURIComponent(parsed.password),
    database: Number(parsed.pathname.slice(1)),
  }
}

/** Parses `host`, `host:port` or `[address]:port`. */
const parseAddress = (text: string, defaultPort: number): RedisAddress => {
  const [, bracketed, bare = '', port] = /^(?:\[(.+)\]|([^:]*))(?::(\d+))?$/.exec(text) ?? []
  return { host: bracketed ?? bare, port: port === undefined ? defaultPort : Number(port) }
}

/**
 * Adds how many replicas must have a write. Null: one where Redis itself replaces a master, by Sentinels or as a
 * cluster, and none with one server.
 */
export const withReplicas = <Settings extends RedisSettings>(
  settings: Settings,
  replicas: number | null,
): Settings & { readonly replicas: number } => ({
  ...settings,
  replicas: replicas ?? (settings.url === null ? 1 : 0),
})

/** Names a Redis for operators, without a secret. */
export const describeRedis = (settings: RedisSettings): string => {
  const topology = redisTopology(settings)
  switch (topology.kind) {
    case 'server':
      return formatAddress(topology.server)
    case 'sentinel':
      return `${topology.name} of Sentinel ${formatAddresses(topology.sentinels)}`
    case 'cluster':
      return `cluster ${formatAddresses(topology.seeds)}`
  }
}

/** Names the keys in a Redis for operators, without a secret. */
export const describeKeyspace = (settings: RedisSettings): string => {
  const topology = redisTopology(settings)
  const database = topology.kind === 'server' ? topology.server.database : 0
  return `${describeRedis(settings)}, database ${database}, prefix ${settings.prefix}`
}

/**
 * Tells whether settings name the same keys of the same Redis, as far as they tell. Sentinels, and nodes of a cluster,
 * are the same as long as one of them is.
 */
export const isSameKeyspace = (settings: RedisSettings, other: RedisSettings): boolean => {
  const [one, another] = [identify(settings), identify(other)]
  return one.name === another.name && one.addresses.some((address) => another.addresses.includes(address))
}

/** What does not change as long as a Redis is the same, and what is known of where it is. */
const identify = (settings: RedisSettings): { readonly name: string; readonly addresses: readonly string[] } => {
  const { prefix } = settings
  const topology = redisTopology(settings)
  const nameOf = (...more: readonly (string | number)[]): string => JSON.stringify([topology.kind, prefix, ...more])
  switch (topology.kind) {
    case 'server':
      return { name: nameOf(topology.server.database), addresses: [formatAddress(topology.server)] }
    case 'sentinel':
      return { name: nameOf(topology.name), addresses: topology.sentinels.map(formatAddress) }
    case 'cluster':
      return { name: nameOf(), addresses: topology.seeds.map(formatAddress) }
  }
}

// A cluster may have many, and the name stands in a line.
const maxNamed = 3

const formatAddresses = (addresses: readonly RedisAddress[]): string => {
  const more = addresses.length - maxNamed
  return addresses.slice(0, maxNamed).map(formatAddress).join(', ') + (more > 0 ? ` and ${more} more` : '')
}

/**
 * Removes from a reason what the server may have repeated of a command: Redis lists the arguments of a command that it
 * does not know, and `AUTH` may be one (`rename-command`).
 */
export const redactSecrets = (reason: string, { url, password, sentinelPassword }: RedisSettings): string => {
  const masked = reason.replace(/,? with args beginning with:.*$/s, '')
  const inUrl = url === null ? '' : new URL(url).password
  const secrets = [inUrl, decodeURIComponent(inUrl), password, sentinelPassword]
  return secrets.reduce<string>((text, secret) => (secret ? text.replaceAll(secret, '***') : text), masked)
}

export const formatAddress = ({ host, port }: RedisAddress): string => `${isIPv6(host) ? `[${host}]` : host}:${port}`

/** Says what went wrong, in words of the system, the library or the server. */
export const errorText = (error: unknown): string => {
  if (!(error instanceof Error)) return String(error)
  const { code } = error as NodeJS.ErrnoException
  return error.message === '' && code !== undefined ? code : error.message
}

/** Names the server of several that an error is about, unless its text does already. */
export const nameServer = (address: RedisAddress, error: unknown): Error => {
  const [name, text] = [formatAddress(address), errorText(error)]
  return text.includes(name) ? new Error(text) : new Error(`${name}: ${text}`)
}
