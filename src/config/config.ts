import type * as z from 'zod'
import type { Group, OperationId } from '../operations.ts'
import type { ParsedConfig } from './config-schema.ts'
import type { upstreamPolicySchema } from './sections/upstreams.ts'

/** What a schema reads, as nobody may change it. */
type DeepReadonly<T> = T extends string | number | boolean | null | undefined
  ? T
  : T extends readonly (infer E)[]
    ? readonly DeepReadonly<E>[]
    : { readonly [K in keyof T]: DeepReadonly<T[K]> }

type ParsedFile = DeepReadonly<ParsedConfig>

/**
 * Describes a configuration as resolved: every default filled in, every reference read, deep-frozen. Its names are those of the file, and the
 * schemas of the sections (`schema/`) describe them; `null` is what is turned off, or was left out. It knows nothing of HTTP libraries.
 */
export interface Config extends Omit<ParsedFile, 'version' | 'defaults' | 'clients' | 'upstreams' | 'operations'> {
  /** The first 12 hex digits of the SHA-256 of everything below, contents of referenced files included. */
  readonly hash: string
  readonly clients: readonly ClientConfig[]
  readonly clientsSource: ClientsSource
  readonly upstreams: Readonly<Record<Group, UpstreamConfig>>
  readonly operations: Readonly<Record<OperationId, OperationConfig>>
}

type UpstreamPolicy = DeepReadonly<z.output<typeof upstreamPolicySchema>>

/** Describes a named set of interchangeable endpoints with one policy, into which `defaults` has been merged. */
export interface UpstreamConfig
  extends Omit<UpstreamPolicy, 'healthCheck'>,
    Pick<ParsedFile['upstreams'][Group], 'endpoints' | 'host' | 'request' | 'response'> {
  readonly healthCheck: HealthCheckConfig | null
}

/** Describes the probes of an endpoint. */
export interface HealthCheckConfig extends NonNullable<UpstreamPolicy['healthCheck']> {
  /** Path and query, as they stand in the request. */
  readonly path: string
}

type ParsedOperation = NonNullable<ParsedFile['operations']['market.insights']>

/** Describes what holds for one of the nine: its own keys, its group's, the defaults, merged. */
export interface OperationConfig extends Pick<ParsedOperation, 'state' | 'concurrency' | 'idempotent' | 'cache'> {
  /** Until the answer's head, attempts and waits included. */
  readonly deadline: ParsedFile['defaults']['deadline']
  readonly maxBody: ParsedFile['defaults']['maxBody']
  /** Who may call it; null: anybody. */
  readonly auth: OperationAuthConfig | null
}

/** Describes what one operation asks for. */
export interface OperationAuthConfig extends NonNullable<ParsedOperation['auth']> {
  readonly methods: AuthConfig['methods']
}

/** Describes where the clients stand. */
export interface ClientsSource {
  /** In order: a file, as the configuration refers to it, or (null) the configuration's own; and how many it holds. */
  readonly parts: readonly { readonly file: string | null; readonly count: number }[]
  /** The SHA-256 of all of them as resolved, in hex; of none, empty. */
  readonly digest: string
}

/** Describes a lender's system. Of a rate, `burst` is filled in. */
export type ClientConfig = Exclude<Extract<ParsedFile['clients'], readonly unknown[]>[number], string>

/** The public listener and the bounds that protect it. */
export type ListenConfig = Config['listen']
/** TLS on the public listener. The texts are PEM. */
export type ListenTlsConfig = NonNullable<ListenConfig['tls']>
/** What the gateway takes on at most. */
export type LimitsConfig = Config['limits']
/** How often one address may ask. */
export type AddressLimitConfig = NonNullable<LimitsConfig['address']>
/** Redis, or Valkey. The URL may hold a password. */
export type RedisConfig = NonNullable<LimitsConfig['redis']>
/** How it is found out who calls. */
export type AuthConfig = NonNullable<Config['auth']>
/** The tokens of an issuer that are verified here. */
export type JwtConfig = NonNullable<AuthConfig['jwt']>
/** The server that is asked about tokens. `cache` 0: each request asks. */
export type IntrospectionConfig = NonNullable<AuthConfig['introspection']>
/** Where certificates of clients come from. */
export type MtlsConfig = AuthConfig['mtls']
/** The operator's listener. */
export type AdminConfig = Config['admin']
/** The record of every exchange and every order. */
export type AuditConfig = NonNullable<Config['audit']>
/** How answers of one operation are cached (RFC 9111). `staleWhenDisconnected` 0: not at all. */
export type OperationCacheConfig = NonNullable<OperationConfig['cache']>
/** The log on standard output. */
export type LogConfig = Config['log']
/** What is told of exchanges beyond the log. */
export type TracingConfig = NonNullable<Config['tracing']>
/** How an edit of the file is noticed. */
export type ReloadConfig = Config['reload']
/** What is changed in the fields of one direction: `remove` first, then `set`. Names compare case-insensitively. */
export type HeaderMutationConfig = UpstreamConfig['request']
/** One origin behind a group. */
export type EndpointConfig = UpstreamConfig['endpoints'][number]
/** How the endpoints of an upstream are spoken to over TLS. The texts are PEM. */
export type UpstreamTlsConfig = UpstreamConfig['tls']
/** When real traffic takes an endpoint out for a while. */
export type OutlierConfig = NonNullable<UpstreamConfig['outlier']>
/** When a whole upstream is left alone. */
export type CircuitBreakerConfig = NonNullable<UpstreamConfig['circuitBreaker']>
/** Which attempts are followed by another. */
export type RetryConfig = NonNullable<UpstreamConfig['retry']>
