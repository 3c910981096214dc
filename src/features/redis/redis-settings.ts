import { askFacts } from '../../core/config/config-facts.ts'
import { isIPv6 } from '../../core/lib/net/addresses.ts'
import type { Milliseconds } from '../../core/lib/text/units.ts'
import type { RedisConfig, RedisPurpose } from './config.ts'

/** `replicas`: how many must have an `isReplicated` write; default 0. */
export type RedisSettings = RedisConfig & { readonly replicas?: number }

export type RedisTls = NonNullable<RedisSettings['tls']>

declare module '../../core/config/config-facts.ts' {
  interface ConfigFacts {
    readonly redis?: { readonly section: string; readonly purpose: RedisPurpose }
  }
}

interface SectionWithRedis {
  readonly redis: RedisConfig | null
  /** Undefined: the section has no such key. */
  readonly replicas?: number | null
}

const purposes: readonly RedisPurpose[] = ['counts', 'responses', 'records']

/** In the order of purposes. */
export const listRedis = (config: object) =>
  askFacts(({ redis: use }) => {
    if (use === undefined) return null
    const { redis, replicas } = (config as Readonly<Record<string, SectionWithRedis>>)[use.section] as SectionWithRedis
    return redis && { ...use, redis, replicas }
  }).toSorted((one, other) => purposes.indexOf(one.purpose) - purposes.indexOf(other.purpose))

export const findRedis = (config: object, purpose: RedisPurpose): RedisConfig | null =>
  listRedis(config).find((each) => each.purpose === purpose)?.redis ?? null

export const sectionOf = (purpose: RedisPurpose): string =>
  askFacts(({ redis }) => (redis?.purpose === purpose ? redis.section : null))[0] ?? purpose

/** The host has no brackets. */
export interface RedisAddress {
  readonly host: string
  readonly port: number
}

export interface RedisServerOptions extends RedisAddress {
  /** Null: no TLS. */
  readonly tls: RedisTls | null
  readonly username: string | null
  readonly password: string | null
  readonly database: number
  /** For a connection with its first replies, and for each further reply of a Sentinel. */
  readonly connectTimeoutMs: Milliseconds
  /** How many replicas must have an `isReplicated` write, and how long it waits for them. */
  readonly replicas: number
  readonly replicaTimeoutMs: Milliseconds
}

const [redisPort, sentinelPort] = [6379, 26_379]

// Plenty for a Redis near enough to be asked for every request.
const defaultConnectTimeoutMs = 500

const systemTls: RedisTls = { ca: null, certificate: null, key: null }

/** Throws when the settings name no Redis, which the rules of the file exclude. */
export const redisTopology = (settings: RedisSettings, connectTimeoutMs: Milliseconds = defaultConnectTimeoutMs) => {
  const { url, sentinels, name, cluster, username, password, sentinelUsername, sentinelPassword, tls } = settings
  // Half, so that the reply "too few" is timely too. 0 would mean for ever.
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

const parseServer = (url: string, { tls, username, password }: RedisSettings) => {
  const parsed = new URL(url)
  return {
    ...parseAddress(parsed.host, redisPort),
    tls: parsed.protocol === 'rediss:' ? (tls ?? systemTls) : null,
    username: parsed.username === '' ? username : decodeURIComponent(parsed.username),
    password: parsed.password === '' ? password : decodeURIComponent(parsed.password),
    database: Number(parsed.pathname.slice(1)),
  }
}

const parseAddress = (text: string, defaultPort: number): RedisAddress => {
  const [, bracketed, bare = '', port] = /^(?:\[(.+)\]|([^:]*))(?::(\d+))?$/.exec(text) ?? []
  return { host: bracketed ?? bare, port: port === undefined ? defaultPort : Number(port) }
}

/** Null: 1 where Redis itself replaces masters (Sentinels, cluster), otherwise 0. */
export const withReplicas = <Settings extends RedisSettings>(
  settings: Settings,
  replicas: number | null,
): Settings & { readonly replicas: number } => ({ ...settings, replicas: replicas ?? (settings.url === null ? 1 : 0) })

/** Without secrets. Two are the same if `label` and `database` are equal and `addresses` overlap. */
const identify = (settings: RedisSettings) => {
  const topology = redisTopology(settings)
  switch (topology.kind) {
    case 'server':
      return { label: '', database: topology.server.database, addresses: [formatAddress(topology.server)] }
    case 'sentinel':
      return { label: `${topology.name} of Sentinel `, database: 0, addresses: topology.sentinels.map(formatAddress) }
    case 'cluster':
      return { label: 'cluster ', database: 0, addresses: topology.seeds.map(formatAddress) }
  }
}

// A cluster may have many nodes, and the name must fit in a line.
const maxNamed = 3

/** Without secrets. */
export const describeRedis = (settings: RedisSettings): string => {
  const { label, addresses } = identify(settings)
  const more = addresses.length - maxNamed
  return `${label}${addresses.slice(0, maxNamed).join(', ')}${more > 0 ? ` and ${more} more` : ''}`
}

interface SharingState {
  readonly server: string | null
  readonly reason: string | null
  readonly where: string | null
}

export const redisGone = ({ server, reason, where }: SharingState): string =>
  `Redis (${server}) cannot be used${where === null ? '' : ` ${where}`}${reason === null ? '' : ` (${reason})`}`

/** Without secrets. */
export const describeKeyspace = (settings: RedisSettings): string =>
  `${describeRedis(settings)}, database ${identify(settings).database}, prefix ${settings.prefix}`

/** As far as the settings tell: one common Sentinel or node is enough. */
export const isSameKeyspace = (settings: RedisSettings, other: RedisSettings): boolean => {
  const [one, another] = [identify(settings), identify(other)]
  if (settings.prefix !== other.prefix || one.label !== another.label || one.database !== another.database) return false
  return one.addresses.some((address) => another.addresses.includes(address))
}

/** Redis quotes the arguments of an unknown command in its error, and `AUTH` may be unknown (`rename-command`). */
export const redactSecrets = (reason: string, { url, password, sentinelPassword }: RedisSettings): string => {
  const masked = reason.replace(/,? with args beginning with:.*$/s, '')
  const inUrl = url === null ? '' : new URL(url).password
  const secrets = [inUrl, decodeURIComponent(inUrl), password, sentinelPassword]
  return secrets.reduce<string>((text, secret) => (secret ? text.replaceAll(secret, '***') : text), masked)
}

export const formatAddress = ({ host, port }: RedisAddress): string => `${isIPv6(host) ? `[${host}]` : host}:${port}`

/** In words of the system, the library or the server. */
export const errorText = (error: unknown): string => {
  if (!(error instanceof Error)) return String(error)
  const { code } = error as NodeJS.ErrnoException
  return error.message === '' && code !== undefined ? code : error.message
}

/** Prefixes the server's address unless the text has it. */
export const nameServer = (address: RedisAddress, error: unknown): Error => {
  const [name, text] = [formatAddress(address), errorText(error)]
  return text.includes(name) ? new Error(text) : new Error(`${name}: ${text}`)
}
