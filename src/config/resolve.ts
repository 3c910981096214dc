import { catalog, type Group, groups, type OperationId } from '../catalog.ts'
import type { ClientConfig, ClientsSource } from './auth-config.ts'
import type { OperationCacheConfig } from './cache-config.ts'
import { digestOf } from './client-pieces.ts'
import type { Config, FieldEdits, ListenTlsConfig, OperationConfig, UpstreamConfig } from './config.ts'
import { hashOfSettings } from './hash.ts'
import { circuitBreaker, healthCheck, outlier, policyOf, rateLimits, redisOf, retry } from './policies.ts'
import { authOf, operationAuthOf } from './resolve-auth.ts'
import type { ParsedOperationCache } from './schema/cache.ts'
import type { FieldValue } from './schema/fields.ts'
import type { ParsedConfig } from './schema.ts'
import type { TracingConfig } from './tracing-config.ts'

type ParsedUpstream = ParsedConfig['upstreams'][Group]
type ParsedListenTls = NonNullable<ParsedConfig['listen']['tls']>
type ParsedOperation = NonNullable<ParsedConfig['operations'][OperationId]>

/** Is the clients of all the files that a configuration consists of. */
interface ListedClients {
  readonly clients: readonly ClientConfig[]
  readonly parts: ClientsSource['parts']
}

/** Merges the levels (operation > upstream > defaults > built-in) into a Config, which is not frozen yet. */
export function resolve(parsed: ParsedConfig, { clients, parts }: ListedClients = { clients: [], parts: [] }): Config {
  const { listen, limits, log, shutdown, admin, audit, cache, reload } = parsed
  const settings: Omit<Config, 'hash'> = {
    allowSandbox: parsed.allowSandbox,
    workers: parsed.workers,
    requestIdHeader: parsed.requestId.header,
    listen: {
      host: listen.host,
      port: listen.port,
      basePath: listen.basePath,
      trustedProxies: listen.trustedProxies,
      hosts: listen.hosts,
      publicUrl: listen.publicUrl ?? null,
      via: listen.via ?? null,
      maxTargetBytes: listen.maxTarget,
      maxHeaderBytes: listen.maxHeaders,
      maxHeaderFields: listen.maxHeaderFields,
      maxConnections: listen.maxConnections,
      maxConnectionsPerAddress: listen.maxConnectionsPerAddress,
      maxRequestsPerConnection: listen.maxRequestsPerConnection,
      minBytesPerSecond: listen.minRate,
      headersTimeoutMs: listen.timeouts.headers,
      bodyTimeoutMs: listen.timeouts.body,
      keepAliveTimeoutMs: listen.timeouts.keepAlive,
      interim: listen.interim,
      http2: listen.http2,
      tls: listen.tls ? listenTls(listen.tls) : null,
    },
    limits: {
      ...rateLimits(limits),
      concurrency: limits.concurrency,
      eventLoopDelayMs: limits.eventLoopDelay,
    },
    auth: authOf(parsed.auth),
    clients,
    clientsSource: { parts, digest: digestOf(clients) },
    admin: {
      host: admin.host,
      port: admin.port,
      hosts: admin.hosts,
      token: admin.token ?? null,
      metricsToken: admin.metricsToken ?? null,
      tls: admin.tls ?? null,
      insecure: admin.insecure,
    },
    audit: audit && {
      file: audit.file,
      key: audit.key,
      digests: audit.digests,
      onFailure: audit.onFailure,
      rotateBytes: audit.rotate,
    },
    cache: { maxBytes: cache.maxBytes, credentials: lower(cache.credentials), redis: redisOf(cache.redis) },
    metrics: parsed.metrics,
    log: { level: log.level, access: log.access, bufferBytes: log.buffer },
    tracing: tracingOf(parsed.tracing),
    reload: { watch: reload.watch, pollMs: reload.poll, preflight: reload.preflight },
    shutdown: { waitMs: shutdown.wait, deadlineMs: shutdown.deadline },
    upstreams: byGroup((group) => upstream(parsed.upstreams[group], parsed.defaults)),
    operations: byOperation(({ id, group }) => operation(parsed.operations[id], parsed.upstreams[group], parsed)),
  }
  return { hash: hashOfSettings(settings), ...settings }
}

const listenTls = ({
  certificates,
  minVersion,
  clientCertificates,
  clientCa,
  clientCrl,
}: ParsedListenTls): ListenTlsConfig => ({
  certificates,
  minVersion,
  client:
    clientCertificates === 'none' || clientCa === undefined
      ? null
      : { required: clientCertificates === 'required', ca: clientCa, revoked: clientCrl },
})

function upstream(given: ParsedUpstream, defaults: ParsedConfig['defaults']): UpstreamConfig {
  const { timeouts, tls, ...policy } = policyOf(given, defaults)
  return {
    endpoints: given.endpoints,
    host: given.host,
    request: edits(given.request),
    response: edits(given.response),
    connectTimeoutMs: timeouts.connect,
    headersTimeoutMs: timeouts.headers,
    bodyTimeoutMs: timeouts.body,
    maxConnections: policy.maxConnections,
    maxPending: policy.maxPending,
    concurrency: policy.concurrency,
    // `none` allows no reuse, as 0 does.
    keepAliveMs: policy.keepAlive ?? 0,
    resolveMs: policy.resolve,
    tls: {
      ca: tls.ca ?? null,
      client: tls.certificate && tls.key ? { certificate: tls.certificate, key: tls.key } : null,
      serverName: tls.serverName ?? null,
      minVersion: tls.minVersion,
      verify: tls.verify,
    },
    balance: policy.balance,
    slowStartMs: policy.slowStart,
    healthCheck: policy.healthCheck && healthCheck(policy.healthCheck),
    outlier: policy.outlier && outlier(policy.outlier),
    circuitBreaker: policy.circuitBreaker && circuitBreaker(policy.circuitBreaker),
    retry: policy.retry && retry(policy.retry),
  }
}

function operation(
  given: ParsedOperation | undefined,
  behind: ParsedUpstream,
  { defaults, auth }: ParsedConfig,
): OperationConfig {
  return {
    state: given?.state ?? 'serve',
    deadlineMs: first(given?.deadline, behind.deadline, defaults.deadline),
    maxBodyBytes: first(given?.maxBody, behind.maxBody, defaults.maxBody),
    concurrency: given?.concurrency ?? null,
    auth: operationAuthOf(given?.auth, auth),
    idempotent: given?.idempotent ?? false,
    cache: given?.cache ? operationCache(given.cache) : null,
  }
}

const operationCache = (given: ParsedOperationCache): OperationCacheConfig => ({
  maxEntryBytes: given.maxEntry,
  shared: given.shared,
  heuristic: given.heuristic,
  staleIfErrorMs: given.staleIfError,
  staleWhileRevalidateMs: given.staleWhileRevalidate,
  staleWhenDisconnectedMs: given.staleWhenDisconnected ?? 0,
})

const lower = (names: readonly string[]): readonly string[] => names.map((name) => name.toLowerCase())

/** Takes the first level that says anything; `null` says "no bound", and wins like any other value. */
function first<T>(...levels: readonly (T | undefined)[]): T {
  for (const level of levels) if (level !== undefined) return level
  throw new TypeError('the last level has a value for everything')
}

const tracingOf = (given: ParsedConfig['tracing']): TracingConfig => {
  if (given === null) return { otlp: null, serverTiming: false }
  const { otlp: url, headers, sample, serviceName, serverTiming } = given
  return { otlp: url === undefined ? null : { url, headers: values(headers), sample, serviceName }, serverTiming }
}

const edits = ({
  set,
  remove,
}: {
  set: Readonly<Record<string, FieldValue>>
  remove: readonly string[]
}): FieldEdits => ({ set: values(set), remove })

const values = (set: Readonly<Record<string, FieldValue>>): FieldEdits['set'] =>
  Object.entries(set).map(([name, { value, external }]) => ({
    name,
    value,
    secret: external || sensitive.test(name),
  }))

/** Names fields whose value is a credential even when it stands in the file itself. */
const sensitive = /auth|cookie|credential|key|pass|secret|session|signature|token/i

const byGroup = <T>(make: (group: Group) => T): Record<Group, T> =>
  // Object.fromEntries forgets which keys there are; the list of groups is all of them.
  Object.fromEntries(groups.map((group) => [group, make(group)])) as Record<Group, T>

const byOperation = <T>(make: (operation: (typeof catalog)[number]) => T): Record<OperationId, T> =>
  Object.fromEntries(catalog.map((row) => [row.id, make(row)])) as Record<OperationId, T>
