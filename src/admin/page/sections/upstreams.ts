import { type Group, groups } from '../../../catalog.ts'
import type { Overview } from '../../overview.ts'
import { type Html, html } from '../html.ts'
import { age, count, counted, links, type Mood, mark, milliseconds, moment, section, since, table } from '../parts.ts'

type UpstreamView = Overview['status']['upstreams'][string]
type EndpointView = UpstreamView['endpoints'][number] & { readonly group: Group; readonly place: number }

/** Tells what stands behind the eight groups: every endpoint with its state, and why it is in it. */
export const upstreams = ({ at, status }: Overview): Html =>
  section(
    'upstreams',
    'Upstreams',
    table<EndpointView>({
      id: 'upstreams-table',
      caption: 'Every endpoint of the eight groups',
      idOf: ({ group, place }) => `endpoint-${group}-${place}`,
      isBad: ({ state }) => state === 'down' || state === 'ejected' || state === 'failing',
      bodies: groups.flatMap((group) => {
        const upstream = status.upstreams[group]
        if (upstream === undefined) return []
        return [
          {
            heading: heading(at, group, upstream),
            rows: upstream.endpoints.map((each, place) => ({ ...each, group, place })),
          },
        ]
      }),
      columns: [
        { title: 'Endpoint', cell: ({ url }) => html`<span class="url">${url}</span>` },
        { title: 'State', cell: ({ state }) => mark(moods[state], state) },
        { title: 'Why', kind: 'wide', cell: (endpoint) => why(at, endpoint) },
        { title: 'Since', cell: (endpoint) => since(at, endpoint.since) },
        { title: 'In flight', kind: 'number', cell: ({ inFlight }) => count(inFlight) },
        { title: 'Latency', kind: 'number', cell: ({ latencyMs }) => milliseconds(latencyMs) },
        { title: 'Requests', kind: 'number', cell: ({ requests }) => count(requests) },
        { title: 'Failed', kind: 'number', cell: ({ failures }) => count(failures) },
        { title: 'Do', kind: 'act', cell: (endpoint) => links('endpoint', endpoint) },
      ],
    }),
  )

const moods: Readonly<Record<EndpointView['state'], Mood>> = {
  up: 'good',
  failing: 'bad',
  down: 'bad',
  ejected: 'warning',
  draining: 'off',
}

const heading = (
  at: string,
  group: Group,
  { balance, breaker, retryBudget, inFlight, endpoints }: UpstreamView,
): Html => {
  const up = endpoints.filter(({ state }) => state === 'up').length
  return html`<span class="group-name">${group}</span> <span class="facts-of-group">${up} of ${endpoints.length} up${balance !== null && `, ${balance}`}${breaker !== null && html`, breaker ${breakerMark(breaker.state)}${breaker.state !== 'closed' && html` ${breaker.where} since ${since(at, breaker.since)}${breaker.reason !== null && `: ${breaker.reason}`}`}`}${retryBudget !== null && html`, ${retryBudget.left === 0 ? html`<strong>no retries left</strong>` : `${counted(Math.floor(retryBudget.left), 'retry', 'retries')} left`}`}, ${count(inFlight)} in flight</span>`
}

const breakerMark = (state: NonNullable<UpstreamView['breaker']>['state']): Html =>
  state === 'closed' ? html`closed` : mark(state === 'open' ? 'bad' : 'warning', state)

/** Says why an endpoint is as it is, and what else is known that matters: its last probe when that failed, and what was ordered. */
const why = (at: string, endpoint: EndpointView): Html => {
  const { reason, lastProbe, ejectedForSeconds, drainUntil, readyUntil, ejections, state } = endpoint
  return html`${reason}${ejectedForSeconds !== null && html`, back in ${ejectedForSeconds < 60 ? 'under 1 min' : age(ejectedForSeconds * 1000)}`}${drainUntil !== null && html`by order until ${moment(at, drainUntil)}`}${state === 'draining' && drainUntil === null && 'the file drains it'}${readyUntil !== null && html` ready by order until ${moment(at, readyUntil)}`}${lastProbe !== null && lastProbe.reason !== null && lastProbe.reason !== reason && html` <span class="age">last probe: ${lastProbe.reason}</span>`}${ejections > 0 && html` <span class="age">ejected ${count(ejections)}×</span>`}`
}
