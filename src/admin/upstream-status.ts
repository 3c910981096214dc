import type { Group } from '../catalog.ts'
import { wallClock } from '../clock.ts'
import { flag, list, nullable, number, numbers, type Shaped, shape, text, word } from '../shared/shape.ts'
import { keyOf, type Said } from '../snapshot/overrides.ts'
import type { EndpointReport, UpstreamReport } from '../snapshot/report.ts'
import { firstToEnd, type SeenCertificate } from '../upstream/certificates.ts'
import { noCounts } from '../upstream/standing.ts'
import { lastOf } from './findings/finding.ts'
import { endOf, tenths, time } from './time.ts'

/** The certificate that an endpoint has shown; of several addresses, the first to end. */
const certificateShape = shape({
  notAfter: text,
  /** Below 0: it has expired. */
  daysLeft: number,
  endsSoon: flag,
  seenAt: text,
})

/** Reads how an endpoint does. */
const endpointShape = shape({
  url: text,
  weight: number,
  sandbox: flag,
  inFlight: number,
  state: word<EndpointReport['state']['name']>(),
  since: nullable(text),
  reason: nullable(text),
  lastProbe: nullable(shape({ at: text, latencyMs: number, reason: nullable(text), ok: flag })),
  ...numbers(noCounts),
  ejectedForSeconds: nullable(number),
  latencyMs: nullable(number),
  /** Null: it has shown none. */
  certificate: nullable(certificateShape),
  /** Until when an operator has it drained, or ready. */
  drainUntil: nullable(text),
  readyUntil: nullable(text),
})

const breakerShape = shape({
  state: word<NonNullable<UpstreamReport['breaker']>['state']>(),
  since: text,
  /** In which of several workers it is so; null: in all. */
  where: nullable(text),
  outageSince: nullable(text),
  /** What the upstream failed last; null: it is closed. */
  reason: nullable(text),
})

/** Reads what stands behind a group: each endpoint with its state, and what holds for all of them. */
export const upstreamShape = shape({
  inFlight: number,
  balance: nullable(word<NonNullable<UpstreamReport['balance']>>()),
  breaker: nullable(breakerShape),
  retryBudget: nullable(shape({ left: number })),
  endpoints: list(endpointShape),
})

/** What stands behind a group. */
export type UpstreamStatus = Shaped<typeof upstreamShape>

/** An endpoint of a group. */
export type EndpointStatus = Shaped<typeof endpointShape>

/** Makes it of a report. */
export const upstreamStatus = (
  { balance, breaker, retryBudget, endpoints }: UpstreamReport,
  orders: Said['endpoints'],
  group: Group,
): UpstreamStatus => ({
  inFlight: endpoints.reduce((sum, { inFlight }) => sum + inFlight, 0),
  balance,
  breaker: breaker && breakerStatus(breaker),
  retryBudget,
  endpoints: endpoints.map((each) => endpointStatus(each, orders, group)),
})

const breakerStatus = ({
  state,
  since,
  where,
  outageSince,
  lastFailure,
}: NonNullable<UpstreamReport['breaker']>): Shaped<typeof breakerShape> => ({
  state,
  since: time(since),
  where,
  outageSince: outageSince === null ? null : time(outageSince),
  reason: lastFailure === null ? null : lastOf(lastFailure, lastFailure.endpoint),
})

const endpointStatus = (endpoint: EndpointReport, orders: Said['endpoints'], group: Group): EndpointStatus => {
  const { url, weight, inFlight, state, lastProbe, counts, ejectedForMs, latencyMs, certificates } = endpoint
  const order = orders.of(keyOf(group, url))
  const certificate = firstToEnd(certificates)
  return {
    url,
    weight,
    sandbox: url === 'sandbox',
    inFlight,
    state: state.name,
    since: state.since === null ? null : time(state.since),
    reason: state.reason,
    lastProbe: lastProbe === null ? null : { ...lastProbe, at: time(lastProbe.at), ok: lastProbe.reason === null },
    ...counts,
    ejectedForSeconds: ejectedForMs === null ? null : tenths(ejectedForMs / 1000),
    latencyMs: latencyMs === null ? null : tenths(latencyMs),
    certificate: certificate && certificateOf(certificate),
    drainUntil: order?.state === 'drain' ? time(order.until) : null,
    readyUntil: order?.state === 'ready' ? time(order.until) : null,
  }
}

const certificateOf = ({ notAfter, soonFrom, seenAt }: SeenCertificate): Shaped<typeof certificateShape> => ({
  ...endOf(notAfter),
  endsSoon: wallClock() >= soonFrom,
  seenAt: time(seenAt),
})
