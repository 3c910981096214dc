import { type AttemptReport, toAttemptReport } from '../../exchange/failures/errors.ts'
import { toExpiry } from '../../lib/certificate-expiry.ts'
import { epochMs, now, toEpochMs } from '../../lib/clock.ts'
import { asBoolean, asNullable, asNumber, asObject, asText, asWord } from '../../lib/text/decode.ts'
import { formatOptionalTime, formatTime } from '../../lib/text/format-time.ts'
import { roundToTenths } from '../../lib/text/units.ts'
import { pluck, sum, sumReports } from '../../log/sum-reports.ts'
import { type EndpointCertificate, firstToExpire } from '../../upstream/endpoints/endpoint-certificates.ts'
import { type GroupEndpoint, type GroupEndpointState, toFailingState } from '../../upstream/endpoints/group-endpoint.ts'
import {
  type EndpointOutage,
  emptyEndpointCounts,
  failingThreshold,
  type ProbeResult,
} from '../../upstream/health/endpoint-health.ts'
import { overrideMembers, overrideStatus, toEndpointKey } from '../overrides.ts'
import * as field from './field.ts'
import { type Field, type Reported, type Shown, type StatusContext, workerShareText } from './field.ts'

const certificateShape = asObject({
  notAfter: asText,
  daysLeft: asNumber,
  endsSoon: asBoolean,
  seenAt: asText,
})

const probeShape = asObject({
  at: asText,
  latencyMs: asNumber,
  status: asNullable(asNumber),
  reason: asNullable(asText),
  ok: asBoolean,
})

const members = field.record({
  url: field.text,
  weight: field.number,
  sandbox: field.derived(asBoolean, ({ url }: { readonly url: string }) => url === 'sandbox'),
  inFlight: field.total,
  pending: field.orMissing(field.total),
  state: field.shownAs(asWord<GroupEndpointState['name']>(), ({ name }: GroupEndpointState) => name),
  since: field.derived(asNullable(asText), ({ state }: WithState) => formatOptionalTime(state.since)),
  reason: field.derived(asNullable(asText), ({ state }: WithState) => state.reason),
  lastProbe: field.shownAs(
    asNullable(probeShape),
    (probe: ProbeResult | null) => probe && { ...probe, at: formatTime(probe.at), ok: probe.reason === null },
  ),
  ...field.counts(emptyEndpointCounts),
  countedSince: field.orMissing(field.time),
  lastFailure: field.hidden<AttemptReport | null>((_, workers) => latestFailure(workers)),
  succeededAt: field.hidden<number | null>(),
  lastSuccess: field.derived(asNullable(asText), ({ succeededAt }: Pick<OutageWindow, 'succeededAt'>) =>
    formatOptionalTime(succeededAt),
  ),
  failingSince: field.optionalTime,
  failuresInARow: field.hidden<number>(),
  /** In at least one worker, no request has succeeded since the last ejection. */
  onProbation: field.hidden<boolean>((_, workers) => workers.includes(true)),
  outdated: field.hidden<EndpointOutage | null>(
    (_, workers) => workers.filter((one) => one !== null).toSorted((a, b) => a.since - b.since)[0] ?? null,
  ),
  /** The last certificate at each address. Empty: no connection yet, or no TLS. */
  certificates: field.hidden<readonly EndpointCertificate[]>((from, workers) =>
    latestPerAddress([from, ...workers].flat()),
  ),
  ejectedForMs: field.hidden<number | null>((_, workers) => extreme(Math.max, workers)),
  ejectedForSeconds: field.derived(
    asNullable(asNumber),
    ({ ejectedForMs: ms }: { readonly ejectedForMs: number | null }) => (ms === null ? null : roundToTenths(ms / 1000)),
  ),
  latencyMs: field.shownAs(asNullable(asNumber), (ms: number | null) => ms && roundToTenths(ms)),
  certificate: field.derived(
    asNullable(certificateShape),
    ({ certificates: seen }: { readonly certificates: readonly EndpointCertificate[] }) => {
      const first = firstToExpire(seen)
      return (
        first && {
          ...toExpiry(first.notAfter),
          endsSoon: epochMs() >= first.warnFrom,
          seenAt: formatTime(first.seenAt),
        }
      )
    },
  ),
  /** Counted only in groups with several endpoints. */
  recentResponses: field.hidden<{ readonly requests: number; readonly clientErrors: number }>(sumReports),
  ...field.derivedAll(
    { drainUntil: asNullable(asText), readyUntil: asNullable(asText), ...overrideMembers },
    ({ url }: { readonly url: string }, { overrides, group }: StatusContext) => {
      const override = group === undefined ? null : overrides.endpoints.get(toEndpointKey(group, url))
      const until = formatOptionalTime(override?.until)
      return {
        drainUntil: override?.state === 'drain' ? until : null,
        readyUntil: override?.state === 'ready' ? until : null,
        ...overrideStatus(override),
      }
    },
  ),
})

interface WithState {
  readonly state: GroupEndpointState
}

export type EndpointReport = Reported<typeof members>

export type EndpointStatus = Shown<typeof members>

export const endpointField: Field<EndpointReport, EndpointStatus> = {
  ...members,
  merge(from, workers) {
    const outcomes = mergeRequestOutcomes(workers)
    const merged = { ...members.merge(from, workers), ...outcomes, latencyMs: weightedLatency(workers) }
    return { ...merged, state: mergeState(from, workers, merged) }
  },
}

export const collectEndpoint = ({
  endpoint: { name, inFlight, pool, health },
  weight,
  state,
}: GroupEndpoint): EndpointReport => {
  const at = now()
  const { counts, ejection, lastProbe, outdated, succeededAt, failingSince, failuresInARow, onProbation } = health
  return {
    url: name,
    weight,
    inFlight,
    pending: pool.pendingCount,
    state,
    lastProbe,
    ...counts,
    countedSince: toEpochMs(health.countedSince),
    lastFailure: health.lastFailure && toAttemptReport(name, health.lastFailure),
    succeededAt,
    failingSince,
    failuresInARow,
    onProbation,
    outdated,
    certificates: health.certificates.list,
    ejectedForMs: ejection !== null && health.isEjected(at) ? ejection.until - at : null,
    latencyMs: health.latency.isKnown ? health.latency.at(at) : null,
    recentResponses: { requests: health.responses.requests(at), clientErrors: health.responses.failures(at) },
  }
}

export const latestFailure = (failures: readonly (AttemptReport | null)[]): AttemptReport | null =>
  failures.filter((one) => one !== null).toSorted((a, b) => b.at - a.at)[0] ?? null

interface OutageWindow {
  readonly succeededAt: number | null
  readonly failingSince: number | null
}

/** Merges several endpoints or workers: a success of one ends the failures before it of all. */
export const mergeOutageWindows = (windows: readonly OutageWindow[]): OutageWindow => {
  const succeededAt = extreme(Math.max, pluck(windows, 'succeededAt'))
  const failing = pluck(windows, 'failingSince').filter((at) => at >= (succeededAt ?? 0))
  return { succeededAt, failingSince: earliest(failing) }
}

export const earliest = (times: readonly (number | null)[]): number | null => extreme(Math.min, times)

const extreme = (pick: (...known: readonly number[]) => number, all: readonly (number | null)[]): number | null => {
  const known = all.filter((one) => one !== null)
  return known.length === 0 ? null : pick(...known)
}

const mergeRequestOutcomes = (workers: readonly EndpointReport[]) => {
  const { succeededAt, failingSince } = mergeOutageWindows(workers)
  const failing = workers.filter((worker) => (worker.lastFailure?.at ?? 0) >= (succeededAt ?? 0))
  const failuresInARow = failingSince === null ? 0 : sum(pluck(failing, 'failuresInARow'))
  return { succeededAt, failingSince, failuresInARow }
}

/** A process that has not connected since does not know of a renewal. */
const latestPerAddress = (seen: readonly EndpointCertificate[]): readonly EndpointCertificate[] => [
  ...new Map(seen.toSorted((a, b) => a.seenAt - b.seenAt).map((each) => [each.address, each])).values(),
]

/** The worst state of any worker, so that an operator does not count on the endpoint. */
const mergeState = (
  { state }: EndpointReport,
  workers: readonly EndpointReport[],
  { lastFailure, ...outcomes }: EndpointReport,
): GroupEndpointState => {
  if (state.name === 'down' || state.name === 'draining') return state
  for (const name of ['down', 'ejected'] as const) {
    const out = workers.map((worker) => worker.state).filter((each) => each.name === name)
    const [first] = out.sort(byStartThenReason)
    if (first === undefined) continue
    const where = workerShareText(out.length, workers.length)
    return where === null ? first : { ...first, reason: `${first.reason} (${where})` }
  }
  const isFailing = outcomes.failuresInARow >= failingThreshold && lastFailure !== null
  return isFailing ? toFailingState(outcomes, lastFailure) : { name: 'up', since: null, reason: null }
}

/** A tie-break independent of the order of the workers. */
const byStartThenReason = (a: GroupEndpointState, b: GroupEndpointState): number =>
  (a.since ?? 0) - (b.since ?? 0) || ((a.reason ?? '') < (b.reason ?? '') ? -1 : 1)

const weightedLatency = (workers: readonly EndpointReport[]): number | null => {
  const known = workers.flatMap(({ latencyMs, requests }) => (latencyMs === null ? [] : [{ latencyMs, requests }]))
  const requests = sum(pluck(known, 'requests'))
  return requests === 0 ? null : sum(known.map((worker) => worker.latencyMs * worker.requests)) / requests
}
