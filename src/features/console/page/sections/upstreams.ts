import type { Overview, PagePart } from '../../../../core/admin/admin-part.ts'
import type { Severity } from '../../../../core/admin/findings/finding.ts'
import { type Html, type HtmlValue, html } from '../../../../core/admin/html.ts'
import {
  badge,
  commandLinks,
  formatCount,
  formatCounted,
  formatMilliseconds,
  formatPerSecond,
  htmlSection,
  htmlTable,
  sinceHtml,
  type TableBody,
  type TableColumn,
  timeHtml,
} from '../../../../core/admin/page-components.ts'
import { reportedSides, sideKey } from '../../../../core/exchange/sides.ts'
import { formatAge } from '../../../../core/lib/text/units.ts'
import { type Group, groups } from '../../../../operations.ts'
import type { PageView } from '../../../overview/overview.ts'
import type { EndpointRate } from '../../../overview/rate-history.ts'
import { isProblem, type RowState, stateBadge, toRowState, worstFinding } from '../row-state.ts'
import { errorRateHtml } from './operations.ts'

type UpstreamView = Overview['status']['upstreams'][string]
type SideView = Pick<UpstreamView, 'inFlight' | 'balance' | 'breaker' | 'endpoints'>
type BreakerView = NonNullable<SideView['breaker']>
type EndpointStatusView = UpstreamView['endpoints'][number]
interface EndpointRow extends EndpointStatusView {
  readonly group: Group
  readonly id: string
  readonly goes: RowState
  /** An earlier row has the same URL: commands apply to both. */
  readonly isRepeated: boolean
  readonly pace: EndpointRate | null
}

export const upstreamsSection = (view: PageView, facts: readonly Required<PagePart>['sideFact'][]): Html =>
  htmlSection(
    'upstreams',
    'Upstreams',
    htmlTable<EndpointRow>({
      id: 'upstreams-table',
      caption: 'Every endpoint of the eight groups',
      idOf: ({ id }) => id,
      isBad: ({ state, goes }) => isProblem(goes) || state === 'draining',
      bodies: groups.flatMap((group) => groupBodies(group, view, facts)),
      columns: endpointColumns(view.at),
    }),
  )

const groupBodies = (
  group: Group,
  { at, status, found, endpointRates }: PageView,
  facts: readonly Required<PagePart>['sideFact'][],
): readonly TableBody<EndpointRow>[] => {
  const upstream = status.upstreams[group]
  if (upstream === undefined) return []
  const seen = new Set<string>()
  return reportedSides<SideView>(upstream).map(({ side, report }) => {
    const rows = report.endpoints.map((each, place): EndpointRow => {
      const rate = endpointRates?.find((rate) => rate.group === group && rate.side === side && rate.url === each.url)
      const pace = rate ?? null
      const finding = worstFinding(found, sideKey(group, side), each.url)
      const isRepeated = seen.has(each.url)
      seen.add(each.url)
      return {
        ...each,
        group,
        id: `${side === 'primary' ? 'endpoint' : side}-${group}-${place}`,
        pace,
        isRepeated,
        goes: endpointState(each, { at, finding, pace }),
      }
    })
    const goes = groupState(rows, report.breaker, worstFinding(found, sideKey(group, side)))
    const name = side === 'primary' ? group : `${group}, ${side}`
    const said = facts.map((fact) => fact(upstream, side))
    return { heading: groupHeading(at, name, report, goes, said), rows }
  })
}

const endpointColumns = (at: string): readonly TableColumn<EndpointRow>[] => [
  { title: 'Endpoint', cell: ({ url }) => html`<span class="url">${url}</span>` },
  {
    title: 'State',
    cell: (row) =>
      html`${stateBadge(row.goes)} <span class="why">${reasonCell(at, row)} ${sinceHtml(at, row.since)}</span>`,
  },
  { title: 'Weight', kind: 'number', cell: ({ weight }) => formatCount(weight), isIdle: isWell },
  {
    title: 'Share',
    kind: 'number',
    cell: ({ pace }) => (pace?.share == null ? '–' : `${Math.round(pace.share * 100)} %`),
    isIdle: ({ pace }) => pace?.share == null,
  },
  numberColumn('Requests/s', ({ pace }) => pace?.perSecond, formatPerSecond),
  numberColumn('Errors/s', ({ pace }) => pace?.errorsPerSecond, errorRateHtml),
  numberColumn('In flight', ({ inFlight }) => inFlight, formatCount),
  numberColumn('Queue', ({ pending }) => pending, formatCount),
  {
    title: 'Latency',
    kind: 'number',
    cell: ({ latencyMs }) => formatMilliseconds(latencyMs),
    isIdle: ({ latencyMs }) => latencyMs === null,
  },
  {
    title: 'Last probe',
    cell: ({ lastProbe }) => lastProbe && probeCell(at, lastProbe),
    isIdle: ({ lastProbe }) => lastProbe === null,
  },
  { title: 'Certificate', cell: ({ certificate }) => certificate && certificateCell(certificate) },
  { title: 'Do', kind: 'act', cell: (row) => !row.isRepeated && commandLinks('endpoint', row) },
]

const numberColumn = (
  title: string,
  read: (row: EndpointRow) => number | null | undefined,
  format: (value: number) => HtmlValue,
): TableColumn<EndpointRow> => ({
  title,
  kind: 'number',
  cell: (row) => {
    const value = read(row)
    return value == null ? '–' : format(value)
  },
  isIdle: (row) => (read(row) ?? 0) === 0,
})

interface EndpointEvidence {
  readonly at: string
  readonly finding: Severity | null
  readonly pace: EndpointRate | null
}

// A pace counts requests up to nearly that age.
const paceMs = 20_000

/** `up` means that no failure is known: good needs a request or a probe that succeeded. */
const endpointState = (endpoint: EndpointStatusView, { at, finding, pace }: EndpointEvidence): RowState => {
  const { state, requests, lastSuccess, failingSince, lastProbe } = endpoint
  // Clients that leave before the response count neither as failure nor as success.
  const successAgeMs = lastSuccess === null ? Number.POSITIVE_INFINITY : Date.parse(at) - Date.parse(lastSuccess)
  const isSilent = (pace?.perSecond ?? 0) > 0 && successAgeMs >= paceMs
  const isProbeBad = lastProbe?.ok === false && (pace?.errorsPerSecond ?? 0) === 0
  const partly = state === 'ejected' ? state : isSilent ? 'no success' : isProbeBad ? 'probe fails' : null
  return toRowState({
    well: 'up',
    untried: failingSince !== null ? 'failed last' : requests > 0 ? 'no success yet' : 'not tried',
    takenOut: state === 'draining' ? state : null,
    dead: state === 'down' || state === 'failing' ? state : null,
    partly,
    requests: pace && { all: pace.perSecond, failed: pace.errorsPerSecond, rejected: 0 },
    isProven: failingSince === null && (lastSuccess !== null || lastProbe?.ok === true),
    finding,
  })
}

const groupState = (rows: readonly EndpointRow[], breaker: BreakerView | null, finding: Severity | null): RowState => {
  const up = rows.filter(({ state, goes }) => state === 'up' && goes.tone !== 'bad').length
  const words = `${up} of ${rows.length} up`
  const isShut = breaker !== null && breaker.state !== 'closed'
  const isDead = up === 0 && rows.every(({ goes }) => goes.tone === 'bad' || goes.tone === 'off')
  return toRowState({
    well: words,
    untried: words,
    dead: isDead || isShut ? words : null,
    partly: rows.some(({ goes }) => isProblem(goes)) ? words : null,
    isProven: rows.some(({ goes }) => goes.tone === 'good'),
    finding,
  })
}

const groupHeading = (
  at: string,
  name: string,
  { balance, breaker, inFlight }: SideView,
  goes: RowState,
  facts: HtmlValue,
): Html =>
  html`<input type="checkbox" class="unfold" id="unfold-${name.replace(', ', '-')}" aria-label="Show the endpoints of ${name}"><span class="group-name">${name}</span> ${stateBadge(goes)}<span class="facts-of-group">${balance !== null && `, ${balance}`}${breaker !== null && html`, breaker ${breakerBadge(breaker.state)}${breaker.state !== 'closed' && html` ${breaker.where} since ${sinceHtml(at, breaker.since)}${breaker.reason !== null && `: ${breaker.reason}`}`}${breaker.nextTry !== null && html`, tried again at ${timeHtml(at, breaker.nextTry)}`}`}${facts}, ${formatCount(inFlight)} in flight</span>`

const breakerBadge = (state: BreakerView['state']): Html =>
  state === 'closed' ? html`closed` : badge(state === 'open' ? 'bad' : 'warning', state)

const isWell = ({ goes }: EndpointRow): boolean => !isProblem(goes)

const probeCell = (
  at: string,
  { at: probedAt, latencyMs, status, ok }: NonNullable<EndpointStatusView['lastProbe']>,
): Html =>
  html`${ok ? status : html`<strong>failed</strong>`} <span class="age">${formatMilliseconds(latencyMs)} at ${timeHtml(at, probedAt)}</span>`

const certificateCell = ({ daysLeft, endsSoon }: NonNullable<EndpointStatusView['certificate']>): HtmlValue =>
  daysLeft < 0
    ? badge('bad', 'expired')
    : endsSoon
      ? badge('warning', formatCounted(daysLeft, 'day'))
      : formatCounted(daysLeft, 'day')

const reasonCell = (at: string, endpoint: EndpointStatusView): Html => {
  const { reason, lastProbe, ejectedForSeconds, drainUntil, readyUntil, ejections, countedSince, state, weight } =
    endpoint
  const by = endpoint.setBy ?? 'an operator'
  const why = endpoint.setReason === null ? null : `: ${endpoint.setReason}`
  const drain = drainUntil !== null && html`by ${by} until ${timeHtml(at, drainUntil)}${why}`
  const ready = readyUntil !== null && html` ready by ${by} until ${timeHtml(at, readyUntil)}${why}`
  const back =
    ejectedForSeconds === null ? null : ejectedForSeconds < 60 ? 'under 1 min' : formatAge(ejectedForSeconds * 1000)
  const byFile =
    state === 'draining' && drainUntil === null && (weight === 0 ? 'weight 0 in the file' : 'the file drains it')
  const probe = lastProbe !== null && lastProbe.reason !== reason ? lastProbe.reason : null
  const probed = probe !== null && html` <span class="age">last probe: ${probe}</span>`
  const ejected =
    ejections > 0 &&
    html` <span class="age">ejected ${formatCount(ejections)}×${countedSince !== null && html` since ${timeHtml(at, countedSince)}`}</span>`
  return html`${reason}${back !== null && `, back in ${back}`}${drain}${byFile}${ready}${probed}${ejected}`
}
