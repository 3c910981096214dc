import type { Overview } from '../../../admin/overview.ts'
import type { Status } from '../../../admin/status.ts'
import { span } from '../print.ts'
import { findingsText, limitRows, upstreamRows, workerRows } from '../sections.ts'
import { type Row, table } from '../table.ts'
import { operationLines } from './operation-lines.ts'
import { type Line, line, type Means, type Tone, wrapped } from './screen.ts'

/** Is what there is to show. */
export interface Seen {
  readonly url: string
  readonly overview: Overview
  /** When that was so, by the gateway's clock. */
  readonly at: number
  /** Why there is nothing newer, and for how long; null: it is as new as can be. */
  readonly stale: { readonly seconds: number; readonly why: string } | null
}

/** Lists the lines of a screen: what is wrong first, then the nine, the endpoints, and how full the gateway is. */
export const frame = ({ url, overview, at, stale }: Seen, means: Means): readonly Line[] => {
  const { status, operations } = overview
  const { findings, upstreams, limits, workers, config } = status
  const bounds = limitRows(limits, at)
  const blocks: readonly (readonly Line[])[] = [
    [
      line(head(url, status, at), isWell(status) ? 'title' : 'critical'),
      ...(stale === null ? [] : wrapped(staleLine(stale), means.columns, 2)),
    ],
    findingLines(findingsText(findings, at).split('\n'), means),
    operationLines(operations, means),
    tabular(upstreamRows(upstreams, at), means),
    workers.length === 0 ? [] : tabular(workerRows(workers, config.hash, at), means),
    bounds.length > 1 ? tabular(bounds, means) : [],
  ]
  return blocks.filter((lines) => lines.length > 0).flatMap((lines, i) => (i === 0 ? lines : [line(''), ...lines]))
}

/** Keeps as many lines as there is room for, and says how many there are below. */
export const cropped = (lines: readonly Line[], rows: number): readonly Line[] => {
  if (lines.length <= rows) return lines
  const kept = lines.slice(0, Math.max(0, rows - 1))
  return [...kept, line(`${lines.length - kept.length} lines more: a higher window, or status`, 'title')]
}

const head = (url: string, { version, state, ready, uptimeSeconds, config }: Status, at: number): string =>
  [
    `lender-gateway ${version}`,
    `${state === 'serving' ? state : state.toUpperCase()}, ${ready ? 'ready' : 'NOT READY'}`,
    `config ${config.hash}${config.fileDiffers ? ', FILE DIFFERS' : ''}`,
    `up ${span(uptimeSeconds)}`,
    `${new Date(at).toISOString().slice(0, 19)}Z`,
    url,
  ].join(' | ')

const isWell = ({ state, ready, config }: Status): boolean => state === 'serving' && ready && !config.fileDiffers

const staleLine = ({ seconds, why }: NonNullable<Seen['stale']>): Line =>
  line(`STALE: what stands here was so ${span(seconds)} ago; ${why}`, 'critical')

const tabular = (rows: readonly Row[], { columns }: Means): readonly Line[] =>
  table(rows)
    .split('\n')
    .map((text, i) => line(text, i === 0 ? 'title' : rowTone(text)))
    .flatMap((each) => (each.tone === 'critical' ? wrapped(each, columns, 4) : [each])) // why it is so stands at the end

/** What needs somebody is in capitals. */
const rowTone = (text: string): Tone =>
  /\b(DOWN|EJECTED|OPEN|USED UP|FULL|SHEDS|NOT ANSWERING|RUNS ANOTHER|OF NO USE|ENDED AGAIN)\b/.test(text)
    ? 'critical'
    : 'plain'

/** A third of the window is for them: below stands what else is to be seen. */
const findingLines = (texts: readonly string[], { columns, rows }: Means): readonly Line[] => {
  const lines = texts.flatMap((text) => wrapped(line(text, findingTone(text)), columns, 10))
  const room = Math.max(3, Math.floor(rows / 3))
  if (lines.length <= room) return lines
  const kept = lines.slice(0, room - 1)
  return [...kept, line(`${lines.length - kept.length} lines more of what is wrong: status shows all`, 'title')]
}

const findingTone = (text: string): Tone => {
  if (text.startsWith('CRITICAL')) return 'critical'
  if (text.startsWith('warning')) return 'warning'
  return text === 'nothing is wrong' ? 'good' : 'plain'
}
