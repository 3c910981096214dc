import type { FailedAttempt } from '../../failures/errors.ts'
import { type Kind, kinds } from '../../failures/kinds.ts'
import type { AuthMethod, Reason } from '../../failures/reasons.ts'
import type { Exchanged } from '../exchanged.ts'
import { Histogram } from './histogram.ts'
import type { AttemptFailure, OperationReport } from './meter-report.ts'

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

  get report(): OperationReport {
    return {
      inFlight: this.inFlight,
      requests: this.#requests.flatMap((count, at) =>
        count === 0
          ? []
          : [{ statusClass: at % classes, failure: places[Math.trunc(at / classes)] as Kind | null, count }],
      ),
      reasons: [...this.#reasons.values()].map((each) => ({ ...each })),
      attemptFailures: [...this.#attemptFailures].map(([reason, count]) => ({ reason, count })),
      proved: [...this.#proved].map(([method, count]) => ({ method, count })),
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
