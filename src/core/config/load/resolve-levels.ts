import { isDeepStrictEqual } from 'node:util'
import type * as z from 'zod'
import { clientsDigest } from '../../../features/clients/serialize-clients.ts'
import type { CompiledContract } from '../../../features/contract/check/compiled-contract.ts'
import { byGroup, byOperation, type Group } from '../../../operations.ts'
import { isPlainObject } from '../../lib/plain-object.ts'
import type {
  CandidateConfig,
  ClientConfig,
  ClientsSource,
  Config,
  HealthCheckConfig,
  OperationConfig,
  ParsedConfig,
  ParsedOperation,
  UpstreamConfig,
} from '../config.ts'
import { hashConfig, hashValue } from '../config-hash.ts'
import { configParts } from '../config-part.ts'
import { mergeLevels, type PartialLevel } from '../schema/inheritance.ts'
import { circuitBreakerSchema, healthCheckSchema, outlierSchema, retrySchema } from '../sections/upstream-policies.ts'

type ParsedUpstream = ParsedConfig['upstreams'][Group]

interface ListedClients {
  readonly clients: readonly ClientConfig[]
  readonly parts: ClientsSource['parts']
}

/** Merges the levels (operation > upstream > defaults > built-in) into a configuration, which is not frozen yet. */
export function resolveConfig(
  parsed: ParsedConfig,
  { clients, parts }: ListedClients = { clients: [], parts: [] },
  compiledContract: CompiledContract | null = null,
): Config {
  const { version: _, defaults, upstreams, operations, ...sections } = parsed
  const settings: Omit<Config, 'hash'> = {
    ...sections,
    clients,
    clientsSource: { parts, digest: clientsDigest(clients) },
    compiledContract,
    upstreams: byGroup((group) => resolveUpstream(upstreams[group], defaults)),
    operations: byOperation(({ id, group }) => resolveOperation(operations[id], upstreams[group], parsed)),
  }
  return { hash: hashConfig(settings), ...settings }
}

const resolveOperation = (
  given: ParsedOperation | undefined,
  upstream: ParsedUpstream,
  parsed: ParsedConfig,
): OperationConfig => {
  const { defaults } = parsed
  const own = {
    state: given?.state ?? 'serve',
    deadline: firstStated(given?.deadline, upstream.deadline, defaults.deadline),
    maxBody: firstStated(given?.maxBody, upstream.maxBody, defaults.maxBody),
  }
  return Object.assign(own, ...configParts.map((part) => part.resolveOperation?.(given, parsed)))
}

/** Takes the first level that states a value. `null` means "no limit", and wins like any other value. */
function firstStated<T>(...levels: readonly (T | undefined)[]): T {
  for (const level of levels) if (level !== undefined) return level
  throw new TypeError('the last level has a value for everything')
}

type ParsedCandidate = NonNullable<ParsedUpstream['candidate']>
type Defaults = ParsedConfig['defaults']

/** Merges a group with the defaults. A policy that only the group turns on has built-in values for its other keys. */
function resolveUpstream(given: ParsedUpstream, defaults: Defaults): UpstreamConfig {
  const { endpoints, host, request, response, candidate, ...stated } = given
  const { deadline: _, maxBody: __, ...policy } = mergeLevels<Defaults>(stated, defaults)
  const upstream: UpstreamConfig = {
    endpoints,
    host,
    request,
    response,
    ...policy,
    healthCheck: requirePath(resolvePolicy(given.healthCheck, defaults.healthCheck, healthCheckSchema)),
    outlier: resolvePolicy(given.outlier, defaults.outlier, outlierSchema),
    circuitBreaker: resolvePolicy(given.circuitBreaker, defaults.circuitBreaker, circuitBreakerSchema),
    retry: resolvePolicy(given.retry, defaults.retry, retrySchema),
    candidate: null,
  }
  return { ...upstream, candidate: candidate && resolveCandidate(candidate, upstream) }
}

/** Merges a candidate with the upstream of its group, as a group is merged with the defaults. */
const resolveCandidate = (given: ParsedCandidate, upstream: UpstreamConfig): CandidateConfig => {
  const { share, steps, guard, shadow, clients, fallback, expose, ...asUpstream } = given
  const { healthCheck, outlier, circuitBreaker, ...stated } = asUpstream
  const inherited: UpstreamConfig = { ...upstream, retry: null, concurrency: null }
  const own: UpstreamConfig = {
    ...mergeLevels<UpstreamConfig>(stated, inherited),
    healthCheck: requirePath(resolvePolicy(healthCheck, upstream.healthCheck, healthCheckSchema)),
    outlier: resolvePolicy(outlier, upstream.outlier, outlierSchema),
    circuitBreaker: resolvePolicy(circuitBreaker, upstream.circuitBreaker, circuitBreakerSchema),
  }
  const trial = { share, steps, guard, shadow, clients, fallback, expose }
  const differing = omitEqual(withoutCertificates(own), withoutCertificates(inherited))
  return { ...trial, digest: hashValue({ ...trial, ...differing, endpoints: own.endpoints }), upstream: own }
}

/** Certificates and keys are renewed by themselves. */
const withoutCertificates = (upstream: UpstreamConfig) => ({
  ...upstream,
  tls: { ...upstream.tls, ca: null, certificate: null, key: null },
})

/** Keeps of a map, at every depth, the keys whose values are other than in another one. */
const omitEqual = (map: object, other: object): object =>
  Object.fromEntries(
    Object.entries(map).flatMap(([key, value]) => {
      const another = (other as Readonly<Record<string, unknown>>)[key]
      if (isDeepStrictEqual(value, another)) return []
      return [[key, isPlainObject(value) && isPlainObject(another) ? omitEqual(value, another) : value]]
    }),
  )

const resolvePolicy = <S extends z.ZodObject>(
  stated: PartialLevel<z.output<S>> | null | undefined,
  inherited: z.output<S> | null,
  schema: S,
): z.output<S> | null =>
  stated === null ? null : mergeLevels(stated, stated === undefined ? inherited : (inherited ?? schema.parse({})))

const requirePath = (given: z.output<typeof healthCheckSchema> | null): HealthCheckConfig | null => {
  if (given === null) return null
  const { path } = given
  if (path === null) throw new TypeError('a health check without a path is refused before')
  return { ...given, path }
}
