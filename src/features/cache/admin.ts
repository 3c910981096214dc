import type {
  DescribedField,
  DescribeOperation,
  PlacedFindings,
  PlacedMetrics,
  PlacedStatus,
} from '../../core/admin/admin-part.ts'
import { pluralize } from '../../core/admin/commands/phrases.ts'
import { areMostFailing, isQuiet } from '../../core/admin/findings/failure-phrases.ts'
import { checkCommandLine, finding } from '../../core/admin/findings/finding.ts'
import type { FindingSource } from '../../core/admin/findings/finding-inputs.ts'
import { type MetricDefinitions, metricsOf, seriesFor } from '../../core/admin/metrics/metric.ts'
import { failureTable } from '../../core/exchange/failures/failure-table.ts'
import { commandLine } from '../../core/lib/program.ts'
import { formatTimeOfDay } from '../../core/lib/text/format-time.ts'
import { fromReport, type Shown } from '../../core/runtime/status/field.ts'
import { allOperations } from '../../operations.ts'
import { redisGone } from '../redis/redis-settings.ts'
import { cacheField } from './status.ts'
import { cacheOutcomes } from './store/stored-response.ts'

/** Finds operations whose clients get a stored error although the upstream may be well by now. */
const storedErrorFindings: FindingSource = ({ at, config, recent, report }) =>
  allOperations.flatMap(({ id }) => {
    const { requests, storedErrors } = recent?.[id] ?? { requests: 0, storedErrors: 0 }
    const last = report.cache?.operations.find(({ operation }) => operation === id)?.lastError ?? null
    if (storedErrors === 0 || last === null) return []
    const hasEnded = isQuiet(last.servedAt, at)
    const severity = hasEnded ? 'notice' : areMostFailing(storedErrors, requests) ? 'critical' : 'warning'
    const command = commandLine('cache', 'clear', id)
    const facts = { requests, storedErrors, ...last, hasEnded, isShared: config.cache.redis !== null }
    const found = { ...facts, since: last.sentAt, command }
    return finding('error-stored', severity, `operations.${id}`, found, (facts, at) => {
      const { status, sentAt, freshUntil, servedAt, hasEnded } = facts
      const time = (ms: number): string => formatTimeOfDay(ms, at)
      // A no-cache response is never fresh: the upstream has confirmed it by 304.
      const fresh = freshUntil > servedAt ? `which is fresh until ${time(freshUntil)}` : 'which it has confirmed by 304'
      return [
        `the cache ${hasEnded ? 'responded' : 'responds'} with a stored ${status}, ` +
          `which the upstream sent at ${time(sentAt)} and ${fresh}: ` +
          `${facts.storedErrors} of ${pluralize(facts.requests, 'request')} in the last minute` +
          `${hasEnded ? `, none since ${time(servedAt)}` : ''}`,
        ...(facts.isShared ? ['each gateway has its own memory: run the command on each of them'] : []),
      ]
    })
  })

const redisFindings: FindingSource = ({ file, report: { cache } }) => {
  if (cache?.redis?.state !== 'local') return []
  const facts = { ...cache.redis, command: checkCommandLine(file.name, '--online') }
  return finding('cache-not-shared', 'warning', 'redis', facts, (redis) => [
    `${redisGone(redis)}: this gateway uses only responses that it stored itself`,
  ])
}

export const findings: readonly PlacedFindings[] = [
  { after: 'drained', value: storedErrorFindings },
  { before: 'certificates', value: redisFindings },
]

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

const cacheMetrics: MetricDefinitions = {
  cache_requests_total: outcomes.counter('Requests for a cached operation by what the cache did.'),
  cache_stored_errors_total: storedErrors.counter('Requests that got a stored response of 500 or above.'),
  cache_bytes: cached.gauge('Bytes of stored responses.', 'bytes'),
  cache_entries: cached.gauge('Stored responses.', 'entries'),
  cache_limit_bytes: cache.gauge('Limit of cache_bytes for all operations together.', 'maxBytes'),
  cache_evictions_total: cache.counter('Stored responses removed for lack of room.', 'evictions'),
  cache_redis_up: redis.gauge(
    'Whether Redis shares stored responses (1), or each process has its own (0).',
    ({ state }) => state === 'shared',
  ),
  cache_redis_found_total: redis.counter('Responses found in Redis and used.', 'found'),
  cache_redis_rejected_total: redis.counter(
    'Entries of Redis that were rejected: damaged, or of another key.',
    'rejected',
  ),
  cache_redis_dropped_total: redis.counter('Responses that were not written to Redis in time.', 'dropped'),
}

export const metrics: readonly PlacedMetrics[] = [{ before: 'configuration', value: cacheMetrics }]

declare module '../../core/runtime/status/status-part.ts' {
  interface Status {
    readonly cache: Shown<typeof cacheField>
  }
}

export const status: readonly PlacedStatus[] = [
  { before: 'operations', key: 'cache', field: fromReport('cache', cacheField) },
]

export const loadPage = () => import('./page.ts')

const cacheStatus: DescribedField = {
  layer: 'cache',
  field: 'Cache-Status',
  component: 'CacheStatus',
  header: { description: 'What the cache of the gateway did (RFC 9211).', schema: { type: 'string' } },
}

const age: DescribedField = {
  layer: 'cache',
  field: 'Age',
  component: 'Age',
  header: {
    description: 'The age of a stored response, in seconds (RFC 9111 §5.1).',
    schema: { type: 'integer', minimum: 0 },
  },
}

/** The cache's own statuses (RFC 9110 §13.2.2, §14.2). */
const responses = {
  206: { description: 'The part of a response that the request asks for.', content: { '*/*': {} } },
  304: { description: 'The client has the response already.' },
  416: { description: 'The response has no such part.' },
}

const describe: DescribeOperation = ({ id }, { operations }) =>
  operations[id].cache === null
    ? {}
    : {
        failures: ['not-cached'],
        relayedFields: [age, cacheStatus],
        problemFields: (kinds) =>
          kinds.some((kind) => kind === 'not-cached' || failureTable[kind].fault === 'upstream') ? [cacheStatus] : [],
        responses,
      }

export const loadOpenApi = async () => ({ describe })

export const loadStatusTexts = () => import('./status-text.ts')
