import type { OperationId } from '../../catalog.ts'
import type { OperationView, Overview } from '../overview.ts'
import { assetsVersion } from './assets.ts'
import { type SectionName, sections, titleOf } from './page.ts'

/** Is all that a page shows at one moment, written out: what two of them have in common need not be sent again. */
export interface Frame {
  readonly at: string
  readonly title: string
  readonly parts: ReadonlyMap<PartName, string>
}

/** Names what is sent by itself: a section, as HTML, or what the charts draw, as JSON. */
export type PartName = SectionName | 'charts'

/** Writes out all that a page shows. */
export const frameOf = (overview: Overview): Frame => ({
  at: overview.at,
  title: titleOf(overview),
  parts: new Map<PartName, string>([
    ...(Object.keys(sections) as SectionName[]).map((name) => [name, sections[name](overview).toString()] as const),
    ['charts', JSON.stringify(chartsOf(overview.operations))],
  ]),
})

/** Lists which parts of a frame are others than those of the one before it; null: there was none. */
export const changedParts = (before: Frame | null, { parts }: Frame): readonly PartName[] =>
  [...parts.keys()].filter((name) => before?.parts.get(name) !== parts.get(name))

/**
 * Writes the event that brings a page up to date by some of its parts; none: that it is. A page that was loaded from another version of the gateway
 * knows by `assets` that its scripts are not those of what it is sent.
 */
export const eventOf = ({ at, title, parts }: Frame, names: Iterable<PartName>): string => {
  const { charts, ...sections } = Object.fromEntries([...names].map((name) => [name, parts.get(name)]))
  const said = JSON.stringify({ at, title, assets: assetsVersion(), sections })
  return `event: tick\ndata: ${charts === undefined ? said : `${said.slice(0, -1)},"charts":${charts}}`}\n\n`
}

type Charts = Readonly<Partial<Record<OperationId, NonNullable<OperationView['history']>>>>

const chartsOf = (operations: readonly OperationView[]): Charts =>
  Object.fromEntries(operations.flatMap(({ id, history }) => (history === null ? [] : [[id, rounded(history)]])))

/** Leaves out digits that nobody could see, and that would be most of what is sent. */
const rounded = ({ stepSeconds, perSecond, errorsPerSecond, p99Ms }: NonNullable<OperationView['history']>) => ({
  stepSeconds,
  perSecond: perSecond.map(short),
  errorsPerSecond: errorsPerSecond.map(short),
  p99Ms: p99Ms.map((ms) => ms && short(ms)),
})

const short = (value: number): number => Number(value.toPrecision(3))
