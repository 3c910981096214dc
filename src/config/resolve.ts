import type * as z from 'zod'
import { byGroup, byOperation, type Group, type OperationId } from '../catalog.ts'
import { digestOf } from './client-texts.ts'
import type {
  ClientConfig,
  ClientsSource,
  Config,
  HealthCheckConfig,
  OperationAuthConfig,
  OperationConfig,
  UpstreamConfig,
} from './config.ts'
import { hashOfSettings } from './hash.ts'
import { merge, type Stated } from './schema/levels.ts'
import { circuitBreakerSchema, healthCheckSchema, outlierSchema, retrySchema } from './schema/policies.ts'
import type { ParsedConfig } from './schema.ts'

type ParsedUpstream = ParsedConfig['upstreams'][Group]
type ParsedOperation = NonNullable<ParsedConfig['operations'][OperationId]>
type Defaults = ParsedConfig['defaults']

/** Is the clients of all the files that a configuration consists of. */
interface ListedClients {
  readonly clients: readonly ClientConfig[]
  readonly parts: ClientsSource['parts']
}

/** Merges the levels (operation > upstream > defaults > built-in) into a Config, which is not frozen yet. */
export function resolve(parsed: ParsedConfig, { clients, parts }: ListedClients = { clients: [], parts: [] }): Config {
  const { version: _, defaults, upstreams, operations, ...sections } = parsed
  const settings: Omit<Config, 'hash'> = {
    ...sections,
    clients,
    clientsSource: { parts, digest: digestOf(clients) },
    upstreams: byGroup((group) => upstream(upstreams[group], defaults)),
    operations: byOperation(({ id, group }) => operation(operations[id], upstreams[group], parsed)),
  }
  return { hash: hashOfSettings(settings), ...settings }
}

/** Merges what a group states with the defaults, key by key. A policy that only the group turns on has the built-in values below it. */
function upstream(given: ParsedUpstream, defaults: Defaults): UpstreamConfig {
  const { endpoints, host, request, response, ...stated } = given
  const { deadline: _, maxBody: __, ...policy } = merge<Defaults>(stated, defaults)
  return {
    endpoints,
    host,
    request,
    response,
    ...policy,
    healthCheck: withPath(switched(given.healthCheck, defaults.healthCheck, healthCheckSchema)),
    outlier: switched(given.outlier, defaults.outlier, outlierSchema),
    circuitBreaker: switched(given.circuitBreaker, defaults.circuitBreaker, circuitBreakerSchema),
    retry: switched(given.retry, defaults.retry, retrySchema),
  }
}

const switched = <S extends z.ZodObject>(
  stated: Stated<z.output<S>> | null | undefined,
  below: z.output<S> | null,
  schema: S,
): z.output<S> | null =>
  stated === null ? null : merge(stated, stated === undefined ? below : (below ?? schema.parse({})))

const withPath = (given: z.output<typeof healthCheckSchema> | null): HealthCheckConfig | null => {
  if (given === null) return null
  const { path } = given
  if (path === null) throw new TypeError('a health check without a path is refused before')
  return { ...given, path }
}

const operation = (
  given: ParsedOperation | undefined,
  behind: ParsedUpstream,
  { defaults, auth }: ParsedConfig,
): OperationConfig => ({
  state: given?.state ?? 'serve',
  deadline: first(given?.deadline, behind.deadline, defaults.deadline),
  maxBody: first(given?.maxBody, behind.maxBody, defaults.maxBody),
  concurrency: given?.concurrency ?? null,
  auth: operationAuth(given?.auth, auth),
  idempotent: given?.idempotent ?? false,
  cache: given?.cache ?? null,
})

/** Resolves what an operation asks for, where all ask for `everywhere`; null: for nothing. */
const operationAuth = (
  given: ParsedOperation['auth'],
  everywhere: ParsedConfig['auth'],
): OperationAuthConfig | null => {
  if (given === null || everywhere === null) return null
  return { methods: given?.methods ?? everywhere.methods, scopes: given?.scopes ?? [], claims: given?.claims ?? {} }
}

/** Takes the first level that says anything; `null` says "no bound", and wins like any other value. */
function first<T>(...levels: readonly (T | undefined)[]): T {
  for (const level of levels) if (level !== undefined) return level
  throw new TypeError('the last level has a value for everything')
}
