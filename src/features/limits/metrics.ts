import { addUp, counter, gauge, type MetricDefinitions, metricsOf, seriesFor } from '../../core/admin/metrics/metric.ts'
import type { MetricInputs } from '../../core/admin/metrics/metric-inputs.ts'
import { cacheOutcomes } from '../../core/exchange/exchange-outcomes.ts'
import type { FailureKind } from '../../core/exchange/failures/kinds.ts'
import { reasonsFor } from '../../core/exchange/failures/reasons.ts'

const cached = seriesFor(['operation'], ({ report }) =>
  (report.cache?.operations ?? []).map((each) => [each.operation, each] as const),
)

const storedErrors = seriesFor(['operation'], ({ report, requestMetrics }) =>
  (report.cache?.operations ?? []).map(
    ({ operation }) => [operation, requestMetrics.operations[operation].storedErrors] as const,
  ),
)

const outcomes = seriesFor(['operation', 'outcome'], ({ report }) =>
  (report.cache?.operations ?? []).flatMap((each) =>
    cacheOutcomes.map((outcome) => [each.operation, outcome, each[outcome]] as const),
  ),
)

const cache = metricsOf(({ report }) => report.cache)
const redis = metricsOf(({ report }) => report.cache?.redis)

/** No series while no operation is cached. */
export const cacheMetrics: MetricDefinitions = {
  cache_requests_total: outcomes.counter('Requests for an operation that is cached, by what the cache did.'),
  cache_stored_errors_total: storedErrors.counter(
    'Requests that got a stored response of 500 or above, and none of an upstream.',
    'cache',
  ),
  cache_bytes: cached.gauge('Bytes of answers that are stored.', 'bytes'),
  cache_entries: cached.gauge('How many answers are stored.', 'entries'),
  cache_limit_bytes: cache.gauge('How much may be stored of all operations.', 'maxBytes'),
  cache_evictions_total: cache.counter('How often something stored had to make room.', 'evictions'),
  cache_redis_up: redis.gauge(
    'Whether what is stored is shared through Redis (1), or each process has its own until Redis is back (0).',
    ({ state }) => state === 'shared',
  ),
  cache_redis_found_total: redis.counter('Answers that were found in Redis, and used.', 'found'),
  cache_redis_refused_total: redis.counter('What was found in Redis and could not be used.', 'refused'),
  cache_redis_dropped_total: redis.counter(
    'Answers that were not written to Redis, because nobody took them in time.',
    'dropped',
  ),
}

const rejectedKinds: readonly FailureKind[] = [
  'bad-request',
  'header-too-large',
  'request-timeout',
  'client-gone',
  'content-too-large',
  'invalid-request',
  'refused-by-operator',
]

const countsOfKinds = (...kinds: readonly FailureKind[]) =>
  seriesFor(['reason'], ({ requestMetrics }: MetricInputs) => {
    const all = Object.values(requestMetrics.operations).flatMap(({ reasons }) => reasons)
    return addUp([
      ...reasonsFor(...kinds).map((reason) => [reason, 0] as const),
      ...all.filter(({ failure }) => kinds.includes(failure)).map(({ reason, count }) => [reason, count] as const),
    ])
  })

const concurrency = seriesFor(['limit'], ({ report }) => report.limits.concurrency.map((each) => [each.key, each]))

export const limitMetrics: MetricDefinitions = {
  concurrency_in_flight: concurrency.gauge('Requests that a bound of concurrency counts just now.', 'inFlight'),
  concurrency_limit: concurrency.gauge('How many requests a bound of concurrency lets in at once.', 'limit'),
  sheds_total: countsOfKinds('overloaded').counter('Requests that found no room (503), by the bound that was full.'),
  rate_limited_total: countsOfKinds('rate-limited').counter(
    'Requests of an address or a client beyond what it may (429), by the bound that was used up.',
  ),
  rejections_total: countsOfKinds(...rejectedKinds).counter(
    'Requests that were malformed, too large or too slow, or that an operator had refused, by what was wrong.',
  ),
  rate_limits_shared: gauge(
    'Whether rates and DPoP proofs are counted for all gateways (1), or each counts for itself until Redis is back (0); with limits.redis only.',
    ({ report: { limits } }) => (limits.rate?.store === 'redis' ? limits.rate.state === 'shared' : null),
  ),
  rate_keys_forgotten_total: counter(
    'Keys whose count was forgotten before its time, for want of room.',
    ({ report }) => report.limits.rate?.evictions,
  ),
  load_shedding: gauge(
    'Whether new requests are refused because the event loop is late (1), in one worker at least.',
    ({ report }) => report.limits.eventLoop?.sheds,
  ),
  load_shedding_limit_seconds: gauge(
    'From what delay of the event loop on new requests are refused.',
    ({ report: { limits } }) => limits.eventLoop && limits.eventLoop.limitMs / 1000,
  ),
}
