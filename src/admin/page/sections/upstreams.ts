import { type Group, groups } from '../../../operations.ts'
import { describeShadow } from '../../api/describe-shadow.ts'
import type { Overview } from '../../api/overview.ts'
import { type BadgeTone, badge, commandLinks, htmlSection, htmlTable, sinceHtml, timeHtml } from '../components.ts'
import { formatAge, formatCount, formatCounted, formatMilliseconds } from '../format.ts'
import { type Html, html } from '../html.ts'

type UpstreamView = Overview['status']['upstreams'][string]
type SideView = Pick<UpstreamView, 'inFlight' | 'balance' | 'breaker' | 'endpoints'>
type EndpointView = UpstreamView['endpoints'][number] & { readonly group: Group; readonly id: string }

/** Renders the eight groups, with their candidates: every endpoint with its state, and the reason for it. */
export const upstreamsSection = ({ at, status }: Overview): Html =>
  htmlSection(
    'upstreams',
    'Upstreams',
    htmlTable<EndpointView>({
      id: 'upstreams-table',
      caption: 'Every endpoint of the eight groups',
      idOf: ({ id }) => id,
      isBad: ({ state }) => state === 'down' || state === 'ejected' || state === 'failing',
      bodies: groups.flatMap((group) => {
        const upstream = status.upstreams[group]
        if (upstream === undefined) return []
        const { candidate } = upstream
        const primary = {
          heading: groupHeading(at, group, upstream, retryBudgetFact(upstream)),
          rows: upstream.endpoints.map((each, place) => ({ ...each, group, id: `endpoint-${group}-${place}` })),
        }
        if (candidate === null) return [primary]
        return [
          primary,
          {
            heading: groupHeading(at, `${group}, candidate`, candidate, shadowFact(candidate.shadow)),
            rows: candidate.endpoints.map((each, place) => ({ ...each, group, id: `candidate-${group}-${place}` })),
          },
        ]
      }),
      columns: [
        { title: 'Endpoint', cell: ({ url }) => html`<span class="url">${url}</span>` },
        { title: 'State', cell: ({ state }) => badge(badgeTones[state], state) },
        { title: 'Why', kind: 'wide', cell: (endpoint) => reasonCell(at, endpoint) },
        { title: 'Since', cell: (endpoint) => sinceHtml(at, endpoint.since) },
        { title: 'In flight', kind: 'number', cell: ({ inFlight }) => formatCount(inFlight) },
        { title: 'Latency', kind: 'number', cell: ({ latencyMs }) => formatMilliseconds(latencyMs) },
        { title: 'Requests', kind: 'number', cell: ({ requests }) => formatCount(requests) },
        { title: 'Failed', kind: 'number', cell: ({ failures }) => formatCount(failures) },
        { title: 'Do', kind: 'act', cell: (endpoint) => commandLinks('endpoint', endpoint) },
      ],
    }),
  )

const badgeTones: Readonly<Record<EndpointView['state'], BadgeTone>> = {
  up: 'good',
  failing: 'bad',
  down: 'bad',
  ejected: 'warning',
  draining: 'off',
}

const groupHeading = (
  at: string,
  name: string,
  { balance, breaker, inFlight, endpoints }: SideView,
  fact: Html | null,
): Html => {
  const up = endpoints.filter(({ state }) => state === 'up').length
  return html`<span class="group-name">${name}</span> <span class="facts-of-group">${up} of ${endpoints.length} up${balance !== null && `, ${balance}`}${breaker !== null && html`, breaker ${breakerBadge(breaker.state)}${breaker.state !== 'closed' && html` ${breaker.where} since ${sinceHtml(at, breaker.since)}${breaker.reason !== null && `: ${breaker.reason}`}`}`}${fact}, ${formatCount(inFlight)} in flight</span>`
}

const shadowFact = (shadow: NonNullable<UpstreamView['candidate']>['shadow']): Html | null =>
  shadow && html`, copies: ${describeShadow(shadow, formatCount)}`

const retryBudgetFact = ({ retryBudget }: UpstreamView): Html | null =>
  retryBudget &&
  html`, ${retryBudget.left === 0 ? html`<strong>no retries left</strong>` : `${formatCounted(Math.floor(retryBudget.left), 'retry', 'retries')} left`}`

const breakerBadge = (state: NonNullable<UpstreamView['breaker']>['state']): Html =>
  state === 'closed' ? html`closed` : badge(state === 'open' ? 'bad' : 'warning', state)

/** Renders the reason of an endpoint's state, and what else matters: its last probe when that failed, and overrides. */
const reasonCell = (at: string, endpoint: EndpointView): Html => {
  const { reason, lastProbe, ejectedForSeconds, drainUntil, readyUntil, ejections, state } = endpoint
  return html`${reason}${ejectedForSeconds !== null && html`, back in ${ejectedForSeconds < 60 ? 'under 1 min' : formatAge(ejectedForSeconds * 1000)}`}${drainUntil !== null && html`by order until ${timeHtml(at, drainUntil)}`}${state === 'draining' && drainUntil === null && 'the file drains it'}${readyUntil !== null && html` ready by order until ${timeHtml(at, readyUntil)}`}${lastProbe !== null && lastProbe.reason !== null && lastProbe.reason !== reason && html` <span class="age">last probe: ${lastProbe.reason}</span>`}${ejections > 0 && html` <span class="age">ejected ${formatCount(ejections)}×</span>`}`
}
