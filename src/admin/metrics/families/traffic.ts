import { catalog } from '../../../catalog.ts'
import { failures, type Kind, kinds } from '../../../failures/kinds.ts'
import { boundsMs, type HistogramReport } from '../../../observe/metrics/histogram.ts'
import type { Metered, OperationReport } from '../../../observe/metrics/meter-report.ts'
import { classOf } from '../../../observe/metrics/operation-meter.ts'
import type { Distribution } from '../exposition.ts'
import { counter, gauge, histogram, type Metric } from '../metric.ts'
import type { Reading } from '../reading.ts'

/** Lists whatever a request may be for, in the catalog's order; `none`: it was none of the nine. */
const metered: readonly Metered[] = [...catalog.map(({ id }) => id), 'none']

/** Says what was, and what was sent and received. */
export const traffic: readonly Metric[] = [
  counter(
    'requests_total',
    'Requests that have ended, by operation, by the class of their status, and by what went wrong (none: nothing of the gateway).',
    ['operation', 'status_class', 'failure'],
    ({ meter }) =>
      metered.flatMap((name) =>
        requests(meter.operations[name]).map(([status, failure, count]) => [name, status, failure, count] as const),
      ),
  ),
  gauge('requests_in_flight', 'Requests that are being served.', ['operation'], (reading) =>
    ofNine(reading, ({ inFlight }) => inFlight),
  ),
  histogram(
    'request_duration_seconds',
    'From the arrival of a request to the end of its answer.',
    ['operation'],
    (reading) => ofAll(reading, ({ total }) => distribution(total)),
  ),
  histogram(
    'time_to_first_byte_seconds',
    'From the arrival of a request to the head of its answer.',
    ['operation'],
    (reading) => ofAll(reading, ({ firstByte }) => distribution(firstByte)),
  ),
  histogram(
    'upstream_duration_seconds',
    'From the start of the last attempt at an endpoint to the end of its answer.',
    ['operation'],
    (reading) => ofNine(reading, ({ upstream }) => distribution(upstream)),
  ),
  counter('request_body_bytes_total', 'Bytes of request bodies that came.', ['operation'], (reading) =>
    ofAll(reading, ({ bytesIn }) => bytesIn),
  ),
  counter('response_body_bytes_total', 'Bytes of answer bodies that were sent.', ['operation'], (reading) =>
    ofAll(reading, ({ bytesOut }) => bytesOut),
  ),
  counter('retries_total', 'Attempts at endpoints after the first one of a request.', ['operation'], (reading) =>
    ofNine(reading, ({ retries }) => retries),
  ),
  counter(
    'client_requests_total',
    'Requests of each client of the file, by the class of their status; with metrics.clients only.',
    ['client', 'status_class'],
    (reading) => (reading.config.metrics?.clients === true ? clients(reading) : []),
  ),
  gauge(
    'operation_serving',
    'Whether an operation is in service (1), or refused by the file or an operator (0).',
    ['operation'],
    ({ serving }) => catalog.map(({ id }) => [id, serving(id) ? 1 : 0]),
  ),
]

const ofNine = <Value>({ meter }: Reading, read: (operation: OperationReport) => Value) =>
  catalog.map(({ id }) => [id, read(meter.operations[id])] as const)

const ofAll = <Value>({ meter }: Reading, read: (operation: OperationReport) => Value) =>
  metered.map((name) => [name, read(meter.operations[name])] as const)

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
  const counts = new Map<string, Counted>()
  const count = (client: string, statusClass: number, counted: number) =>
    counts.set(`${statusClass} ${client}`, [client, nameOf(statusClass), counted])
  const known = new Set(config.clients.map(({ id }) => id))
  for (const id of known) for (const statusClass of [2, 4, 5]) count(id, statusClass, 0)
  for (const { client, statusClass, count: counted } of meter.clients)
    if (known.has(client)) count(client, statusClass, counted)
  return [...counts.values()]
}

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
