import type {
  AddressLimitConfig,
  AuditConfig,
  Config,
  OperationAuthConfig,
  RetryConfig,
  TracingConfig,
  UpstreamConfig,
} from '../../config/config.ts'
import { compose, type Handler, type Layer } from '../../exchange.ts'
import { foldUnderscores } from '../../header-fields.ts'
import {
  bodyLimitLayer,
  clientConcurrencyLimitLayer,
  concurrencyLimitLayer,
  deadlineLayer,
} from '../../layers/admission/limits.ts'
import { loadSheddingLayer } from '../../layers/admission/load-shedding.ts'
import { outOfServiceHandler } from '../../layers/admission/out-of-service.ts'
import { addressRateLimitLayer, clientRateLimitLayer } from '../../layers/admission/rate-limit.ts'
import { authLayer, stripIdentityHeaderLayer } from '../../layers/auth/auth.ts'
import { cacheLayer } from '../../layers/cache/cache.ts'
import { cacheInvalidationLayer } from '../../layers/cache/invalidation.ts'
import { RetryBudget, retryLayer } from '../../layers/resilience/retry.ts'
import { auditLayer } from '../../layers/telemetry/audit.ts'
import { inFlightGaugeLayer, serverTimingLayer, tracingLayer } from '../../layers/telemetry/instrumentation.ts'
import type { AuditSink } from '../../observe/audit/audit-line.ts'
import type { RequestMetrics } from '../../observe/metrics/request-metrics.ts'
import { noopTracing, type Tracing } from '../../observe/tracing/tracing.ts'
import type { Operation } from '../../operations.ts'
import { MemoryRateLimiter } from '../../shared/rate-limiter/memory-rate-limiter.ts'
import type { RateLimiter } from '../../shared/rate-limiter/token-bucket.ts'
import { formatDuration, formatPercent, formatRate, formatSize } from '../../units.ts'
import type { Override } from '../overrides.ts'
import type { CacheLease } from '../resources/cache-registry.ts'
import type { ClientLimits } from '../resources/client-limits.ts'
import type { ProcessLoad } from '../resources/process-load.ts'
import { toAddressLimit } from '../resources/rate-limits.ts'
import type { AuthProvider } from './auth-provider.ts'

/** Is a feature in its place around an upstream, for composing it and for telling people of it. */
export interface LayerRow {
  readonly name: string
  /** The key that decides it: as an operation's own section of the file spells it, or else the whole path, `upstreams.risk.retry`: it has a dot. */
  readonly key: string
  /** What that key says, as the file would write it. */
  readonly setting: string
  /** Null: it is off. */
  readonly layer: Layer | null
}

/** What the layers of one operation are made from. */
export interface LayerStackOptions {
  readonly operation: Operation
  readonly config: Config
  /** The retries of all that is sent to its group; null: they are off, or nothing will be sent. */
  readonly retryBudget: Pick<RetryBudget, 'requested' | 'take'> | null
  /** What counts by address; null: that is off, or nothing will be counted. */
  readonly addressLimiter: RateLimiter | null
  /** Makes the ways to prove who calls. */
  readonly authProvider: AuthProvider
  /** What bounds each client. */
  readonly clientLimits: ClientLimits
  /** What the process has to do. */
  readonly processLoad: ProcessLoad
  /** Null: tracing is off, or nothing will be followed. */
  readonly tracing: Tracing | null
  readonly requestMetrics: Pick<RequestMetrics, 'operations'>
  readonly auditSink: AuditSink
  readonly caches: CacheLease
}

/** Lists the layers around an upstream, the outermost first. The order of this list is the behaviour. */
export const layerTable = (options: LayerStackOptions): readonly LayerRow[] => {
  const {
    operation,
    config,
    retryBudget,
    addressLimiter,
    authProvider,
    clientLimits,
    tracing: traces,
    auditSink,
    caches,
  } = options
  const { limits, audit, tracing: traced, metrics } = config
  const { loop, counts } = options.processLoad
  const own = config.operations[operation.id]
  const upstream = config.upstreams[operation.group]
  return [
    row('tracing', 'tracing.otlp', traced?.otlp ? traced : null, formatOtlp, () => tracingLayer(traces ?? noopTracing)),
    row('server-timing', 'tracing.serverTiming', traced?.serverTiming || null, String, () => serverTimingLayer),
    row(
      'metrics',
      'metrics',
      metrics,
      ({ clients }) => (clients ? 'clients: true' : 'true'),
      () => inFlightGaugeLayer(options.requestMetrics.operations[operation.id]),
    ),
    row('audit', 'audit.onFailure', audit, formatAudit, (each) => auditLayer(each, auditSink)),
    row('load-shedding', 'limits.eventLoopDelay', limits.eventLoopDelay, formatDuration, () => loadSheddingLayer(loop)),
    row('concurrency', 'limits.concurrency', limits.concurrency, String, (max) =>
      concurrencyLimitLayer(max, counts.all, 'limits-concurrency'),
    ),
    row('upstream-concurrency', `upstreams.${operation.group}.concurrency`, upstream.concurrency, String, (max) =>
      concurrencyLimitLayer(max, counts.upstreams[operation.group], 'upstream-concurrency'),
    ),
    row('operation-concurrency', 'concurrency', own.concurrency, String, (max) =>
      concurrencyLimitLayer(max, counts.operations[operation.id], 'operation-concurrency'),
    ),
    row('address-limit', 'limits.address', limits.address, formatAddressLimit, (each) =>
      addressRateLimitLayer(addressLimiter ?? new MemoryRateLimiter(toAddressLimit(each)), each.ipv6Prefix),
    ),
    row('identity-field', 'auth.identityField', config.auth?.identityField ?? null, String, stripIdentityHeaderLayer),
    row('auth', 'auth', own.auth, formatAuth, (operationAuth) => authLayer(authProvider.authOptions(operationAuth))),
    row(
      'client-concurrency',
      'clients.concurrency',
      clientsOrNull(own.auth, clientLimits.concurrencyLimitedCount),
      formatClientCount,
      () => clientConcurrencyLimitLayer(clientLimits.getConcurrencyLimit, counts.clients),
    ),
    row('client-limit', 'clients.rate', clientsOrNull(own.auth, clientLimits.rateLimitedCount), formatClientCount, () =>
      clientRateLimitLayer(clientLimits.getRateLimiter),
    ),
    row('body-limit', 'maxBody', own.maxBody, formatSize, bodyLimitLayer),
    operation.method === 'GET'
      ? row(
          'cache',
          'cache',
          own.cache,
          () => 'on',
          (rules) => {
            const partition = caches.get(operation.id)
            return (
              partition &&
              cacheLayer(
                { ...rules, credentials: config.cache.credentials },
                partition,
                caches.events,
                caches.getSharedTier(operation.id),
              )
            )
          },
        )
      : row(
          'cache-invalidation',
          'cache',
          caches.isUsed || null,
          () => 'of what its answers name',
          () => cacheInvalidationLayer(config.listen, caches.invalidate),
        ),
    row('deadline', 'deadline', own.deadline, formatDuration, deadlineLayer),
    row('retry', `upstreams.${operation.group}.retry`, upstream.retry, formatRetry, (each) =>
      retryLayer(each, retryBudget ?? new RetryBudget(each.budget), {
        safe: operation.method === 'GET',
        keyed: own.idempotent && forwardsIdempotencyKey(upstream.request),
      }),
    ),
  ]
}

/** Composes what stands behind one operation; what is off is not in it. `override` is an operator's word of this hour, before the file's. */
export const composeLayers = (options: LayerStackOptions, send: Handler, override: Override | null = null): Handler =>
  (override ?? options.config.operations[options.operation.id]).state === 'refuse'
    ? outOfServiceHandler(override?.until ?? null)
    : compose(
        layerTable(options).map(({ layer }) => layer),
        send,
      )

const row = <T>(
  name: string,
  key: string,
  value: T | null,
  format: (value: T) => string,
  make: (value: T) => Layer | null,
): LayerRow =>
  value === null
    ? { name, key, setting: 'none', layer: null }
    : { name, key, setting: format(value), layer: make(value) }

const formatOtlp = ({ otlp, sample }: TracingConfig): string => `${otlp}, sample: ${formatPercent(sample)}`

const formatAudit = ({ onFailure, digests }: AuditConfig): string => `onFailure: ${onFailure}, digests: ${digests}`

const formatAddressLimit = ({ rate, burst }: AddressLimitConfig): string => `rate: ${formatRate(rate)}, burst: ${burst}`

const formatAuth = ({ methods, scopes, claims }: OperationAuthConfig): string => {
  const claimTexts = Object.entries(claims).map(([name, value]) => `${name}: ${value}`)
  const required = [...scopes.map((scope) => `scope ${scope}`), ...claimTexts]
  return methods.join(', ') + (required.length === 0 ? '' : ` with ${required.join(', ')}`)
}

/** Nobody is bounded where nobody is asked who it is, or none of them has a bound. */
const clientsOrNull = (auth: OperationAuthConfig | null, clients: number): number | null =>
  auth === null || clients === 0 ? null : clients

const formatClientCount = (clients: number): string => (clients === 1 ? 'of 1 client' : `of ${clients} clients`)

const formatRetry = ({ attempts }: RetryConfig): string => `attempts: ${attempts}`

/** Tells whether the client's key reaches the upstream: one that is taken out on the way, or replaced, keeps nothing from being done twice. */
const forwardsIdempotencyKey = ({ set, remove }: UpstreamConfig['request']): boolean =>
  [...remove, ...set.map(({ name }) => name)].every((name) => foldUnderscores(name) !== 'idempotency-key')
