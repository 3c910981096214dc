import { formatAge } from '../lib/text/units.ts'
import type { CommandLink, OverviewPlaces } from './commands/command.ts'
import { commandGroups } from './commands/command-groups.ts'
import { actionHref } from './commands/phrases.ts'
import { type Html, type HtmlValue, html } from './html.ts'

export type BadgeTone = 'good' | 'notice' | 'warning' | 'bad' | 'off'

/** `120`, `12.3`, `0.04`, or `< 0.01`. */
export const formatPerSecond = (perSecond: number): string => {
  if (perSecond === 0) return '0'
  if (perSecond < 0.01) return '< 0.01'
  return perSecond < 1 ? perSecond.toFixed(2) : perSecond < 100 ? perSecond.toFixed(1) : formatCount(perSecond)
}

export const formatCount = (value: number): string => String(Math.round(value)).replaceAll(/\B(?=(\d{3})+$)/g, '\u202f')

/** `0.8 ms`, `31 ms`, `1.25 s`. Null: a dash. */
export const formatMilliseconds = (ms: number | null): string => {
  if (ms === null) return '–'
  if (ms >= 9950) return `${(ms / 1000).toFixed(1)} s`
  if (ms >= 1000) return `${(ms / 1000).toFixed(2)} s`
  return ms < 9.95 ? `${ms.toFixed(1)} ms` : `${Math.round(ms)} ms`
}

export const formatCounted = (value: number, one: string, many = `${one}s`): string =>
  `${formatCount(value)} ${value === 1 ? one : many}`

/** In UTC, as the logs; with the day, if it is not the day of `at`. */
export const timeHtml = (at: string, time: string): Html =>
  html`<time datetime="${time}" title="${time}">${time.slice(0, 10) === at.slice(0, 10) ? '' : `${time.slice(0, 10)} `}${time.slice(11, 19)}</time>`

export const sinceHtml = (at: string, time: string | null): Html | null =>
  time === null
    ? null
    : html`${timeHtml(at, time)} <span class="age">(${formatAge(Date.parse(at) - Date.parse(time))})</span>`

// Not every reader sees colors.
const badgeShapes: Readonly<Record<BadgeTone, string>> = { good: '●', notice: '◆', warning: '▲', bad: '■', off: '○' }

export const badge = (tone: BadgeTone, words: string): Html =>
  html`<span class="mark ${tone}"><span aria-hidden="true">${badgeShapes[tone]}</span> ${words}</span>`

export const commandHtml = (command: string): Html =>
  html`<span class="command"><code>${command}</code> <button type="button" class="copy">Copy<span class="unseen"> the command</span></button></span>`

/** The first column names its row. */
export interface TableColumn<Row> {
  readonly title: string
  readonly cell: (row: Row) => HtmlValue
  readonly kind?: 'number' | 'wide' | 'chart' | 'act'
  /** A phone hides the cell. */
  readonly isIdle?: (row: Row) => boolean
}

export interface TableBody<Row> {
  readonly heading?: HtmlValue
  readonly rows: readonly Row[]
}

interface TableOptions<Row> {
  readonly id: string
  readonly caption: HtmlValue
  readonly columns: readonly TableColumn<Row>[]
  readonly bodies: readonly TableBody<Row>[]
  /** Unique on the page, so that a row that moves is recognized. */
  readonly idOf: (row: Row) => string
  readonly isBad?: (row: Row) => boolean
}

/** On a phone each row is a card. Roles are explicit, because browsers drop the table semantics of such a layout. */
export const htmlTable = <Row>({
  id,
  caption,
  columns,
  bodies,
  idOf,
  isBad,
}: TableOptions<Row>): Html => html`<table id="${id}" role="table">
<caption>${caption}</caption>
<thead role="rowgroup"><tr role="row">${columns.map(head)}</tr></thead>
${bodies.map(
  ({ heading, rows }) => html`<tbody role="rowgroup">
${heading !== undefined && html`<tr class="group" role="row"><th scope="rowgroup" role="rowheader" colspan="${columns.length}">${heading}</th></tr>\n`}${rows.map(
  (row) =>
    html`<tr id="${idOf(row)}" class="${isBad?.(row) === true ? 'bad' : ''}" role="row">${columns.map((column, index) => cell(column, index, row))}</tr>\n`,
)}</tbody>
`,
)}</table>`

const head = <Row>({ title, kind }: TableColumn<Row>): Html =>
  html`<th scope="col" role="columnheader" class="${kind}">${title}</th>`

const cell = <Row>({ title, kind, cell, isIdle }: TableColumn<Row>, index: number, row: Row): Html =>
  index === 0
    ? html`<th scope="row" role="rowheader" data-title="${title}" class="${kind}">${cell(row)}</th>`
    : html`<td role="cell" data-title="${title}" class="${kind}${isIdle?.(row) === true && ' idle'}">${cell(row)}</td>`

export const htmlList = (pairs: readonly (readonly [name: string, value: HtmlValue])[]): Html =>
  html`<dl>${pairs.map(([name, value]) => value !== null && html`<div><dt>${name}</dt><dd>${value}</dd></div>`)}</dl>`

/** `id` is its name in the stream. A text body is one line with the heading. */
export const htmlSection = (id: string, heading: HtmlValue, body: HtmlValue, more?: HtmlValue): Html =>
  typeof body === 'string'
    ? html`<section id="${id}" class="quiet" aria-labelledby="${id}-heading">
<h2 id="${id}-heading">${heading}</h2> <p>${body}</p>${more}
</section>`
    : html`<section id="${id}" aria-labelledby="${id}-heading">
<div class="heading"><h2 id="${id}-heading">${heading}</h2>${more}</div>
${body}
</section>`

export const commandLinks = <Place extends keyof OverviewPlaces>(
  place: Place,
  about: OverviewPlaces[Place],
): readonly Html[] =>
  commandGroups
    .flatMap(({ commands }) =>
      commands.flatMap(({ page, links }) => {
        if (page === null) return []
        return [links[place]?.(about) ?? []].flat().map((link) => commandLink(page, link))
      }),
    )
    .map((link, i) => (i === 0 ? link : html` ${link}`))

const commandLink = (page: string, { query, words, about }: CommandLink): Html => {
  const id = `do-${page}${Object.entries(query).map(([name, value]) => `-${value === 'true' ? name : value}`)}`
  return html`<a class="action" id="${id}" href="${actionHref(page, query)}">${words}${about !== undefined && html`<span class="unseen"> ${about}</span>`}</a>`
}

interface SharedState {
  readonly state: string
  readonly since: string | null
  readonly reason: string | null
  readonly where: string | null
}

export const sharedBadge = (at: string, { state, since, reason, where }: SharedState): Html =>
  state === 'shared'
    ? html`${badge('good', 'shared')} since ${sinceHtml(at, since)}`
    : html`${badge('warning', 'by itself')} ${where} since ${sinceHtml(at, since)}${reason !== null && `: ${reason}`}`
