import { byOperation, type OperationId, type Side, sides } from '../../../operations.ts'
import type { Layer } from '../../exchange/exchange.ts'
import type { FailedAttempt, FailureReason } from '../../exchange/failures/errors.ts'
import { allFailureKinds, type FailureKind, failureTable } from '../../exchange/failures/failure-table.ts'
import type { AuthMethod } from '../../exchange/failures/reason-rows.ts'
import type { ExchangeFacts, ExchangeObserver, ExchangeRecord } from '../exchange-record.ts'
import { sumReports } from '../sum-reports.ts'
import { Histogram } from './histogram.ts'

/** `none`: rejected before it matched an operation. */
export type OperationLabel = OperationId | 'none'

export type RequestMetricsReport = RequestMetrics['report']

/** A reason, a kind without reasons, or a `status` that counts as a failure. */
export type AttemptFailureReason = FailureReason | FailureKind | 'status'

export type OperationMetricsReport = OperationMetrics['report']

/** A process that has exited: only its counters still count. */
export const withoutGauges = ({ operations, ...rest }: RequestMetricsReport): RequestMetricsReport => ({
  ...rest,
  operations: byLabel((label) => ({ ...operations[label], inFlight: 0 })),
})

const byLabel = <T>(make: (label: OperationLabel) => T): Readonly<Record<OperationLabel, T>> => ({
  ...byOperation(({ id }) => make(id)),
  none: make('none'),
})

export const mergeRequestMetrics = (each: readonly RequestMetricsReport[]): RequestMetricsReport | null => {
  const [first] = each
  return first === undefined ? null : sumReports(first, each)
}

const failureKinds: readonly (FailureKind | null)[] = [null, ...allFailureKinds]
const failureIndex: ReadonlyMap<FailureKind | null, number> = new Map(failureKinds.map((kind, i) => [kind, i]))
const statusClassCount = 10

class Tally<Words extends Readonly<Record<string, string | null>>> {
  readonly #entries = new Map<string, Words & { count: number }>()

  count(words: Words): void {
    const key = Object.values(words).join(' ')
    const found = this.#entries.get(key)
    if (found === undefined) this.#entries.set(key, { ...words, count: 1 })
    else found.count++
  }

  get report(): readonly (Words & { readonly count: number })[] {
    return [...this.#entries.values()].map((each) => ({ ...each }))
  }
}

/** In arrays whose length does not depend on the clients. */
class OperationMetrics {
  inFlight = 0
  /** By failure, then by status class. */
  readonly #requests: number[] = new Array(failureKinds.length * statusClassCount).fill(0)
  readonly #reasons = new Tally<{
    failure: FailureKind
    reason: FailureReason
    method: AuthMethod | null
    side: Side
  }>()
  /** Every failed attempt, whether or not its exchange failed. */
  readonly #attemptFailures = new Tally<{ side: Side; reason: AttemptFailureReason }>()
  readonly #accepted = new Map<AuthMethod, number>()
  readonly #total = new Histogram()
  /** Times of failed requests, and of those rejected for their client's fault. */
  readonly #failed = new Histogram()
  readonly #rejected = new Histogram()
  readonly #firstByte = new Histogram()
  readonly #upstream = new Histogram()
  readonly #outcomes = new Map<string, number>()
  /** Responses by the client's side (primary or candidate), then by status class. Null: the group has no candidate. */
  #sides: Record<Side, number[]> | null = null
  #storedErrors = 0
  #fallbacks = 0
  #retries = 0
  #bytesIn = 0
  #bytesOut = 0

  record(record: ExchangeRecord): void {
    const { status, failure, totalMs, firstByteMs, exchange } = record
    const identity = exchange?.identity ?? null
    const upstreamMs = exchange?.attempts.upstreamMs ?? null
    const at = (failureIndex.get(failure?.kind ?? null) as number) * statusClassCount + toStatusClass(status)
    this.#requests[at] = (this.#requests[at] as number) + 1
    if (failure !== null && failure.reason !== null) this.#countReason(failure.kind, failure.reason, exchange)
    if (identity !== null && failure?.kind !== 'forbidden')
      this.#accepted.set(identity.method, (this.#accepted.get(identity.method) ?? 0) + 1)
    const outcome = exchange?.outcome ?? null
    if (outcome?.isAudited === true) this.#outcomes.set(outcome.outcome, (this.#outcomes.get(outcome.outcome) ?? 0) + 1)
    if (exchange !== null && exchange.side !== null) this.#countSide(exchange.side, exchange.attempts.fellBack, status)
    if (exchange !== null && exchange.attempts.count > 1) this.#retries += exchange.attempts.count - 1
    this.#bytesIn += record.bytesIn
    this.#bytesOut += record.bytesOut
    this.#total.observe(totalMs)
    if (failure === null && status >= 500 && outcome !== null && outcome.stored !== null) this.#storedErrors++
    if (failure !== null || status >= 500)
      (isErrorOutcome(toStatusClass(status), failure?.kind ?? null) ? this.#failed : this.#rejected).observe(totalMs)
    if (firstByteMs !== null) this.#firstByte.observe(firstByteMs)
    if (upstreamMs !== null) this.#upstream.observe(upstreamMs)
  }

  countFailedAttempt({ errorOrStatus }: FailedAttempt, side: Side): void {
    const reason = typeof errorOrStatus === 'number' ? 'status' : (errorOrStatus.reason ?? errorOrStatus.kind)
    this.#attemptFailures.count({ side, reason })
  }

  /** Without entries that are zero. */
  get report() {
    return {
      inFlight: this.inFlight,
      /** By the first digit of the status, and the failure; null: none. */
      requests: this.#requests.flatMap((count, at) => {
        const failure = failureKinds[Math.trunc(at / statusClassCount)] as FailureKind | null
        return count === 0 ? [] : [{ statusClass: at % statusClassCount, failure, count }]
      }),
      /** The auth method of the rejected credential; the side that failed. */
      reasons: this.#reasons.report,
      attemptFailures: this.#attemptFailures.report.toSorted((a, b) => sides.indexOf(a.side) - sides.indexOf(b.side)),
      accepted: [...this.#accepted].map(([method, count]) => ({ method, count })),
      /** Only outcomes that say whether a change was made. */
      outcomes: [...this.#outcomes].map(([outcome, count]) => ({ outcome, count })),
      /** Responses of 500 or above that no upstream sent for their request. */
      storedErrors: this.#storedErrors,
      sides: sides.flatMap((side) =>
        (this.#sides?.[side] ?? []).flatMap((count, statusClass) =>
          count === 0 ? [] : [{ side, statusClass, count }],
        ),
      ),
      fallbacks: this.#fallbacks,
      retries: this.#retries,
      bytesIn: this.#bytesIn,
      bytesOut: this.#bytesOut,
      total: this.#total.report,
      /** Times of failed requests ({@link isErrorOutcome}), and of the others that the gateway rejected. */
      failed: this.#failed.report,
      rejected: this.#rejected.report,
      firstByte: this.#firstByte.report,
      upstream: this.#upstream.report,
    }
  }

  #countSide(side: Side, fellBack: boolean, status: number): void {
    this.#sides ??= { primary: noStatusClasses(), candidate: noStatusClasses() }
    const counts = this.#sides[side]
    const at = toStatusClass(status)
    counts[at] = (counts[at] as number) + 1
    if (fellBack) this.#fallbacks++
  }

  #countReason(failure: FailureKind, reason: FailureReason, exchange: ExchangeFacts | null): void {
    const method = exchange?.attemptedAuth ?? null
    const side = exchange?.side === 'candidate' && !exchange.attempts.fellBack ? 'candidate' : 'primary'
    this.#reasons.count({ failure, reason, method, side })
  }
}

/** True for a failure that is not the client's, whatever its status, and for an upstream's response of 500 or above. */
export const isErrorOutcome = (statusClass: number, failure: FailureKind | null): boolean =>
  failure === null ? statusClass >= 5 : failureTable[failure].fault !== 'client'

const noStatusClasses = (): number[] => new Array<number>(statusClassCount).fill(0)

export const toStatusClass = (status: number): number => Math.min(statusClassCount - 1, Math.trunc(status / 100))

/** IANA's TLS Supported Groups. */
const groupNames: ReadonlyMap<number, string> = new Map([
  [4588, 'X25519MLKEM768'],
  [29, 'x25519'],
  [23, 'secp256r1'],
  [30, 'x448'],
  [24, 'secp384r1'],
  [25, 'secp521r1'],
])

export const keyExchangeGroups: readonly string[] = [...groupNames.values(), 'other']

export const tlsVersions: readonly string[] = ['TLSv1.3', 'TLSv1.2']

export class RequestMetrics {
  readonly operations = byLabel(() => new OperationMetrics())
  readonly #handshakes = new Tally<{ version: string; group: string }>()
  /** By client id of the configuration, then by status class. */
  readonly #clients = new Map<string, number[]>()

  observer(clients: boolean): ExchangeObserver {
    return {
      name: 'metrics',
      record: (record) => {
        const { exchange } = record
        this.operations[exchange?.operation.id ?? 'none'].record(record)
        if (clients && exchange?.identity != null) this.#count(exchange.identity.client, record)
      },
    }
  }

  countHandshake(version: string, groupNumber: number): void {
    this.#handshakes.count({ version, group: groupNames.get(groupNumber) ?? 'other' })
  }

  get report() {
    return {
      operations: byLabel((label) => this.operations[label].report),
      handshakes: this.#handshakes.report,
      clients: [...this.#clients].flatMap(([client, counts]) =>
        counts.flatMap((count, statusClass) => (count === 0 ? [] : [{ client, statusClass, count }])),
      ),
    }
  }

  #count(client: string, { status }: ExchangeRecord): void {
    let counts = this.#clients.get(client)
    if (counts === undefined) {
      counts = noStatusClasses()
      this.#clients.set(client, counts)
    }
    const at = toStatusClass(status)
    counts[at] = (counts[at] as number) + 1
  }
}

/** Counts up to the last byte of the response. Limits nothing. */
export const inFlightGaugeLayer = (gauge: { inFlight: number }): Layer => {
  const release = (): void => {
    gauge.inFlight--
  }
  return (next) => (exchange) => {
    gauge.inFlight++
    exchange.onFinished(release)
    return next(exchange)
  }
}
