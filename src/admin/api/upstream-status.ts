import { epochMs } from '../../clock.ts'
import type { Group } from '../../operations.ts'
import { type OverridesView, toEndpointKey } from '../../runtime/overrides.ts'
import type { EndpointReport, UpstreamReport } from '../../runtime/report/status-report.ts'
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
} from '../../shared/decode.ts'
import { type EndpointCertificate, firstToExpire } from '../../upstream/endpoints/endpoint-certificates.ts'
import { emptyEndpointCounts } from '../../upstream/health/endpoint-health.ts'
import { lastFailurePhrase } from '../findings/finding.ts'
import { formatTime, roundToTenths, toExpiry } from '../format-time.ts'

/** The certificate that an endpoint has presented; of several addresses, the first to expire. */
const certificateShape = asObject({
  notAfter: asText,
  /** Below 0: it has expired. */
  daysLeft: asNumber,
  endsSoon: asBoolean,
  seenAt: asText,
})

/** Decodes the state of an endpoint. */
const endpointShape = asObject({
  url: asText,
  weight: asNumber,
  sandbox: asBoolean,
  inFlight: asNumber,
  state: asWord<EndpointReport['state']['name']>(),
  since: asNullable(asText),
  reason: asNullable(asText),
  lastProbe: asNullable(asObject({ at: asText, latencyMs: asNumber, reason: asNullable(asText), ok: asBoolean })),
  ...asNumbers(emptyEndpointCounts),
  ejectedForSeconds: asNullable(asNumber),
  latencyMs: asNullable(asNumber),
  /** Null: it has presented none. */
  certificate: asNullable(certificateShape),
  /** The end of an operator's override: drained, or ready. */
  drainUntil: asNullable(asText),
  readyUntil: asNullable(asText),
})

const breakerShape = asObject({
  state: asWord<NonNullable<UpstreamReport['breaker']>['state']>(),
  since: asText,
  /** The workers in which it is so; null: all. */
  where: asNullable(asText),
  outageSince: asNullable(asText),
  /** The last failure of the upstream; null: the breaker is closed. */
  reason: asNullable(asText),
})

/** Decodes the upstream of a group: the state of each endpoint, and what holds for all of them. */
export const upstreamShape = asObject({
  inFlight: asNumber,
  balance: asNullable(asWord<NonNullable<UpstreamReport['balance']>>()),
  breaker: asNullable(breakerShape),
  retryBudget: asNullable(asObject({ left: asNumber })),
  endpoints: asList(endpointShape),
})

/** The upstream of a group. */
export type UpstreamStatus = Decoded<typeof upstreamShape>

/** An endpoint of a group. */
export type EndpointStatus = Decoded<typeof endpointShape>

/** Renders a report. */
export const upstreamStatus = (
  { balance, breaker, retryBudget, endpoints }: UpstreamReport,
  overrides: OverridesView['endpoints'],
  group: Group,
): UpstreamStatus => ({
  inFlight: endpoints.reduce((sum, { inFlight }) => sum + inFlight, 0),
  balance,
  breaker: breaker && breakerStatus(breaker),
  retryBudget,
  endpoints: endpoints.map((each) => endpointStatus(each, overrides, group)),
})

const breakerStatus = ({
  state,
  since,
  where,
  outageSince,
  lastFailure,
}: NonNullable<UpstreamReport['breaker']>): Decoded<typeof breakerShape> => ({
  state,
  since: formatTime(since),
  where,
  outageSince: outageSince === null ? null : formatTime(outageSince),
  reason: lastFailure === null ? null : lastFailurePhrase(lastFailure, lastFailure.endpoint),
})

const endpointStatus = (
  endpoint: EndpointReport,
  overrides: OverridesView['endpoints'],
  group: Group,
): EndpointStatus => {
  const { url, weight, inFlight, state, lastProbe, counts, ejectedForMs, latencyMs, certificates } = endpoint
  const override = overrides.get(toEndpointKey(group, url))
  const certificate = firstToExpire(certificates)
  return {
    url,
    weight,
    sandbox: url === 'sandbox',
    inFlight,
    state: state.name,
    since: state.since === null ? null : formatTime(state.since),
    reason: state.reason,
    lastProbe:
      lastProbe === null ? null : { ...lastProbe, at: formatTime(lastProbe.at), ok: lastProbe.reason === null },
    ...counts,
    ejectedForSeconds: ejectedForMs === null ? null : roundToTenths(ejectedForMs / 1000),
    latencyMs: latencyMs === null ? null : roundToTenths(latencyMs),
    certificate: certificate && certificateStatus(certificate),
    drainUntil: override?.state === 'drain' ? formatTime(override.until) : null,
    readyUntil: override?.state === 'ready' ? formatTime(override.until) : null,
  }
}

const certificateStatus = ({ notAfter, warnFrom, seenAt }: EndpointCertificate): Decoded<typeof certificateShape> => ({
  ...toExpiry(notAfter),
  endsSoon: epochMs() >= warnFrom,
  seenAt: formatTime(seenAt),
})
