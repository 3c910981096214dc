import type * as z from 'zod'
import type { CompiledContract, OperationContractModes } from '../contract/compiled-contract.ts'
import type { Group, OperationId } from '../operations.ts'
import type { ParsedConfig } from './config-schema.ts'
import type { idempotencyPolicyKeys } from './sections/idempotency.ts'
import type { upstreamPolicySchema } from './sections/upstream-defaults.ts'

/** The output of a schema, read-only at every depth. */
type DeepReadonly<T> = T extends string | number | boolean | null | undefined
  ? T
  : T extends readonly (infer E)[]
    ? readonly DeepReadonly<E>[]
    : { readonly [K in keyof T]: DeepReadonly<T[K]> }

type ParsedFile = DeepReadonly<ParsedConfig>

/**
 * A resolved configuration: every default is filled in, every reference read, every object frozen. Its names are those
 * of the file; the schemas in `sections/` describe them. `null` stands for what is turned off or left out.
 */
export interface Config extends Omit<ParsedFile, 'version' | 'defaults' | 'clients' | 'upstreams' | 'operations'> {
  /** The first 12 hex digits of the SHA-256 of all other members, contents of referenced files included. */
  readonly hash: string
  readonly clients: readonly ClientConfig[]
  readonly clientsSource: ClientsSource
  /** The contract that `contract.file` states; null: there is none. */
  readonly compiledContract: CompiledContract | null
  readonly upstreams: Readonly<Record<Group, UpstreamConfig>>
  readonly operations: Readonly<Record<OperationId, OperationConfig>>
}

type UpstreamPolicy = DeepReadonly<z.output<typeof upstreamPolicySchema>>

/** The interchangeable endpoints of a group, with one policy. `defaults` has been merged into it. */
export interface UpstreamConfig
  extends Omit<UpstreamPolicy, 'healthCheck'>,
    Pick<ParsedFile['upstreams'][Group], 'endpoints' | 'host' | 'request' | 'response'> {
  readonly healthCheck: HealthCheckConfig | null
  /** The upstream that is tried before it may replace this one; null: there is none. */
  readonly candidate: CandidateConfig | null
}

type ParsedCandidate = NonNullable<ParsedFile['upstreams'][Group]['candidate']>

/** A second upstream of a group. */
export interface CandidateConfig extends Omit<ParsedCandidate, keyof UpstreamConfig> {
  /**
   * Where its requests go, and its policies: what the candidate states, and else its group's. It has no candidate, and
   * no `retry` or `concurrency`: these stand above the two sides.
   */
  readonly upstream: UpstreamConfig
  /**
   * The digest of what the candidate has other than its group, without its certificates and keys: they are renewed by
   * themselves. Whether it states or inherits what both have makes no difference.
   */
  readonly digest: string
}

/** Which requests are copied to a candidate, and how. */
export type CandidateShadowConfig = NonNullable<CandidateConfig['shadow']>

/** When a candidate is taken back by itself. */
export type CandidateGuardConfig = NonNullable<CandidateConfig['guard']>

/** The probes of an endpoint. */
export interface HealthCheckConfig extends NonNullable<UpstreamPolicy['healthCheck']> {
  /** The path and query of the request. */
  readonly path: string
}

type ParsedOperation = NonNullable<ParsedFile['operations']['market.insights']>

/** The settings of one operation: its own keys, its group's and the defaults, merged. */
export interface OperationConfig extends Pick<ParsedOperation, 'state' | 'concurrency' | 'cache'> {
  /** The time until the head of the response, attempts and waits included. */
  readonly deadline: ParsedFile['defaults']['deadline']
  readonly maxBody: ParsedFile['defaults']['maxBody']
  /** The authentication that it requires; null: none. */
  readonly auth: OperationAuthConfig | null
  /** How a request with a key happens once; null: the gateway does not see to it. */
  readonly idempotency: OperationIdempotencyConfig | null
  /** How requests and responses are held to the contract; `off` without one. */
  readonly contract: OperationContractModes
}

/** The authentication that one operation requires. */
export interface OperationAuthConfig extends NonNullable<ParsedOperation['auth']> {
  readonly methods: AuthConfig['methods']
}

/** The files that the clients stand in. */
export interface ClientsSource {
  /**
   * In order: a file, as the configuration refers to it, or the configuration itself (null); and its number of clients.
   */
  readonly parts: readonly { readonly file: string | null; readonly count: number }[]
  /** The SHA-256 of all clients as resolved, in hex; empty without clients. */
  readonly digest: string
}

/** A lender's system. Where it has a rate, `burst` is filled in. */
export type ClientConfig = Exclude<Extract<ParsedFile['clients'], readonly unknown[]>[number], string>

/** The public listener and the limits that protect it. */
export type ListenConfig = Config['listen']
/** TLS on the public listener. The texts are PEM. */
export type ListenTlsConfig = NonNullable<ListenConfig['tls']>
/** The limits of the whole gateway. */
export type LimitsConfig = Config['limits']
/** The request rate of one client address. */
export type AddressLimitConfig = NonNullable<LimitsConfig['address']>
/** Redis, or Valkey. The URL may hold a password. */
export type RedisConfig = NonNullable<LimitsConfig['redis']>
/** The ways in which clients authenticate. */
export type AuthConfig = NonNullable<Config['auth']>
/** The issuer whose tokens the gateway verifies itself. */
export type JwtConfig = NonNullable<AuthConfig['jwt']>
/** The introspection endpoint. `cache` 0: the gateway asks it for each request. */
export type IntrospectionConfig = NonNullable<AuthConfig['introspection']>
/** The source of client certificates. */
export type MtlsConfig = AuthConfig['mtls']
/** Which gateway of several this is. */
export type InstanceConfig = Config['instance']
/** The admin listener. */
export type AdminConfig = Config['admin']
/** The issuer of operators' tokens. */
export type OperatorJwtConfig = NonNullable<AdminConfig['jwt']>
/** The record of every exchange and every operator command. */
export type AuditConfig = NonNullable<Config['audit']>
/** How responses of one operation are cached (RFC 9111). `staleWhenDisconnected` 0: no stale response is used. */
export type OperationCacheConfig = NonNullable<OperationConfig['cache']>
/** How a POST with a key happens once: the defaults of operations, and the bounds of what is remembered. */
export type IdempotencyConfig = Config['idempotency']
/** How a POST of one operation happens once. `wait` 0: a repetition does not wait for the first. */
export type OperationIdempotencyConfig = Pick<IdempotencyConfig, (typeof idempotencyPolicyKeys)[number]>
/** The log on standard output. */
export type LogConfig = Config['log']
/** The spans and Server-Timing of exchanges. */
export type TracingConfig = NonNullable<Config['tracing']>
/** How an edit of the file is noticed and tried. */
export type ReloadConfig = Config['reload']
/** The edits of the fields of one direction: `remove` first, then `set`. Names compare case-insensitively. */
export type HeaderMutationConfig = UpstreamConfig['request']
/** One endpoint of a group. */
export type EndpointConfig = UpstreamConfig['endpoints'][number]
/** TLS towards the endpoints of an upstream. The texts are PEM. */
export type UpstreamTlsConfig = UpstreamConfig['tls']
/** When the outcomes of requests eject an endpoint for a while. */
export type OutlierConfig = NonNullable<UpstreamConfig['outlier']>
/** When a whole upstream gets no requests for a while. */
export type CircuitBreakerConfig = NonNullable<UpstreamConfig['circuitBreaker']>
/** Which failed attempts are retried. */
export type RetryConfig = NonNullable<UpstreamConfig['retry']>
