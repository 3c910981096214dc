import { catalog, type OperationId } from '../../catalog.ts'
import type { FailedAttempt } from '../../failures/errors.ts'
import { type Kind, kinds } from '../../failures/kinds.ts'
import type { AuthMethod, Reason } from '../../failures/reasons.ts'
import { added } from '../added.ts'
import type { Exchanged, Recorder } from '../exchanged.ts'
import { noSpans, type SpanCounts } from '../tracing/trouble.ts'
import { Histogram } from './histogram.ts'

/** Names an operation, or `none`: what was turned away before it was one of the nine. */
export type Metered = OperationId | 'none'

/** What a process has counted since it started, as plain data. */
export type MeterReport = Meter['report']

/** Says why an attempt failed: its reason, its kind where that says it all, or a `status` that counts as a failure. */
export type AttemptFailure = Reason | Kind | 'status'

/** What was counted of one operation, as plain data. */
export type OperationReport = OperationMeter['report']

/** Takes out what is so just now, of a process that is gone. */
export const atRest = ({ operations, spans, ...counted }: MeterReport): MeterReport => ({
  ...counted,
  spans: { ...spans, trouble: null },
  operations: Object.fromEntries(
    Object.entries(operations).map(([name, each]) => [name, { ...each, inFlight: 0 }]),
  ) as unknown as MeterReport['operations'],
})

/** Adds up what several processes have counted; null: none has counted anything. */
export const addMeters = (each: readonly MeterReport[]): MeterReport | null => {
  const [first] = each
  if (first === undefined) return null
  const { spans, ...sums } = added(first, each)
  return {
    ...sums,
    spans: { ...spans, trouble: each.find((one) => one.spans.trouble !== null)?.spans.trouble ?? null },
  }
}

const places: readonly (Kind | null)[] = [null, ...kinds]
const placeOfKind: ReadonlyMap<Kind | null, number> = new Map(places.map((kind, i) => [kind, i]))
const classes = 10

/** Counts what becomes of one operation's requests: numbers in arrays, whose length does not depend on who calls. */
export class OperationMeter {
  inFlight = 0
  /** By failure, and within that by class of status. */
  readonly #requests: number[] = new Array(places.length * classes).fill(0)
  /** By a key of bounded words. */
  readonly #reasons = new Map<string, { failure: Kind; reason: Reason; method: AuthMethod | null; count: number }>()
  /** Attempts that failed, by what was wrong: every one of them, whatever became of its exchange. */
  readonly #attemptFailures = new Map<AttemptFailure, number>()
  readonly #proved = new Map<AuthMethod, number>()
  readonly #total = new Histogram()
  readonly #firstByte = new Histogram()
  readonly #upstream = new Histogram()
  #retries = 0
  #bytesIn = 0
  #bytesOut = 0

  record(exchanged: Exchanged): void {
    const { status, failure, totalMs, firstByteMs, exchange } = exchanged
    const identity = exchange?.identity ?? null
    const upstreamMs = exchange?.upstreamMs ?? null
    const at = (placeOfKind.get(failure?.kind ?? null) as number) * classes + classOf(status)
    this.#requests[at] = (this.#requests[at] as number) + 1
    if (failure !== null && failure.reason !== null)
      this.#explain(failure.kind, failure.reason, exchange?.proving ?? null)
    if (identity !== null && failure?.kind !== 'forbidden')
      this.#proved.set(identity.method, (this.#proved.get(identity.method) ?? 0) + 1)
    if (exchange !== null && exchange.attempts > 1) this.#retries += exchange.attempts - 1
    this.#bytesIn += exchanged.bytesIn
    this.#bytesOut += exchanged.bytesOut
    this.#total.observe(totalMs)
    if (firstByteMs !== null) this.#firstByte.observe(firstByteMs)
    if (upstreamMs !== null) this.#upstream.observe(upstreamMs)
  }

  /** Counts an attempt that failed, when it does. */
  attemptFailed({ why }: FailedAttempt): void {
    const reason = typeof why === 'number' ? 'status' : (why.reason ?? why.kind)
    this.#attemptFailures.set(reason, (this.#attemptFailures.get(reason) ?? 0) + 1)
  }

  /** What was counted; what was never seen is not there. */
  get report() {
    return {
      inFlight: this.inFlight,
      /** By the first digit of the status, and the failure; null: the gateway had nothing to object to. */
      requests: this.#requests.flatMap((count, at) =>
        count === 0
          ? []
          : [{ statusClass: at % classes, failure: places[Math.trunc(at / classes)] as Kind | null, count }],
      ),
      /** Of the failures, those that have a reason, and of whose credential they are. */
      reasons: [...this.#reasons.values()].map((each) => ({ ...each })),
      attemptFailures: [...this.#attemptFailures].map(([reason, count]) => ({ reason, count })),
      /** How many were let in by each way to prove who calls. */
      proved: [...this.#proved].map(([method, count]) => ({ method, count })),
      /** How many attempts there were after the first. */
      retries: this.#retries,
      bytesIn: this.#bytesIn,
      bytesOut: this.#bytesOut,
      total: this.#total.report,
      firstByte: this.#firstByte.report,
      upstream: this.#upstream.report,
    }
  }

  #explain(failure: Kind, reason: Reason, method: AuthMethod | null): void {
    const key = `${failure} ${reason} ${method}`
    const found = this.#reasons.get(key)
    if (found === undefined) this.#reasons.set(key, { failure, reason, method, count: 1 })
    else found.count++
  }
}

/** Takes the first digit of a status. */
export const classOf = (status: number): number => Math.min(classes - 1, Math.trunc(status / 100))

/** Counts what one process serves, all its snapshots together. */
export class Meter {
  readonly operations = Object.fromEntries(
    [...catalog.map(({ id }) => id), 'none' as const].map((name) => [name, new OperationMeter()]),
  ) as Readonly<Record<Metered, OperationMeter>>
  /** What became of spans. */
  readonly spans: SpanCounts = noSpans()
  /** By id, then by class of status. Ids are those of the file. */
  readonly #clients = new Map<string, number[]>()

  /** Makes what counts for a snapshot: for each client as well, if asked to. */
  recorder(clients: boolean): Recorder {
    return {
      name: 'metrics',
      record: (exchanged) => {
        const { exchange } = exchanged
        this.operations[exchange?.operation.id ?? 'none'].record(exchanged)
        if (clients && exchange?.identity != null) this.#count(exchange.identity.client, exchanged)
      },
    }
  }

  get report() {
    return {
      operations: Object.fromEntries(
        Object.entries(this.operations).map(([name, each]) => [name, each.report]),
      ) as unknown as Readonly<Record<Metered, OperationReport>>,
      /** What became of spans. */
      spans: { ...this.spans },
      /** Requests by the id of the client and the class of the status; empty unless asked for. */
      clients: [...this.#clients].flatMap(([client, counts]) =>
        counts.flatMap((count, statusClass) => (count === 0 ? [] : [{ client, statusClass, count }])),
      ),
    }
  }

  #count(client: string, { status }: Exchanged): void {
    let counts = this.#clients.get(client)
    if (counts === undefined) {
      counts = new Array<number>(10).fill(0)
      this.#clients.set(client, counts)
    }
    const at = classOf(status)
    counts[at] = (counts[at] as number) + 1
  }
}
