import { type AttemptReport, toAttemptReport } from '../../exchange/failures/errors.ts'
import { epochMs, now, toEpochMs } from '../../lib/clock.ts'
import { asBoolean, asNullable, asNumber, asObject, asText, asWord } from '../../lib/text/decode.ts'
import { formatOptionalTime, formatTime, toExpiry } from '../../lib/text/format-time.ts'
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
import { toEndpointKey } from '../overrides.ts'
import * as field from './field.ts'
import { type Field, type Reported, type Shown, type StatusContext, workerShareText } from './field.ts'
import { orderMembers, orderStatus } from './order-status.ts'

/** The certificate that an endpoint has presented; of several addresses, the first to expire. */
const certificateShape = asObject({
  notAfter: asText,
  /** Below 0: it has expired. */
  daysLeft: asNumber,
  endsSoon: asBoolean,
  seenAt: asText,
})

const probeShape = asObject({
  at: asText,
  latencyMs: asNumber,
  /** Null: it failed, and the reason says how. */
  status: asNullable(asNumber),
  reason: asNullable(asText),
  ok: asBoolean,
})

const members = field.record({
  url: field.text,
  weight: field.number,
  sandbox: field.derived(asBoolean, ({ url }: { readonly url: string }) => url === 'sandbox'),
  inFlight: field.total,
  /** Those of them that wait for a connection. */
  pending: field.orMissing(field.total),
  state: field.shownAs(asWord<GroupEndpointState['name']>(), ({ name }: GroupEndpointState) => name),
  since: field.derived(asNullable(asText), ({ state }: WithState) => formatOptionalTime(state.since)),
  reason: field.derived(asNullable(asText), ({ state }: WithState) => state.reason),
  lastProbe: field.shownAs(
    asNullable(probeShape),
    (probe: ProbeResult | null) => probe && { ...probe, at: formatTime(probe.at), ok: probe.reason === null },
  ),
  ...field.counts(emptyEndpointCounts),
  /** Since when they count. Those of a worker that has ended stay. */
  countedSince: field.orMissing(field.time),
  /** Null: none has failed. */
  lastFailure: field.hidden<AttemptReport | null>((_, workers) => latestFailure(workers)),
  /** When a request last succeeded. Null: none has. */
  succeededAt: field.hidden<number | null>(),
  lastSuccess: field.derived(asNullable(asText), ({ succeededAt }: Pick<OutageWindow, 'succeededAt'>) =>
    formatOptionalTime(succeededAt),
  ),
  /** When the first request failed since then. Null: none has. */
  failingSince: field.optionalTime,
  /** How many have failed since then. */
  failuresInARow: field.hidden<number>(),
  /** Whether no request has succeeded since its last ejection; of several workers, in one of them. */
  onProbation: field.hidden<boolean>((_, workers) => workers.includes(true)),
  /** Since when, and why, its name does not resolve any more. Null: it does, or it is an address, or it never did. */
  outdated: field.hidden<EndpointOutage | null>(
    (_, workers) => workers.filter((one) => one !== null).toSorted((a, b) => a.since - b.since)[0] ?? null,
  ),
  /** The last certificate at each of its addresses. Empty: none was seen yet, or the endpoint has no TLS. */
  certificates: field.hidden<readonly EndpointCertificate[]>((from, workers) =>
    latestPerAddress([from, ...workers].flat()),
  ),
  /** What is left of an ejection. Null: it is not ejected. */
  ejectedForMs: field.hidden<number | null>((_, workers) => extreme(Math.max, workers)),
  ejectedForSeconds: field.derived(
    asNullable(asNumber),
    ({ ejectedForMs: ms }: { readonly ejectedForMs: number | null }) => (ms === null ? null : roundToTenths(ms / 1000)),
  ),
  /** Null: nothing is known until there was a request. */
  latencyMs: field.shownAs(asNullable(asNumber), (ms: number | null) => ms && roundToTenths(ms)),
  /** Null: it has presented none. */
  certificate: field.derived(asNullable(certificateShape), ({ certificates }: WithCertificates) => {
    const first = firstToExpire(certificates)
    return (
      first && {
        ...toExpiry(first.notAfter),
        endsSoon: epochMs() >= first.warnFrom,
        seenAt: formatTime(first.seenAt),
      }
    )
  }),
  /**
   * Of the last 5 minutes: the requests that tell how the endpoint does, and those with a 4xx response. None where the
   * group has one endpoint.
   */
  recentResponses: field.hidden<{ readonly requests: number; readonly clientErrors: number }>(sumReports),
  /** The end of an operator's override: drained, or ready. */
  ...field.derivedAll(
    { drainUntil: asNullable(asText), readyUntil: asNullable(asText), ...orderMembers },
    ({ url }: { readonly url: string }, { overrides, group }: StatusContext) => {
      const override = group === undefined ? null : overrides.endpoints.get(toEndpointKey(group, url))
      const until = formatOptionalTime(override?.until)
      return {
        drainUntil: override?.state === 'drain' ? until : null,
        readyUntil: override?.state === 'ready' ? until : null,
        ...orderStatus(override),
      }
    },
  ),
})

interface WithState {
  readonly state: GroupEndpointState
}

interface WithCertificates {
  readonly certificates: readonly EndpointCertificate[]
}

/** An endpoint of a group, as a process knows it. */
export type EndpointReport = Reported<typeof members>

/** An endpoint of a group, as /status shows it. */
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

/** The success and failure times of an endpoint or a group. Times are milliseconds since the epoch. */
interface OutageWindow {
  /** When a request last succeeded. Null: none has. */
  readonly succeededAt: number | null
  /** When the first request failed since then. Null: none has. */
  readonly failingSince: number | null
}

/**
 * Merges the windows of several endpoints, or of several workers: nothing has succeeded since the last success of any
 * of them, and a failure before that is no part of the outage.
 */
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

/** Merges how requests went: requests that failed for one worker before another had a success have been made good. */
const mergeRequestOutcomes = (workers: readonly EndpointReport[]) => {
  const { succeededAt, failingSince } = mergeOutageWindows(workers)
  const failing = workers.filter((worker) => (worker.lastFailure?.at ?? 0) >= (succeededAt ?? 0))
  const failuresInARow = failingSince === null ? 0 : sum(pluck(failing, 'failuresInARow'))
  return { succeededAt, failingSince, failuresInARow }
}

/**
 * Finds the last certificate of each address, whichever process saw it: a process that has not connected since does not
 * know of a renewal.
 */
const latestPerAddress = (seen: readonly EndpointCertificate[]): readonly EndpointCertificate[] => [
  ...new Map(seen.toSorted((a, b) => a.seenAt - b.seenAt).map((each) => [each.address, each])).values(),
]

/**
 * Returns the worst state, so that an operator who decides by it does not count on an endpoint that some workers cannot
 * use.
 */
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
  return isFailing ? toFailingState({ ...outcomes, lastFailure }) : { name: 'up', since: null, reason: null }
}

/** Orders by the start, and then by the reason, so that the order of the workers decides nothing. */
const byStartThenReason = (a: GroupEndpointState, b: GroupEndpointState): number =>
  (a.since ?? 0) - (b.since ?? 0) || ((a.reason ?? '') < (b.reason ?? '') ? -1 : 1)

/** Weights the expected latency of each worker by how much it has seen. */
const weightedLatency = (workers: readonly EndpointReport[]): number | null => {
  const known = workers.flatMap(({ latencyMs, requests }) => (latencyMs === null ? [] : [{ latencyMs, requests }]))
  const requests = sum(pluck(known, 'requests'))
  return requests === 0 ? null : sum(known.map((worker) => worker.latencyMs * worker.requests)) / requests
}
