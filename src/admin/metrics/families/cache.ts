import type { CachedReport, SecondReport } from '../../../snapshot/cache-report.ts'
import { counter, gauge, type Metric } from '../metric.ts'
import type { Reading } from '../reading.ts'

/** Says what is stored, and of how much use it is. Nothing, while no operation is cached. */
export const cache: readonly Metric[] = [
  counter(
    'cache_requests_total',
    'Requests for an operation that is cached, by what the cache did.',
    ['operation', 'outcome'],
    ({ report }) =>
      (report.cache?.operations ?? []).flatMap(({ operation, outcomes }) =>
        Object.entries(outcomes).map(([outcome, count]) => [operation, outcome, count] as const),
      ),
  ),
  gauge('cache_bytes', 'Bytes of answers that are stored.', ['operation'], (reading) =>
    ofOperations(reading, ({ bytes }) => bytes),
  ),
  gauge('cache_entries', 'How many answers are stored.', ['operation'], (reading) =>
    ofOperations(reading, ({ entries }) => entries),
  ),
  gauge('cache_limit_bytes', 'How much may be stored of all operations.', [], ({ report: { cache: stored } }) =>
    stored === null ? [] : [[stored.maxBytes]],
  ),
  counter(
    'cache_evictions_total',
    'How often something stored had to make room.',
    [],
    ({ report: { cache: stored } }) => (stored === null ? [] : [[stored.evictions]]),
  ),
  gauge(
    'cache_redis_up',
    'Whether what is stored is shared through Redis (1), or each process has its own until Redis is back (0).',
    [],
    (reading) => ofRedis(reading, ({ state }) => (state === 'shared' ? 1 : 0)),
  ),
  counter('cache_redis_found_total', 'Answers that were found in Redis, and used.', [], (reading) =>
    ofRedis(reading, ({ counts }) => counts.found),
  ),
  counter('cache_redis_refused_total', 'What was found in Redis and could not be used.', [], (reading) =>
    ofRedis(reading, ({ counts }) => counts.refused),
  ),
  counter(
    'cache_redis_dropped_total',
    'Answers that were not written to Redis, because nobody took them in time.',
    [],
    (reading) => ofRedis(reading, ({ counts }) => counts.dropped),
  ),
]

const ofOperations = ({ report }: Reading, read: (cached: CachedReport) => number) =>
  (report.cache?.operations ?? []).map((each) => [each.operation, read(each)] as const)

const ofRedis = ({ report }: Reading, read: (redis: SecondReport) => number): readonly (readonly [number])[] =>
  report.cache?.redis == null ? [] : [[read(report.cache.redis)]]
