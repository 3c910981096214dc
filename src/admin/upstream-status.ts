import type { Group } from '../catalog.ts'
import { wallClock } from '../clock.ts'
import { keyOf, type Said } from '../snapshot/overrides.ts'
import type { EndpointReport, UpstreamReport } from '../snapshot/report.ts'
import { firstToEnd, type SeenCertificate } from '../upstream/certificates.ts'
import { endOf } from './certificate-status.ts'
import { lastOf } from './findings/words.ts'
import { time } from './time.ts'

/** Tells what stands behind a group: each endpoint with its state, and what holds for all of them. */
export const upstreamStatus = (
  { balance, breaker, retryBudget, endpoints }: UpstreamReport,
  orders: Said['endpoints'],
  group: Group,
) => ({
  inFlight: endpoints.reduce((sum, { inFlight }) => sum + inFlight, 0),
  balance,
  breaker: breaker && breakerStatus(breaker),
  retryBudget,
  endpoints: endpoints.map((each) => endpoint(each, orders, group)),
})

const breakerStatus = ({ state, since, where, outageSince, lastFailure }: NonNullable<UpstreamReport['breaker']>) => ({
  state,
  since: time(since),
  where,
  outageSince: outageSince === null ? null : time(outageSince),
  reason: lastFailure === null ? null : lastOf(lastFailure, lastFailure.endpoint),
})

const endpoint = (
  {
    url,
    weight,
    inFlight,
    state,
    lastProbe,
    requests,
    failures,
    ejections,
    ejectedForMs,
    latencyMs,
    certificates,
  }: EndpointReport,
  orders: Said['endpoints'],
  group: Group,
) => {
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
    requests,
    failures,
    ejections,
    ejectedForSeconds: ejectedForMs === null ? null : tenths(ejectedForMs / 1000),
    latencyMs: latencyMs === null ? null : tenths(latencyMs),
    certificate: certificate && certificateOf(certificate),
    drainUntil: order?.state === 'drain' ? time(order.until) : null,
    readyUntil: order?.state === 'ready' ? time(order.until) : null,
  }
}

const tenths = (value: number): number => Math.round(value * 10) / 10

const certificateOf = ({ notAfter, soonFrom, seenAt }: SeenCertificate) => ({
  ...endOf(notAfter),
  endsSoon: wallClock() >= soonFrom,
  seenAt: time(seenAt),
})
