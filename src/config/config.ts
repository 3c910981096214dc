import type { Group, OperationId } from '../catalog.ts'
import type { Kind } from '../failures/kinds.ts'
import type { LogLevel } from '../observe/level.ts'
import type { AuthConfig, ClientConfig, ClientsSource, OperationAuthConfig } from './auth-config.ts'
import type { CacheConfig, OperationCacheConfig } from './cache-config.ts'
import type { LimitsConfig } from './limits-config.ts'
import type { AdminConfig, ReloadConfig } from './operating-config.ts'
import type { TracingConfig } from './tracing-config.ts'

/**
 * Describes a configuration as resolved: every default filled in, every reference read, deep-frozen. It knows nothing of HTTP
 * libraries. Times are milliseconds, sizes are bytes; `null` is a bound that was turned off with `none`.
 */
export interface Config {
  /** The first 12 hex digits of the SHA-256 of everything below, contents of referenced files included. */
  readonly hash: string
  readonly allowSandbox: boolean
  /** How many processes serve clients; `auto`: one for each core of the machine that it runs on. */
  readonly workers: number | 'auto'
  /** The field that carries the request id, or null when the gateway adds none. */
  readonly requestIdHeader: string | null
  readonly listen: ListenConfig
  readonly limits: LimitsConfig
  /** Null: credentials are passed on, and nobody looks at them. */
  readonly auth: AuthConfig | null
  readonly clients: readonly ClientConfig[]
  readonly clientsSource: ClientsSource
  readonly admin: AdminConfig
  /** Null: nothing is recorded. */
  readonly audit: AuditConfig | null
  readonly cache: CacheConfig
  readonly log: LogConfig
  readonly tracing: TracingConfig
  /** Null: nothing is counted. */
  readonly metrics: { readonly clients: boolean } | null
  readonly reload: ReloadConfig
  readonly shutdown: { readonly waitMs: number; readonly deadlineMs: number }
  readonly upstreams: Readonly<Record<Group, UpstreamConfig>>
  readonly operations: Readonly<Record<OperationId, OperationConfig>>
}

/** Describes the public listener and the bounds that protect it. */
export interface ListenConfig {
  readonly host: string
  readonly port: number
  /** The path of `{base_url}`: empty, or `/…` without a trailing slash. */
  readonly basePath: string
  /** CIDRs (a plain address is one of a single host) whose forwarded fields are believed. */
  readonly trustedProxies: readonly string[]
  /** Names in lower case, perhaps with a port, that clients may ask for as Host; none: any. */
  readonly hosts: readonly string[]
  /** `{base_url}` as clients write it, without a slash at its end; null: nobody has said. */
  readonly publicUrl: string | null
  /** The pseudonym in `Via`; null: one is made at random for the process. */
  readonly via: string | null
  readonly maxTargetBytes: number
  readonly maxHeaderBytes: number
  readonly maxHeaderFields: number
  readonly maxConnections: number | null
  /** Of one address, or of one /64 of IPv6. */
  readonly maxConnectionsPerAddress: number | null
  readonly maxRequestsPerConnection: number | null
  /** Slowest rate at which a client may send a body or take an answer, while it is waited for. */
  readonly minBytesPerSecond: number | null
  /** Until the whole request head has arrived. */
  readonly headersTimeoutMs: number
  /** Longest gap between two pieces of a body, in either direction. */
  readonly bodyTimeoutMs: number | null
  readonly keepAliveTimeoutMs: number
  /** What becomes of interim responses (102, 103) where the client speaks HTTP/1.1. */
  readonly interim: 'drop' | 'relay'
  /** Whether clients may choose HTTP/2, by ALPN. */
  readonly http2: boolean
  /** Null: plain HTTP. */
  readonly tls: ListenTlsConfig | null
}

/** Describes TLS on the public listener. The texts are PEM. */
export interface ListenTlsConfig {
  /** The first is for whoever asks for no name of the others. */
  readonly certificates: readonly { readonly certificate: string; readonly key: string }[]
  readonly minVersion: 'TLSv1.2' | 'TLSv1.3'
  /** Whose certificates clients may show; null: nobody is asked for one. */
  readonly client: { readonly required: boolean; readonly ca: string; readonly revoked: readonly string[] } | null
}

/** Describes the record of every exchange and every order. */
export interface AuditConfig {
  /** An absolute path, or `stdout`. */
  readonly file: string
  /** What lines are sealed with: text of at least 32 bytes. */
  readonly key: string
  /** Whose SHA-256 is recorded. */
  readonly digests: 'none' | 'request' | 'answer' | 'both'
  /** What becomes of requests while lines cannot be written. */
  readonly onFailure: 'refuse' | 'continue'
  /** At which size the file is renamed; null: never. */
  readonly rotateBytes: number | null
}

/** Describes the log on standard output. */
export interface LogConfig {
  readonly level: LogLevel
  /** Whether each exchange leaves a line. */
  readonly access: boolean
  /** Most bytes of lines that wait for a slow reader. */
  readonly bufferBytes: number
}

/** Describes a named set of interchangeable endpoints with one policy. */
export interface UpstreamConfig {
  readonly endpoints: readonly EndpointConfig[]
  /** The Host sent upstream: the endpoint's own, the client's, or a fixed name. */
  readonly host: 'endpoint' | 'client' | { readonly name: string }
  readonly request: FieldEdits
  readonly response: FieldEdits
  readonly connectTimeoutMs: number | null
  readonly headersTimeoutMs: number | null
  /** Longest gap between two chunks of the answer's body. */
  readonly bodyTimeoutMs: number | null
  /** Most connections to one endpoint. */
  readonly maxConnections: number
  /** Most requests that wait for one of them. */
  readonly maxPending: number
  /** Most exchanges in flight, of all operations that are sent there. */
  readonly concurrency: number | null
  /** How long an idle upstream connection may be used again. 0: never, one connection a request. */
  readonly keepAliveMs: number
  /** How often the names of endpoints are resolved again. */
  readonly resolveMs: number
  readonly tls: UpstreamTlsConfig
  readonly balance: 'p2c' | 'least-requests' | 'round-robin'
  /** How long an endpoint that comes back takes to reach its whole share; null: it has it at once. */
  readonly slowStartMs: number | null
  readonly healthCheck: HealthCheckConfig | null
  readonly outlier: OutlierConfig | null
  readonly circuitBreaker: CircuitBreakerConfig | null
  readonly retry: RetryConfig | null
}

/** Describes how the endpoints of an upstream are spoken to over TLS. The texts are PEM. */
export interface UpstreamTlsConfig {
  /** Whom to trust instead of the public authorities; null: those. */
  readonly ca: string | null
  /** What the gateway shows for itself; null: nothing. */
  readonly client: { readonly certificate: string; readonly key: string } | null
  /** The name to ask for and to verify; null: the endpoint's own. */
  readonly serverName: string | null
  readonly minVersion: 'TLSv1.2' | 'TLSv1.3'
  /** False: whoever answers is believed. */
  readonly verify: boolean
}

/** Describes the probes of an endpoint. */
export interface HealthCheckConfig {
  /** Path and query, as they stand in the request. */
  readonly path: string
  readonly intervalMs: number
  readonly timeoutMs: number
  /** The statuses of a healthy endpoint, both ends included. */
  readonly expect: { readonly from: number; readonly to: number }
  /** So many probes in a row change what is known of it. */
  readonly healthyAfter: number
  readonly unhealthyAfter: number
}

/** Describes when real traffic takes an endpoint out for a while. Shares are from 0 to 1. */
export interface OutlierConfig {
  /** So many failures in a row; null: however many. */
  readonly consecutiveFailures: number | null
  /** How much larger the share of failed requests is than that of its siblings; null: however large. */
  readonly failureRate: number | null
  /** For how long at first; doubled each time it happens again. */
  readonly ejectionTimeMs: number
  /** The largest share of the endpoints that is out at once; one of two or more may always be. */
  readonly maxEjected: number
}

/** Describes when a whole upstream is left alone. */
export interface CircuitBreakerConfig {
  /** The share of failed requests, from 0 to 1, at which it opens … */
  readonly failureRate: number
  /** … once there were so many … */
  readonly minRequests: number
  /** … within this time. */
  readonly windowMs: number
  /** How long nothing is sent. */
  readonly openForMs: number
  /** How many requests are let through then, and must go well, before it closes. */
  readonly probes: number
}

/** Describes which attempts are followed by another. */
export interface RetryConfig {
  /** Most attempts, the first included. */
  readonly attempts: number
  readonly on: { readonly kinds: readonly Kind[]; readonly statuses: readonly number[] }
  readonly backoff: { readonly baseMs: number; readonly maxMs: number }
  /** Retries are at most this share (0 to 1) of the requests, and so many a second more. */
  readonly budget: { readonly share: number; readonly floorPerSecond: number }
}

/** Describes one origin behind a group. */
export interface EndpointConfig {
  /** `sandbox` for the embedded upstream, else scheme, host and port: `http://host:port`, default port omitted. */
  readonly origin: string
  /** What precedes the operation's path: empty, or `/…` without a trailing slash. */
  readonly pathPrefix: string
  /** The share of traffic relative to the others: 0–10000, default 100. */
  readonly weight: number
  /** Whether it takes no new work. */
  readonly drain: boolean
}

/** Describes what is changed in a list of fields: `remove` first, then `set` replaces or appends. Names compare case-insensitively. */
export interface FieldEdits {
  readonly set: readonly { readonly name: string; readonly value: string; readonly secret: boolean }[]
  readonly remove: readonly string[]
}

/** Describes what holds for one of the nine: its own keys, its group's, the defaults, merged. */
export interface OperationConfig {
  readonly state: 'serve' | 'refuse'
  /** Until the answer's head, attempts and waits included. */
  readonly deadlineMs: number | null
  readonly maxBodyBytes: number | null
  /** Most exchanges in flight. */
  readonly concurrency: number | null
  /** Who may call it; null: anybody. */
  readonly auth: OperationAuthConfig | null
  readonly idempotent: boolean
  /** How its answers are cached; null: not at all. */
  readonly cache: OperationCacheConfig | null
}
