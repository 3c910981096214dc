import type * as z from 'zod'
import type { Group, OperationId } from '../../operations.ts'
import type { coreSchema } from './core-schema.ts'
import type { adminSchema } from './sections/admin.ts'
import type { listenSchema } from './sections/listen.ts'
import type { coreOperationShape } from './sections/operations.ts'
import type { defaultsSchema, operationDefaults, upstreamPolicyShape } from './sections/upstream-defaults.ts'
import type { targetShape } from './sections/upstreams.ts'

export type DeepReadonly<T> = T extends string | number | boolean | null | undefined
  ? T
  : T extends readonly (infer E)[]
    ? readonly DeepReadonly<E>[]
    : { readonly [K in keyof T]: DeepReadonly<T[K]> }

/** Before levels are merged. Features declare the keys of their sections here (`declare module`). */
export interface ParsedConfig
  extends Omit<z.output<typeof coreSchema>, 'listen' | 'admin' | 'defaults' | 'upstreams' | 'operations'> {
  readonly listen: ParsedListen
  readonly admin: ParsedAdmin
  readonly defaults: ParsedDefaults
  readonly upstreams: Readonly<Record<Group, ParsedUpstream>>
  readonly operations: Readonly<Partial<Record<OperationId, ParsedOperation>>>
}

export interface ParsedListen extends z.output<typeof listenSchema> {}

export interface ParsedAdmin extends z.output<typeof adminSchema> {}

export interface ParsedDefaults extends z.output<typeof defaultsSchema> {}

export interface ParsedUpstream
  extends z.output<z.ZodObject<typeof targetShape>>,
    z.output<z.ZodObject<typeof upstreamPolicyShape>> {}

export interface ParsedOperation extends z.output<z.ZodObject<typeof coreOperationShape>> {}

type ParsedFile = DeepReadonly<ParsedConfig>

/** A resolved, frozen configuration: defaults filled in, references read. `null`: turned off, or not stated. */
export interface Config extends Omit<ParsedFile, 'version' | 'defaults' | 'upstreams' | 'operations'> {
  /** The first 12 hex digits of the SHA-256 of all other members and of the contents of referenced files. */
  readonly hash: string
  readonly upstreams: Readonly<Record<Group, UpstreamConfig>>
  readonly operations: Readonly<Record<OperationId, OperationConfig>>
}

type UpstreamPolicy = DeepReadonly<Omit<z.output<typeof defaultsSchema>, keyof typeof operationDefaults>>

export interface UpstreamConfig
  extends Omit<UpstreamPolicy, 'healthCheck'>,
    DeepReadonly<z.output<z.ZodObject<typeof targetShape>>> {
  readonly healthCheck: HealthCheckConfig | null
}

export interface HealthCheckConfig extends NonNullable<UpstreamPolicy['healthCheck']> {
  readonly path: string
}

export interface OperationConfig extends Pick<ParsedOperation, 'state'> {
  readonly deadline: ParsedFile['defaults']['deadline']
  readonly maxBody: ParsedFile['defaults']['maxBody']
}

export type ListenConfig = Config['listen']
export type ListenTlsConfig = NonNullable<ListenConfig['tls']>
export type InstanceConfig = Config['instance']
export type AdminConfig = Config['admin']
export type LogConfig = Config['log']
export type ReloadConfig = Config['reload']
/** `remove` applies before `set`. */
export type HeaderMutationConfig = UpstreamConfig['request']
export type EndpointConfig = UpstreamConfig['endpoints'][number]
export type UpstreamTlsConfig = UpstreamConfig['tls']
export type OutlierConfig = NonNullable<UpstreamConfig['outlier']>
export type CircuitBreakerConfig = NonNullable<UpstreamConfig['circuitBreaker']>
