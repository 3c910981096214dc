import type { ComparisonReport } from '../../../features/candidate/observe/comparison-report.ts'
import { zeroShadowDrops, zeroShadowOutcomes } from '../../../features/candidate/observe/shadow-counts.ts'
import { shiftShape, shiftStatus } from '../../../features/candidate/status/shift-status.ts'
import type { Group } from '../../../operations.ts'
import { epochMs } from '../../lib/clock.ts'
import {
  asBoolean,
  asList,
  asNullable,
  asNumber,
  asNumbers,
  asObject,
  asText,
  asWord,
  type Decoded,
} from '../../lib/text/decode.ts'
import { roundToTenths } from '../../lib/text/units.ts'
import { sum } from '../../log/sum-reports.ts'
import { type OverridesView, toEndpointKey } from '../../runtime/overrides.ts'
import type { EndpointReport, SideReport, UpstreamReport } from '../../runtime/report/status-report.ts'
import { type EndpointCertificate, firstToExpire } from '../../upstream/endpoints/endpoint-certificates.ts'
import { emptyEndpointCounts } from '../../upstream/health/endpoint-health.ts'
import { lastFailurePhrase } from '../findings/failure-phrases.ts'
import { formatOptionalTime, formatTime, toExpiry } from '../format-time.ts'
import { orderMembers, orderStatus } from './order-status.ts'

/** The certificate that an endpoint has presented; of several addresses, the first to expire. */
const certificateShape = asObject({
  notAfter: asText,
  /** Below 0: it has expired. */
  daysLeft: asNumber,
  endsSoon: asBoolean,
  seenAt: asText,
})

const endpointShape = asObject({
  url: asText,
  weight: asNumber,
  sandbox: asBoolean,
  inFlight: asNumber,
  /** Those of them that wait for a connection. Null: the gateway is of a version that does not say. */
  pending: asNullable(asNumber),
  state: asWord<EndpointReport['state']['name']>(),
  since: asNullable(asText),
  reason: asNullable(asText),
  lastProbe: asNullable(
    asObject({
      at: asText,
      latencyMs: asNumber,
      /** Null: it failed, and the reason says how. */
      status: asNullable(asNumber),
      reason: asNullable(asText),
      ok: asBoolean,
    }),
  ),
  ...asNumbers(emptyEndpointCounts),
  /** Since when they count. Null: the gateway is of a version that does not say. */
  countedSince: asNullable(asText),
  lastSuccess: asNullable(asText),
  failingSince: asNullable(asText),
  ejectedForSeconds: asNullable(asNumber),
  latencyMs: asNullable(asNumber),
  certificate: asNullable(certificateShape),
  /** The end of an operator's override: drained, or ready. */
  drainUntil: asNullable(asText),
  readyUntil: asNullable(asText),
  ...orderMembers,
})

const breakerShape = asObject({
  state: asWord<NonNullable<SideReport['breaker']>['state']>(),
  since: asText,
  /** The workers in which it is so; null: all. */
  where: asNullable(asText),
  outageSince: asNullable(asText),
  /** The last failure of the upstream; null: the breaker is closed. */
  reason: asNullable(asText),
  /** When requests test the upstream again; null: it is not open. */
  nextTry: asNullable(asText),
})

const sideShape = {
  inFlight: asNumber,
  balance: asNullable(asWord<NonNullable<SideReport['balance']>>()),
  breaker: asNullable(breakerShape),
  endpoints: asList(endpointShape),
}

export const shadowShape = asObject({
  sent: asNumber,
  underWay: asNumber,
  /** Copies that have an answer of which the primary's is known too. */
  pairs: asNumber,
  repeated: asNumber,
  outcomes: asObject(asNumbers(zeroShadowOutcomes)),
  dropped: asObject(asNumbers(zeroShadowDrops)),
})

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

const candidateShape = asObject({
  ...sideShape,
  shadow: asNullable(shadowShape),
  /** Null: answers are not compared. What they differ in is in /shadow. */
  comparison: asNullable(comparedShape),
  /** Null: a reload is just under way. */
  shift: asNullable(shiftShape),
})

export const upstreamShape = asObject({
  ...sideShape,
  retryBudget: asNullable(asObject({ left: asNumber })),
  candidate: asNullable(candidateShape),
})

export type UpstreamStatus = Decoded<typeof upstreamShape>

export type EndpointStatus = Decoded<typeof endpointShape>

type SideStatus = Omit<UpstreamStatus, 'retryBudget' | 'candidate'>

export const upstreamStatus = (
  report: UpstreamReport,
  { endpoints, shifts }: Pick<OverridesView, 'endpoints' | 'shifts'>,
  group: Group,
): UpstreamStatus => {
  const shift = shifts.get(group)
  return {
    ...sideStatus(report, endpoints, group),
    retryBudget: report.retryBudget,
    candidate: report.candidate && {
      ...sideStatus(report.candidate, endpoints, group),
      shadow: report.candidate.shadow,
      comparison: report.candidate.comparison && comparedStatus(report.candidate.comparison),
      shift: shift && shiftStatus(shift),
    },
  }
}

const comparedStatus = ({ totals, since }: ComparisonReport): Decoded<typeof comparedShape> => ({
  ...sumComparison(totals),
  since: formatTime(since),
})

export const sumComparison = (totals: ComparisonReport['totals']): Omit<Decoded<typeof comparedShape>, 'since'> => ({
  compared: sum(totals.map(({ compared }) => compared)),
  equal: sum(totals.map(({ equal }) => equal)),
  recent: {
    compared: sum(totals.map(({ recent }) => recent.compared)),
    equal: sum(totals.map(({ recent }) => recent.equal)),
  },
})

const sideStatus = (
  { balance, breaker, endpoints }: SideReport,
  overrides: OverridesView['endpoints'],
  group: Group,
): SideStatus => ({
  inFlight: sum(endpoints.map(({ inFlight }) => inFlight)),
  balance,
  breaker: breaker && breakerStatus(breaker),
  endpoints: endpoints.map((each) => endpointStatus(each, overrides, group)),
})

const breakerStatus = ({
  state,
  since,
  where,
  outageSince,
  lastFailure,
  openForMs,
}: NonNullable<SideReport['breaker']>): Decoded<typeof breakerShape> => ({
  state,
  since: formatTime(since),
  where,
  outageSince: formatOptionalTime(outageSince),
  reason: lastFailure === null ? null : lastFailurePhrase(lastFailure, lastFailure.endpoint),
  nextTry: openForMs === null ? null : formatTime(epochMs() + openForMs),
})

const endpointStatus = (
  endpoint: EndpointReport,
  overrides: OverridesView['endpoints'],
  group: Group,
): EndpointStatus => {
  const { url, weight, inFlight, pending, state, lastProbe, counts, ejectedForMs, latencyMs, certificates } = endpoint
  const { succeededAt, failingSince, countedSince } = endpoint
  const override = overrides.get(toEndpointKey(group, url))
  const certificate = firstToExpire(certificates)
  return {
    url,
    weight,
    sandbox: url === 'sandbox',
    inFlight,
    pending,
    state: state.name,
    since: formatOptionalTime(state.since),
    reason: state.reason,
    lastProbe:
      lastProbe === null ? null : { ...lastProbe, at: formatTime(lastProbe.at), ok: lastProbe.reason === null },
    ...counts,
    countedSince: formatTime(countedSince),
    lastSuccess: formatOptionalTime(succeededAt),
    failingSince: formatOptionalTime(failingSince),
    ejectedForSeconds: ejectedForMs === null ? null : roundToTenths(ejectedForMs / 1000),
    latencyMs: latencyMs === null ? null : roundToTenths(latencyMs),
    certificate: certificate && certificateStatus(certificate),
    drainUntil: override?.state === 'drain' ? formatTime(override.until) : null,
    readyUntil: override?.state === 'ready' ? formatTime(override.until) : null,
    ...orderStatus(override),
  }
}

const certificateStatus = ({ notAfter, warnFrom, seenAt }: EndpointCertificate): Decoded<typeof certificateShape> => ({
  ...toExpiry(notAfter),
  endsSoon: epochMs() >= warnFrom,
  seenAt: formatTime(seenAt),
})
