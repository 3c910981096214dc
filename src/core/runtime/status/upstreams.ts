import { type ComparisonReport, mergeComparisonReports } from '../../../features/candidate/observe/comparison-report.ts'
import { zeroShadowDrops, zeroShadowOutcomes } from '../../../features/candidate/observe/shadow-counts.ts'
import { shiftShape, shiftStatus } from '../../../features/candidate/status/shift-status.ts'
import { byGroup, type Group, groups } from '../../../operations.ts'
import type { UpstreamConfig } from '../../config/config.ts'
import { type AttemptReport, lastFailurePhrase } from '../../exchange/failures/errors.ts'
import { epochMs } from '../../lib/clock.ts'
import { asMap, asNullable, asNumber, asObject, asText, asWord } from '../../lib/text/decode.ts'
import { formatOptionalTime, formatTime } from '../../lib/text/format-time.ts'
import { sum } from '../../log/sum-reports.ts'
import type { BreakerState, CircuitBreaker } from '../../upstream/health/circuit-breaker.ts'
import type { Upstream } from '../../upstream/upstream.ts'
import type { Snapshot } from '../snapshot/snapshot.ts'
import { collectEndpoint, type EndpointReport, earliest, endpointField, latestFailure } from './endpoint.ts'
import * as field from './field.ts'
import { type Field, mapCountersOf, type Reported, type Shown } from './field.ts'

const breaker = field.record({
  state: field.word<BreakerState>(),
  since: field.time,
  where: field.optionalText,
  /**
   * When the outage that opened it began; it lasts until the breaker closes. Null: it is closed. Where that of one
   * worker is closed, requests go through.
   */
  outageSince: field.shownAs(asNullable(asText), formatOptionalTime, (_: number | null, workers) =>
    workers.includes(null) ? null : earliest(workers),
  ),
  /** The last failure of the upstream. Null: it is closed. */
  lastFailure: field.hidden<AttemptReport | null>((_, workers) => latestFailure(workers)),
  reason: field.derived(asNullable(asText), ({ lastFailure: last }: { readonly lastFailure: AttemptReport | null }) =>
    last === null ? null : lastFailurePhrase(last, last.endpoint),
  ),
  /** For how long it stays open; of several workers, until the first one tries again. Null: it is not open. */
  openForMs: field.hidden<number | null>((_, workers) => earliest(workers)),
  /** When requests test the upstream again. */
  nextTry: field.derived(asNullable(asText), ({ openForMs }: { readonly openForMs: number | null }) =>
    openForMs === null ? null : formatTime(epochMs() + openForMs),
  ),
})

const breakerStatesWorstFirst: readonly BreakerState[] = ['open', 'half-open', 'closed']

/** The endpoints of a side, and what holds for all of them. */
const side = {
  inFlight: field.derived(asNumber, ({ endpoints }: { readonly endpoints: readonly EndpointReport[] }) =>
    sum(endpoints.map((each) => each.inFlight)),
  ),
  balance: field.same(asNullable(asWord<UpstreamConfig['balance']>())),
  breaker: field.nullable(
    field.worst(
      breaker,
      ({ state }, workers) =>
        state === breakerStatesWorstFirst.find((each) => workers.some((worker) => worker.state === each)),
    ),
  ),
  endpoints: field.listOf('url', endpointField),
}

/** What became of copies. */
const shadow = field.record({
  sent: field.count,
  /** Copies that have an answer of which the primary's is known too. */
  pairs: field.count,
  underWay: field.total,
  /** Requests that the primary was sent twice, so that its noise is learnt. */
  repeated: field.count,
  outcomes: field.record(field.counts(zeroShadowOutcomes)),
  dropped: field.record(field.counts(zeroShadowDrops)),
})

export const shadowShape = shadow.decode

/** The members that say how many answers of a candidate were compared with those of its primary. */
export const comparedMembers = {
  compared: asNumber,
  equal: asNumber,
  /** Those of the last five minutes. */
  recent: asObject({ compared: asNumber, equal: asNumber }),
}

const comparedShape = asObject({
  ...comparedMembers,
  /** Since when they are compared. Null: the gateway is of a version that does not say. */
  since: asNullable(asText),
})

/** Sums what was compared of all operations. */
export const sumComparison = (totals: ComparisonReport['totals']) => ({
  compared: sum(totals.map(({ compared }) => compared)),
  equal: sum(totals.map(({ equal }) => equal)),
  recent: {
    compared: sum(totals.map(({ recent }) => recent.compared)),
    equal: sum(totals.map(({ recent }) => recent.equal)),
  },
})

const candidate = field.record({
  ...side,
  /** Null: the file asks for no copies. */
  shadow: field.nullable(shadow),
  /** Null: answers are not compared. What they differ in is in /shadow. */
  comparison: field.nullable(
    field.shownAs(
      comparedShape,
      ({ totals, since }: ComparisonReport) => ({ ...sumComparison(totals), since: formatTime(since) }),
      (from, workers) => mergeComparisonReports(from.digest, [from, ...workers]),
    ),
  ),
  /** Null: a reload is just under way. */
  shift: field.derived(asNullable(shiftShape), (_, { overrides, group }) => {
    const shift = group === undefined ? null : (overrides.shifts?.get(group) ?? null)
    return shift && shiftStatus(shift)
  }),
})

const knownCandidate = field.nullable(candidate)

const upstream = field.record({
  ...side,
  retryBudget: field.nullable(field.record({ left: field.total })),
  /** Null: the group has none, or a reload is under way, and some workers do not know of it. */
  candidate: {
    ...knownCandidate,
    merge: (from, workers) => (from === null || workers.includes(null) ? null : knownCandidate.merge(from, workers)),
  } satisfies typeof knownCandidate,
})

/** The upstream of a group and its candidate, as a process knows them. */
export type UpstreamReport = Reported<typeof upstream>

/** The candidate of a group, as a process knows it. */
export type CandidateReport = Reported<typeof candidate>

/** One of the two upstreams that a group may have, as a process knows it. */
export type SideReport = Pick<UpstreamReport, 'balance' | 'breaker' | 'endpoints'>

/** The upstream of a group, as /status shows it. */
export type UpstreamStatus = Shown<typeof upstream>

type Upstreams = Readonly<Record<Group, UpstreamReport>>

export const upstreamsField: Field<Upstreams, Readonly<Record<string, UpstreamStatus>>> = {
  merge: (from, workers) =>
    byGroup((group) =>
      upstream.merge(
        from[group],
        workers.map((worker) => worker[group]),
      ),
    ),
  show: (all, context) => byGroup((group) => upstream.show(all[group], { ...context, group })),
  decode: asMap(upstream.decode),
  mapCounters: (all, name, change) =>
    byGroup((group) => mapCountersOf(upstream, all[group], `${name}.${group}`, change)),
}

/**
 * Tells whether a counter is of an endpoint: edits may add ever more of them, and close them. All other names are fixed
 * from the start.
 */
export const isEndpointCounter = (name: string): boolean =>
  name.startsWith('upstreams.') && name.includes('.endpoints.')

export const collectUpstreams = ({
  config,
  upstreams,
  candidates,
  comparisons,
  retryBudgets,
  telemetry,
}: Snapshot): Upstreams =>
  byGroup((group) => {
    const retryBudget = retryBudgets[group]
    const candidate = candidates[group]
    return {
      ...collectSide(upstreams[group]),
      retryBudget: retryBudget && { left: retryBudget.left },
      candidate: candidate && {
        ...collectSide(candidate),
        shadow: config.upstreams[group].candidate?.shadow ? telemetry.shadows[group].report : null,
        comparison: comparisons[group]?.report ?? null,
      },
    }
  })

const collectSide = ({ members, balance, breaker }: Upstream): SideReport => ({
  balance,
  breaker: breaker && collectBreaker(breaker),
  endpoints: members.map(collectEndpoint),
})

const collectBreaker = ({
  state,
  since,
  outageSince,
  lastFailure,
  openForMs,
}: CircuitBreaker): Reported<typeof breaker> => ({
  state,
  since,
  where: null,
  outageSince,
  lastFailure: state === 'closed' ? null : (lastFailure?.report ?? null),
  openForMs,
})

/** Counts the requests on their way to upstreams. */
export const countInFlight = (upstreams: Upstreams): number =>
  sum(
    groups
      .flatMap((group) => [...upstreams[group].endpoints, ...(upstreams[group].candidate?.endpoints ?? [])])
      .map(({ inFlight }) => inFlight),
  )
