import type { RecentTraffic } from '../../core/admin/findings/finding-inputs.ts'
import { reportedSides } from '../../core/exchange/sides.ts'
import { now, unrefTimeout } from '../../core/lib/clock.ts'
import { asNullable, asNumber, asObject, asText, asWord, type Decoded } from '../../core/lib/text/decode.ts'
import { type HistogramReport, histogramDelta, quantile } from '../../core/log/metrics/histogram.ts'
import {
  isErrorOutcome,
  type OperationLabel,
  type OperationMetricsReport,
  type RequestMetricsReport,
} from '../../core/log/metrics/request-metrics.ts'
import { pluck, sum } from '../../core/log/sum-reports.ts'
import type { EndpointReport } from '../../core/runtime/status/endpoint.ts'
import type { SideReport } from '../../core/runtime/status/side.ts'
import type { StatusReport } from '../../core/runtime/status/status-part.ts'
import { byOperation, type Group, groups, type OperationId, type Side } from '../../operations.ts'

const quantileMembers = { p50Ms: asNullable(asNumber), p99Ms: asNullable(asNumber) }

const quantilesShape = asObject(quantileMembers)

export const rateMembers = {
  perSecond: asNumber,
  /** Failures of the gateway or an upstream, and the upstream's own 5xx responses. */
  errorsPerSecond: asNumber,
  /** For the client's fault. */
  rejectedPerSecond: asNumber,
  ...quantileMembers,
  /** Null: an earlier version. */
  outcomes: asNullable(asObject({ served: quantilesShape, failed: quantilesShape, rejected: quantilesShape })),
}

export type OperationRates = { readonly [Name in keyof typeof rateMembers]: Decoded<(typeof rateMembers)[Name]> }

interface Sample {
  readonly at: number
  readonly operations: Readonly<Record<OperationLabel, Totals>>
}

type Totals = ReturnType<typeof toTotals>

/** The charts show 15 minutes. */
export const stepSeconds = 5
const maxSteps = 180
// Rates reach back one minute.
const maxSamples = 14

export type RateHistory = ReturnType<typeof createRateHistory>

/** `count` null: metrics are off. */
export const createRateHistory = (count: () => Promise<RequestMetricsReport | null>) => {
  let samples: readonly Sample[] = []
  let steps: readonly Readonly<Record<OperationId, OperationRates>>[] = []
  let stop = (): void => {}
  let isOpen = true

  const add = ({ operations }: RequestMetricsReport): void => {
    const at = now()
    const totals = { ...byOperation(({ id }) => toTotals(operations[id])), none: toTotals(operations.none) }
    const last = samples.at(-1)
    if (last !== undefined) {
      const step = byOperation(({ id }) => ratesBetween(last.operations[id], totals[id], at - last.at))
      steps = [...steps, step].slice(-maxSteps)
    }
    samples = [...samples, { at, operations: totals }].slice(-maxSamples)
  }

  /** `dueAt` is on the monotonic clock: delays must not add up, since the charts count steps. */
  const start = async (dueAt: number = now()): Promise<void> => {
    const counted = await count().catch(() => null)
    if (!isOpen) return
    if (counted !== null) add(counted)
    else {
      samples = []
      steps = []
    }
    const nextAt = Math.max(dueAt + stepSeconds * 1000, now())
    stop = unrefTimeout(nextAt - now(), () => void start(nextAt))
  }

  return {
    start,
    close(): void {
      isOpen = false
      stop()
    },
    /** Rates over 10 s, latencies over a minute. Null: not known yet. */
    rates(id: OperationLabel, counted: RequestMetricsReport): OperationRates | null {
      const at = now()
      const recent = sampleBefore(samples, at - 10_000)
      const minute = sampleBefore(samples, at - 60_000)
      if (recent === undefined || minute === undefined) return null
      const present = toTotals(counted.operations[id])
      const { p50Ms, p99Ms, outcomes } = ratesBetween(minute.operations[id], present, at - minute.at)
      return { ...ratesBetween(recent.operations[id], present, at - recent.at), p50Ms, p99Ms, outcomes }
    },
    recent(id: OperationId, counted: RequestMetricsReport): RecentTraffic {
      const to = toTotals(counted.operations[id])
      const from = sampleBefore(samples, now() - 60_000)?.operations[id] ?? to
      const since = (name: keyof RecentTraffic): number => Math.max(0, to[name] - from[name])
      return { requests: since('requests'), passedOn: since('passedOn'), storedErrors: since('storedErrors') }
    },
    steps: (id: OperationId): readonly OperationRates[] => steps.map((step) => step[id]),
  }
}

const sampleBefore = <T extends { readonly at: number }>(samples: readonly T[], at: number): T | undefined =>
  samples.findLast((sample) => sample.at <= at) ?? samples[0]

const toTotals = ({ requests, storedErrors, total, failed, rejected }: OperationMetricsReport) => {
  const count = (matches: (each: OperationMetricsReport['requests'][number]) => boolean): number =>
    sum(pluck(requests.filter(matches), 'count'))
  return {
    requests: count(() => true),
    errors: count(isError),
    passedOn: count(({ statusClass, failure }) => statusClass >= 5 && failure === null) - storedErrors,
    storedErrors,
    rejected: count((each) => each.failure !== null && !isError(each)),
    total,
    failed,
    rejectedTimes: rejected,
  }
}

const isError = ({ statusClass, failure }: OperationMetricsReport['requests'][number]): boolean =>
  isErrorOutcome(statusClass, failure)

const ratesBetween = (from: Totals, to: Totals, ms: number): OperationRates => {
  const seconds = Math.max(0.001, ms / 1000)
  const rate = (read: (totals: Totals) => number): number => Math.max(0, read(to) - read(from)) / seconds
  const spent = histogramDelta(to.total, from.total)
  const failed = histogramDelta(to.failed, from.failed)
  const rejected = histogramDelta(to.rejectedTimes, from.rejectedTimes)
  const served = histogramDelta(histogramDelta(spent, failed), rejected)
  return {
    perSecond: rate(({ requests }) => requests),
    errorsPerSecond: rate(({ errors }) => errors),
    rejectedPerSecond: rate(({ rejected }) => rejected),
    ...toQuantiles(spent),
    outcomes: { served: toQuantiles(served), failed: toQuantiles(failed), rejected: toQuantiles(rejected) },
  }
}

const toQuantiles = (spent: HistogramReport) => ({ p50Ms: quantile(spent, 0.5), p99Ms: quantile(spent, 0.99) })

export const endpointRateShape = asObject({
  group: asWord<Group>(),
  side: asWord<Side>(),
  url: asText,
  perSecond: asNumber,
  errorsPerSecond: asNumber,
  /** Of its side's requests, from 0 to 1. Null: there were none. */
  share: asNullable(asNumber),
})

export type EndpointRate = Decoded<typeof endpointRateShape>

type Upstreams = StatusReport['upstreams']

type EndpointCounts = ReadonlyMap<string, Pick<EndpointReport, 'requests' | 'failures'>>

const windowMs = 10_000
// With one sample every 5 s, the oldest is at least 10 s old.
const keptSamples = 4

export type EndpointRates = ReturnType<typeof createEndpointRates>

export const createEndpointRates = () => {
  let samples: readonly { readonly at: number; readonly counts: EndpointCounts }[] = []
  return {
    sample(upstreams: Upstreams): void {
      const counts = new Map(listEndpoints(upstreams).map(({ key, counts }) => [key, counts] as const))
      samples = [...samples, { at: now(), counts }].slice(-keptSamples)
    },
    /** For endpoints known 10 s ago, or at the first sample. */
    rates(upstreams: Upstreams): readonly EndpointRate[] {
      const at = now()
      const from = sampleBefore(samples, at - windowMs)
      if (from === undefined) return []
      const seconds = Math.max(0.001, (at - from.at) / 1000)
      const rates = listEndpoints(upstreams).flatMap(({ key, group, side, url, counts }) => {
        const before = from.counts.get(key)
        if (before === undefined) return []
        // An endpoint that was closed and opened again counts from 0.
        const rate = (name: 'requests' | 'failures') => Math.max(0, counts[name] - before[name]) / seconds
        return [{ group, side, url, perSecond: rate('requests'), errorsPerSecond: rate('failures') }]
      })
      const totals = Map.groupBy(rates, ({ group, side }) => `${group} ${side}`)
      return rates.map((each) => {
        const all = sum(pluck(totals.get(`${each.group} ${each.side}`) ?? [], 'perSecond'))
        return { ...each, share: all === 0 ? null : each.perSecond / all }
      })
    },
  }
}

const listEndpoints = (upstreams: Upstreams) =>
  groups.flatMap((group) =>
    reportedSides<SideReport>(upstreams[group]).flatMap(({ side, report }) =>
      report.endpoints.map(({ url, requests, failures }) => ({
        key: `${group} ${side} ${url}`,
        group,
        side,
        url,
        counts: { requests, failures },
      })),
    ),
  )
