import { byOperation, type OperationId } from '../../operations.ts'
import { now, unrefTimeout } from '../lib/clock.ts'
import { asNullable, asNumber, asObject, type Decoded } from '../lib/text/decode.ts'
import { type HistogramReport, histogramDelta, quantile } from '../log/metrics/histogram.ts'
import {
  isErrorOutcome,
  type OperationLabel,
  type OperationMetricsReport,
  type RequestMetricsReport,
} from '../log/metrics/request-metrics.ts'
import { pluck, sum } from '../log/sum-reports.ts'

/** Null: there was no request. */
const quantilesShape = asObject({ p50Ms: asNullable(asNumber), p99Ms: asNullable(asNumber) })

type Quantiles = Decoded<typeof quantilesShape>

export const rateMembers = {
  perSecond: asNumber,
  /** Failures of the gateway or an upstream, and the upstream's own 5xx responses. */
  errorsPerSecond: asNumber,
  /** Rejected for the client's fault. */
  refusedPerSecond: asNumber,
  /** Null: there was no request. */
  p50Ms: asNullable(asNumber),
  p99Ms: asNullable(asNumber),
  /** Null: an earlier version. */
  outcomes: asNullable(asObject({ served: quantilesShape, failed: quantilesShape, refused: quantilesShape })),
}

export type OperationRates = { readonly [Name in keyof typeof rateMembers]: Decoded<(typeof rateMembers)[Name]> }

export interface RecentTraffic {
  readonly requests: number
  /** The upstream's own 5xx responses, relayed. */
  readonly passedOn: number
  /** 5xx responses that were stored. */
  readonly storedErrors: number
}

interface Sample {
  /** On the monotonic clock. */
  readonly at: number
  readonly operations: Readonly<Record<OperationLabel, Totals>>
}

interface Totals {
  readonly requests: number
  readonly errors: number
  readonly passedOn: number
  readonly storedErrors: number
  readonly refused: number
  readonly total: HistogramReport
  readonly failed: HistogramReport
  readonly refusedTimes: HistogramReport
}

/** The length and number of the charts' steps: 15 minutes. */
export const stepSeconds = 5
const maxSteps = 180
// Rates reach back one minute.
const maxSamples = 14

export class RateHistory {
  readonly #count: () => Promise<RequestMetricsReport | null>
  #samples: readonly Sample[] = []
  /** The oldest first. */
  #steps: readonly Readonly<Record<OperationId, OperationRates>>[] = []
  #stop: () => void = () => {}
  #isOpen = true

  /** Null: metrics are off. */
  constructor(count: () => Promise<RequestMetricsReport | null>) {
    this.#count = count
  }

  /** `dueAt` is on the monotonic clock: delays must not add up, since the charts count steps. */
  async start(dueAt: number = now()): Promise<void> {
    const counted = await this.#count().catch(() => null)
    if (!this.#isOpen) return
    if (counted !== null) this.#add(counted)
    else {
      this.#samples = []
      this.#steps = []
    }
    const nextAt = Math.max(dueAt + stepSeconds * 1000, now())
    this.#stop = unrefTimeout(nextAt - now(), () => void this.start(nextAt))
  }

  close(): void {
    this.#isOpen = false
    this.#stop()
  }

  /** Rates over 10 s, latencies over a minute. Null: unknown so far. */
  rates(id: OperationLabel, counted: RequestMetricsReport): OperationRates | null {
    const at = now()
    const recent = this.#sampleBefore(at - 10_000)
    const minute = this.#sampleBefore(at - 60_000)
    if (recent === undefined || minute === undefined) return null
    const present = toTotals(counted.operations[id])
    const { p50Ms, p99Ms, outcomes } = ratesBetween(minute.operations[id], present, at - minute.at)
    return { ...ratesBetween(recent.operations[id], present, at - recent.at), p50Ms, p99Ms, outcomes }
  }

  /** In the last minute, or since the first sample. */
  recent(id: OperationId, counted: RequestMetricsReport): RecentTraffic {
    const from = this.#sampleBefore(now() - 60_000)?.operations[id]
    if (from === undefined) return { requests: 0, passedOn: 0, storedErrors: 0 }
    const to = toTotals(counted.operations[id])
    return {
      requests: Math.max(0, to.requests - from.requests),
      passedOn: Math.max(0, to.passedOn - from.passedOn),
      storedErrors: Math.max(0, to.storedErrors - from.storedErrors),
    }
  }

  steps(id: OperationId): readonly OperationRates[] {
    return this.#steps.map((step) => step[id])
  }

  #add({ operations }: RequestMetricsReport): void {
    const at = now()
    const totals = { ...byOperation(({ id }) => toTotals(operations[id])), none: toTotals(operations.none) }
    const last = this.#samples.at(-1)
    if (last !== undefined) {
      const step = byOperation(({ id }) => ratesBetween(last.operations[id], totals[id], at - last.at))
      this.#steps = [...this.#steps, step].slice(-maxSteps)
    }
    this.#samples = [...this.#samples, { at, operations: totals }].slice(-maxSamples)
  }

  /** Finds the last sample at or before `at`, else the oldest. */
  #sampleBefore(at: number): Sample | undefined {
    return this.#samples.findLast((sample) => sample.at <= at) ?? this.#samples[0]
  }
}

const toTotals = ({ requests, storedErrors, total, failed, refused }: OperationMetricsReport): Totals => {
  const count = (matches: (each: OperationMetricsReport['requests'][number]) => boolean): number =>
    sum(pluck(requests.filter(matches), 'count'))
  return {
    requests: count(() => true),
    errors: count(isError),
    passedOn: count(({ statusClass, failure }) => statusClass >= 5 && failure === null) - storedErrors,
    storedErrors,
    refused: count((each) => each.failure !== null && !isError(each)),
    total,
    failed,
    refusedTimes: refused,
  }
}

const isError = ({ statusClass, failure }: OperationMetricsReport['requests'][number]): boolean =>
  isErrorOutcome(statusClass, failure)

const ratesBetween = (from: Totals, to: Totals, ms: number): OperationRates => {
  const seconds = Math.max(0.001, ms / 1000)
  const rate = (read: (totals: Totals) => number): number => Math.max(0, read(to) - read(from)) / seconds
  const spent = histogramDelta(to.total, from.total)
  const failed = histogramDelta(to.failed, from.failed)
  const refused = histogramDelta(to.refusedTimes, from.refusedTimes)
  const served = histogramDelta(histogramDelta(spent, failed), refused)
  return {
    perSecond: rate(({ requests }) => requests),
    errorsPerSecond: rate(({ errors }) => errors),
    refusedPerSecond: rate(({ refused }) => refused),
    ...toQuantiles(spent),
    outcomes: { served: toQuantiles(served), failed: toQuantiles(failed), refused: toQuantiles(refused) },
  }
}

const toQuantiles = (spent: HistogramReport): Quantiles => ({
  p50Ms: quantile(spent, 0.5),
  p99Ms: quantile(spent, 0.99),
})
