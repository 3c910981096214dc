import type { Link, Places } from '../commands/command.ts'
import { commandGroups } from '../commands/commands.ts'
import { hrefOf } from '../commands/words.ts'
import { type Html, html, type Shown } from './html.ts'

/** Is one column of a table. The first names its row. */
export interface Column<Row> {
  readonly title: string
  readonly cell: (row: Row) => Shown
  /** `number`: its digits stand below each other. `wide`: it takes what room is left. */
  readonly kind?: 'number' | 'wide' | 'chart' | 'act'
}

/** Is the rows that belong together, with what stands above them: a heading of their own. */
export interface Rows<Row> {
  readonly heading?: Shown
  readonly rows: readonly Row[]
}

interface Table<Row> {
  readonly id: string
  readonly caption: Shown
  readonly columns: readonly Column<Row>[]
  readonly bodies: readonly Rows<Row>[]
  /** Tells rows apart, so that one which moves is still the same; unique on the page. */
  readonly idOf: (row: Row) => string
  /** Marks a row that is not as it should be. */
  readonly isBad?: (row: Row) => boolean
}

/**
 * Writes a table. On a phone each row is a card, whose cells say what they are. Roles are written out, because a browser takes a table that is not laid out
 * as one for none.
 */
export const table = <Row>({
  id,
  caption,
  columns,
  bodies,
  idOf,
  isBad,
}: Table<Row>): Html => html`<table id="${id}" role="table">
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

const head = <Row>({ title, kind }: Column<Row>): Html =>
  html`<th scope="col" role="columnheader" class="${kind}">${title}</th>`

const cell = <Row>({ title, kind, cell }: Column<Row>, index: number, row: Row): Html =>
  index === 0
    ? html`<th scope="row" role="rowheader" data-title="${title}" class="${kind}">${cell(row)}</th>`
    : html`<td role="cell" data-title="${title}" class="${kind}">${cell(row)}</td>`

/** Writes names with what belongs to each; what is null is left out. */
export const list = (pairs: readonly (readonly [name: string, value: Shown])[]): Html =>
  html`<dl>${pairs.map(([name, value]) => value !== null && html`<div><dt>${name}</dt><dd>${value}</dd></div>`)}</dl>`

/** Writes a part of the page with its heading; `id` is what the stream calls it. */
export const section = (
  id: string,
  heading: Shown,
  body: Shown,
  more?: Shown,
): Html => html`<section id="${id}" aria-labelledby="${id}-heading">
<div class="heading"><h2 id="${id}-heading">${heading}</h2>${more}</div>
${body}
</section>`

/** Writes what can be done about something that the overview shows. */
export const links = <Place extends keyof Places>(place: Place, about: Places[Place]): readonly Html[] =>
  commandGroups
    .flatMap(({ commands }) =>
      commands.flatMap(({ page, links }) => {
        const link = links[place]?.(about)
        return link == null ? [] : [action(page, link)]
      }),
    )
    .map((link, i) => (i === 0 ? link : html` ${link}`))

/** Writes a link to the page of a command, which asks before anything happens. */
const action = (page: string, { given, words, about }: Link): Html => {
  const id = `do-${page}${Object.values(given).map((value) => `-${value}`)}`
  return html`<a class="action" id="${id}" href="${hrefOf(page, given)}">${words}${about !== undefined && html`<span class="unseen"> ${about}</span>`}</a>`
}
