import { catalog, type OperationId } from '../../../catalog.ts'
import { failures, type Kind, kinds } from '../../../failures/kinds.ts'
import { boundsMs, type HistogramReport } from '../../../observe/metrics/histogram.ts'
import { classOf, type Metered, type OperationReport } from '../../../observe/metrics/meter.ts'
import { type Distribution, each, itself, type Metrics } from '../metric.ts'
import type { Reading } from '../reading.ts'

/** Lists whatever a request may be for, in the catalog's order; `none`: it was none of the nine. */
const metered: readonly Metered[] = [...catalog.map(({ id }) => id), 'none']

const nine = each(['operation'], ({ meter }) => catalog.map(({ id }) => [id, meter.operations[id]]))

const all = each(['operation'], ({ meter }) => metered.map((name) => [name, meter.operations[name]]))

/** Is two labels and how many there were. */
type Counted = readonly [string, string, number]

// Whoever reads a rate sees a first one only if there was a series with none before it.
const expected: readonly (readonly [statusClass: number, failure: Kind | null])[] = [
  ...[2, 3, 4, 5].map((statusClass) => [statusClass, null] as const),
  ...kinds.map((kind) => [classOf(failures[kind].status), kind] as const),
  [2, 'truncated'], // the status that was relayed
]

const requests = (operation: OperationReport): readonly Counted[] => {
  const counts = new Map<string, Counted>()
  const count = (statusClass: number, failure: Kind | null, counted: number) =>
    counts.set(`${statusClass} ${failure}`, [nameOf(statusClass), failure ?? 'none', counted])
  for (const [statusClass, failure] of expected) count(statusClass, failure, 0)
  for (const { statusClass, failure, count: counted } of operation.requests) count(statusClass, failure, counted)
  return [...counts.values()]
}

const clients = ({ config, meter }: Reading): readonly Counted[] => {
  if (config.metrics?.clients !== true) return []
  const counts = new Map<string, Counted>()
  const count = (client: string, statusClass: number, counted: number) =>
    counts.set(`${statusClass} ${client}`, [client, nameOf(statusClass), counted])
  const known = new Set(config.clients.map(({ id }) => id))
  for (const id of known) for (const statusClass of [2, 4, 5]) count(id, statusClass, 0)
  for (const { client, statusClass, count: counted } of meter.clients)
    if (known.has(client)) count(client, statusClass, counted)
  return [...counts.values()]
}

const serving = ({ said, config }: Reading): readonly (readonly [OperationId, boolean])[] =>
  catalog.map(({ id }) => [id, (said.operations.of(id)?.state ?? config.operations[id].state) === 'serve'])

const nameOf = (statusClass: number): string => `${statusClass}xx`

// Some of the bounds that are counted by: of all sixty, each operation would have sixty series three times.
const shownMs: readonly number[] = [0.5, 1, 2.5, 5, 10, 25, 50, 100, 250, 500, 1000, 2500, 5000, 10_000, 30_000, 60_000]

const shown = boundsMs.flatMap((ms, at) => (shownMs.includes(ms) ? [{ at, le: ms / 1000 }] : []))

/** Makes of what was counted in milliseconds what Prometheus takes, in seconds. Exact: a bound that is shown is one that was counted by. */
const distribution = ({ counts, sumMs }: HistogramReport): Distribution => {
  let below = 0
  const cumulative = counts.map((count) => {
    below += count
    return below
  })
  return { buckets: shown.map(({ at, le }) => ({ le, count: cumulative[at] ?? 0 })), sum: sumMs / 1000, count: below }
}

const ended = each(['operation', 'status_class', 'failure'], ({ meter }) =>
  metered.flatMap((name) =>
    requests(meter.operations[name]).map(([status, failure, count]) => [name, status, failure, count] as const),
  ),
)

/** Says what was, and what was sent and received. */
export const traffic: Metrics = {
  requests_total: ended.counter(
    'Requests that have ended, by operation, by the class of their status, and by what went wrong (none: nothing of the gateway).',
    itself,
  ),
  requests_in_flight: nine.gauge('Requests that are being served.', ({ inFlight }) => inFlight),
  request_duration_seconds: all.histogram('From the arrival of a request to the end of its answer.', ({ total }) =>
    distribution(total),
  ),
  time_to_first_byte_seconds: all.histogram(
    'From the arrival of a request to the head of its answer.',
    ({ firstByte }) => distribution(firstByte),
  ),
  upstream_duration_seconds: nine.histogram(
    'From the start of the last attempt at an endpoint to the end of its answer.',
    ({ upstream }) => distribution(upstream),
  ),
  request_body_bytes_total: all.counter('Bytes of request bodies that came.', ({ bytesIn }) => bytesIn),
  response_body_bytes_total: all.counter('Bytes of answer bodies that were sent.', ({ bytesOut }) => bytesOut),
  retries_total: nine.counter('Attempts at endpoints after the first one of a request.', ({ retries }) => retries),
  client_requests_total: each(['client', 'status_class'], clients).counter(
    'Requests of each client of the file, by the class of their status; with metrics.clients only.',
    itself,
  ),
  operation_serving: each(['operation'], serving).gauge(
    'Whether an operation is in service (1), or refused by the file or an operator (0).',
    (isServed) => isServed,
  ),
}
