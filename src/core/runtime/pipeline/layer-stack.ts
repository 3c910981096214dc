import type { AuditSink } from '../../../features/audit/audit-sink.ts'
import { auditLayer } from '../../../features/audit/layer.ts'
import { authLayer } from '../../../features/auth/auth.ts'
import type { AuthProvider } from '../../../features/auth/auth-provider.ts'
import { stripIdentityHeaderLayer } from '../../../features/auth/strip-identity-header.ts'
import { createCacheLayer } from '../../../features/cache/cache-layer.ts'
import type { CacheLease } from '../../../features/cache/cache-registry.ts'
import { cacheInvalidationLayer } from '../../../features/cache/invalidation.ts'
import {
  createCandidateRetries,
  createGuardOptions,
  createSideLayer,
  formatGuard,
} from '../../../features/candidate/candidate-layers.ts'
import { type GuardOptions, guardLayer } from '../../../features/candidate/layers/guard.ts'
import { markerLayer, type ShadowDestination } from '../../../features/candidate/layers/shadow.ts'
import { copiesOf, createShadowLayer, formatShadow } from '../../../features/candidate/shadow-layer.ts'
import { formatCandidateUse } from '../../../features/candidate/shift/candidate-use.ts'
import {
  type ActiveMode,
  createLearningLayer,
  createRequestContractLayer,
  createResponseContractLayer,
  formatMode,
  heldTo,
  type ResponseStackOptions,
} from '../../../features/contract/contract-layers.ts'
import type { LearningMode } from '../../../features/contract-learning/continue-learning.ts'
import {
  createIdempotencyLayer,
  formatIdempotency,
  keyFieldOf,
} from '../../../features/idempotency/idempotency-layer.ts'
import type { IdempotencyLease } from '../../../features/idempotency/idempotency-registry.ts'
import type { ClientLimits } from '../../../features/limits/client-limits.ts'
import { bodyLimitLayer, clientConcurrencyLimitLayer, concurrencyLimitLayer } from '../../../features/limits/limits.ts'
import { loadSheddingLayer } from '../../../features/limits/load-shedding.ts'
import type { ProcessLoad } from '../../../features/limits/process-load.ts'
import { addressRateLimitLayer, clientRateLimitLayer } from '../../../features/limits/rate-limit.ts'
import { MemoryRateLimiter } from '../../../features/limits/rate-limiter/memory-rate-limiter.ts'
import { toAddressLimit } from '../../../features/limits/rate-limits.ts'
import { type RetryAllowance, retryLayer } from '../../../features/retry/layer.ts'
import { RetryBudget } from '../../../features/retry/retry-budget.ts'
import { compose, type Handler } from '../../exchange/exchange.ts'
import { formatDuration, formatSize } from '../../lib/text/units.ts'
import type { RateLimiter } from '../../lib/token-bucket.ts'
import { inFlightGaugeLayer, type RequestMetrics } from '../../log/metrics/request-metrics.ts'
import type { Override } from '../overrides.ts'
import type { SnapshotPart } from '../runtime-part.ts'
import { deadlineLayer } from './deadline.ts'
import { rejectGetContentLayer } from './get-content.ts'
import { type LayerRow, layerRow } from './layer-row.ts'
import {
  formatAddressLimit,
  formatAudit,
  formatAuth,
  formatClientCount,
  formatLearning,
  formatMetrics,
  formatRetry,
  limitedClients,
} from './layer-settings.ts'
import { outOfServiceHandler } from './out-of-service.ts'

/** A feature in its place around an upstream: what composes it, and what `explain` shows of it. */
export interface LayerStackOptions extends ResponseStackOptions {
  /**
   * The budget that all retries to the operation's group share. Null: retries are off, or the handler serves no
   * traffic.
   */
  readonly retryBudget: RetryAllowance | null
  /** The rate limiter by client address. Null: it is off, or the handler serves no traffic. */
  readonly addressLimiter: RateLimiter | null
  readonly authProvider: AuthProvider
  readonly clientLimits: ClientLimits
  readonly processLoad: ProcessLoad
  readonly requestMetrics: Pick<RequestMetrics, 'operations'>
  readonly features: readonly Pick<SnapshotPart, 'layers'>[]
  readonly auditSink: AuditSink
  readonly caches: CacheLease
  /** What requests with a key are remembered with. Null: no operation has idempotency. */
  readonly idempotency: IdempotencyLease | null
  /** Where copies of requests go. Null: none are made, or the handler serves no traffic. */
  readonly shadow: ShadowDestination | null
  readonly learningMode: LearningMode | null
  /** What the guard of the candidate counts with. Null: there is none, or nothing is to be counted. */
  readonly guard: GuardOptions | null
}

/**
 * Lists the layers around an upstream, the outermost first. The order of this list is the behaviour: a request passes
 * it from top to bottom, its response from bottom to top.
 */
export const layerTable = (options: LayerStackOptions): readonly LayerRow[] => {
  const { operation, config, authProvider, clientLimits, caches } = options
  const { limits, audit, metrics } = config
  const { loop, counts } = options.processLoad
  const { id, group } = operation
  const own = config.operations[id]
  const ownKey = `operations.${id}`
  const upstream = config.upstreams[group]
  const shadow = upstream.candidate?.shadow ?? null
  const getContent = config.listen.getContent === 'forward' ? null : config.listen.getContent
  const formatContractMode = (mode: ActiveMode): string => formatMode(mode, own.contract.unchecked)
  const ofFeatures = options.features.flatMap((part) => part.layers?.(operation) ?? [])
  const inPlace = (place: string): readonly LayerRow[] => ofFeatures.filter(({ name }) => name === place)
  return [
    // Observe everything below, also what it rejects.
    ...inPlace('tracing'),
    ...inPlace('server-timing'),
    layerRow('metrics', 'metrics', metrics, formatMetrics, () =>
      inFlightGaugeLayer(options.requestMetrics.operations[id]),
    ),
    layerRow('audit', 'audit.onFailure', audit, formatAudit, (rules) => auditLayer(rules, options.auditSink)),

    // Shed load, before a request costs any work.
    layerRow('load-shedding', 'limits.eventLoopDelay', limits.eventLoopDelay, formatDuration, () =>
      loadSheddingLayer(loop),
    ),
    layerRow('concurrency', 'limits.concurrency', limits.concurrency, String, (max) =>
      concurrencyLimitLayer(max, counts.all, 'limits-concurrency'),
    ),
    layerRow('upstream-concurrency', `upstreams.${group}.concurrency`, upstream.concurrency, String, (max) =>
      concurrencyLimitLayer(max, counts.upstreams[group], 'upstream-concurrency'),
    ),
    layerRow('operation-concurrency', `${ownKey}.concurrency`, own.concurrency, String, (max) =>
      concurrencyLimitLayer(max, counts.operations[id], 'operation-concurrency'),
    ),

    // Limit an address before its credentials are checked, which costs more. Then authenticate, and limit the client
    // that was found.
    layerRow('address-limit', 'limits.address', limits.address, formatAddressLimit, (limit) =>
      addressRateLimitLayer(options.addressLimiter ?? new MemoryRateLimiter(toAddressLimit(limit)), limit.ipv6Prefix),
    ),
    layerRow(
      'identity-field',
      'auth.identityField',
      config.auth?.identityField ?? null,
      String,
      stripIdentityHeaderLayer,
    ),
    layerRow('auth', `${ownKey}.auth`, own.auth, formatAuth, (rules) => authLayer(authProvider.authOptions(rules))),
    layerRow(
      'client-concurrency',
      'clients.concurrency',
      limitedClients(own.auth, clientLimits.concurrencyLimitedCount),
      formatClientCount,
      () => clientConcurrencyLimitLayer(clientLimits.getConcurrencyLimit, counts.clients),
    ),
    layerRow(
      'client-limit',
      'clients.rate',
      limitedClients(own.auth, clientLimits.rateLimitedCount),
      formatClientCount,
      () => clientRateLimitLayer(clientLimits.getRateLimiter),
    ),

    // Serve the request: from the cache, or from the upstream in time.
    // Above all that looks at a body: an empty one in chunks is none from here on.
    ...(operation.method === 'GET'
      ? [layerRow('get-content', 'listen.getContent', getContent, String, () => rejectGetContentLayer, 'forward')]
      : []),
    layerRow('body-limit', `${ownKey}.maxBody`, own.maxBody, formatSize, bodyLimitLayer),
    // Behind all that says whose a request is or rejects it, and outside the cache, which keeps the sides apart.
    ...(upstream.candidate === null
      ? []
      : [
          layerRow('side', `upstreams.${group}.candidate.share`, options.candidateUse, formatCandidateUse, (use) =>
            createSideLayer(config, group, use),
          ),
        ]),
    layerRow(
      'request-contract',
      `${ownKey}.contract.request`,
      heldTo(own.contract.request),
      formatContractMode,
      (mode) => createRequestContractLayer(options, mode),
      'off',
    ),
    ...(operation.method === 'GET'
      ? [
          layerRow(
            'cache',
            `${ownKey}.cache`,
            own.cache,
            () => 'on',
            (rules) => createCacheLayer(options, rules),
          ),
        ]
      : [
          // Above all that may make a POST happen, and below all that rejects it: a rejected request uses up no key.
          layerRow(
            'idempotency',
            `${ownKey}.idempotency`,
            own.idempotency,
            formatIdempotency,
            (rules) => createIdempotencyLayer(options, rules, own.deadline),
            'false',
          ),
        ]),
    layerRow('deadline', `${ownKey}.deadline`, own.deadline, formatDuration, deadlineLayer),
    // Below the cache, which stores only what was checked. Within the deadline, since it may wait for the whole body.
    layerRow(
      'response-contract',
      `${ownKey}.contract.response`,
      heldTo(own.contract.response),
      formatContractMode,
      (mode) => createResponseContractLayer(options, mode),
      'off',
    ),
    // Below what replaces an answer: what the upstream has done makes stored responses invalid, whatever the
    // client gets.
    ...(operation.method === 'GET'
      ? []
      : [
          layerRow(
            'cache-invalidation',
            'cache',
            caches.isUsed || null,
            () => 'of what its answers name',
            () => cacheInvalidationLayer(config.listen, caches.invalidate),
          ),
        ]),
    // Below what rejects messages: it learns what the upstream sends, and from requests that reach it. Below the cache
    // too, so that a stored response is learnt once. Above retries, which end in one response.
    layerRow(
      'contract-learning',
      'contract.learn',
      options.learningMode,
      formatLearning,
      () => createLearningLayer(options),
      'false',
    ),
    // Above retries, which so make no second copy. Below all that keeps a request from the upstream, and all that
    // replaces its answer. Where nothing is copied, a client must not send the marker all the same.
    ...(shadow === null
      ? []
      : [
          layerRow('shadow-marker', `upstreams.${group}.candidate.shadow.marker`, shadow.marker, String, markerLayer),
          layerRow(
            'shadow',
            `upstreams.${group}.candidate.shadow`,
            copiesOf(operation, shadow),
            formatShadow,
            (rules) => createShadowLayer(config, rules, options.shadow),
          ),
        ]),
    layerRow('retry', `upstreams.${group}.retry`, upstream.retry, formatRetry, (rules) =>
      retryLayer(rules, options.retryBudget ?? new RetryBudget(rules.budget), {
        safe: operation.method === 'GET',
        keyField: keyFieldOf(own.idempotency, upstream.request),
        candidate: options.candidateUse && createCandidateRetries(upstream.candidate, own.idempotency),
      }),
    ),
    // Below retries: what the other side mends was a fault of the candidate all the same.
    ...(upstream.candidate === null
      ? []
      : [
          layerRow(
            'guard',
            `upstreams.${group}.candidate.guard`,
            upstream.candidate.guard,
            formatGuard,
            () => options.candidateUse && guardLayer(options.guard ?? createGuardOptions(config, group, [])),
          ),
        ]),
  ]
}

/** `override` is an operator's command, which goes before the file. */
export const composeLayers = (options: LayerStackOptions, send: Handler, override: Override | null = null): Handler =>
  (override ?? options.config.operations[options.operation.id]).state === 'refuse'
    ? outOfServiceHandler(override?.endsAt ?? null)
    : compose(
        layerTable(options).map(({ layer }) => layer),
        send,
      )
