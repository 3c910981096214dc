import type { Group } from '../catalog.ts'
import { now } from '../clock.ts'
import { keyOf, type Overrides } from '../snapshot/overrides.ts'
import type { Snapshot } from '../snapshot/snapshot.ts'
import type { Member } from '../upstream/member.ts'
import { time } from './time.ts'

/** Tells what stands behind a group: each endpoint with its state, and what holds for all of them. */
export const upstreamStatus = ({ upstreams, budgets }: Snapshot, orders: Overrides['endpoints'], group: Group) => {
  const { members, balance, breaker } = upstreams[group]
  const budget = budgets[group]
  const endpoints = members.map((member) => endpoint(member, orders, group))
  return {
    inFlight: endpoints.reduce((sum, { inFlight }) => sum + inFlight, 0),
    balance,
    breaker: breaker === null ? null : { state: breaker.state, since: time(breaker.since) },
    retryBudget: budget === null ? null : { left: budget.left },
    endpoints,
  }
}

const endpoint = (
  { endpoint: { name, inFlight, standing }, weight, state }: Member,
  orders: Overrides['endpoints'],
  group: Group,
) => {
  const at = now()
  const { requests, failures, ejections, ejection, lastProbe } = standing
  const order = orders.of(keyOf(group, name))
  return {
    url: name,
    weight,
    sandbox: name === 'sandbox',
    inFlight,
    state: state.name,
    since: state.since === null ? null : time(state.since),
    reason: state.reason,
    lastProbe: lastProbe === null ? null : { ...lastProbe, at: time(lastProbe.at), ok: lastProbe.reason === null },
    requests,
    failures,
    ejections,
    ejectedForSeconds: ejection !== null && standing.isEjected(at) ? tenths((ejection.until - at) / 1000) : null,
    // Until there was a request, nothing is known.
    latencyMs: requests === 0 ? null : tenths(standing.latency.at(at)),
    drainUntil: order?.state === 'drain' ? time(order.until) : null,
    readyUntil: order?.state === 'ready' ? time(order.until) : null,
  }
}

const tenths = (value: number): number => Math.round(value * 10) / 10
