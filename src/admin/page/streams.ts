import type { OperationId } from '../../catalog.ts'
import { later, now } from '../../clock.ts'
import type { OperationView, Overview } from '../overview.ts'
import { assetsVersion } from './assets.ts'
import { type SectionName, sections, titleOf } from './page.ts'

const tickMs = 1000
/** How many pages are kept up to date at most: operators are few, and each costs. */
export const maxStreams = 16
// Whoever reads nothing for that long has gone, or the way to him has.
const patienceTicks = 30
// A long list of what was refused changes with every request that is: sent each second, it would be nearly all that is sent.
const longText = 32 * 1024
const longTicks = 5

/** Takes what is sent to one page. */
export interface Sink {
  /** Tells whether it may be given more; if not, it says so by {@link Stream.drained}. */
  write(text: string): boolean
  /** Ends the stream, in good order or, `atOnce`, without waiting for what was not read yet. */
  end(atOnce: boolean): void
  /** Tells whether whoever opened it may still see the page: a session ends, a token is replaced. */
  mayStay(): boolean
}

/** Is one page that is kept up to date. */
export interface Stream {
  /** Says that what was written is on its way. */
  drained(): void
  /** Says that there is nobody any more. */
  gone(): void
}

interface Watcher extends Stream {
  readonly sink: Sink
  /** What it has not been sent yet. */
  readonly stale: Set<PartName>
  /** For how many ticks it has taken nothing; null: it takes. */
  blocked: number | null
  /** How many events it has been sent. */
  sent: number
}

/** Why a stream ends; the page says so, and tries again or does not. */
type Reason = 'session' | 'leaving'

/**
 * Keeps pages up to date: once a second it is looked at what there is, for all of them together, and only while there are any. One that
 * reads slowly is left out until it has read what it was sent, and then gets what is true by then: nothing gathers up.
 */
export class Streams {
  readonly #view: () => Promise<Overview>
  readonly #watchers = new Set<Watcher>()
  #last: Frame | null = null
  #stop: (() => void) | null = null
  #ticking = false
  #ended = false

  constructor(view: () => Promise<Overview>) {
    this.#view = view
  }

  /** How many there are. */
  get size(): number {
    return this.#watchers.size
  }

  /** Adds one, which is sent the whole page at the next tick; null: there are too many, or the listener is being left. */
  open(sink: Sink): Stream | null {
    if (this.#ended || this.#watchers.size >= maxStreams) return null
    const watcher: Watcher = {
      sink,
      stale: new Set(this.#last?.parts.keys()),
      blocked: null,
      sent: 0,
      drained: () => {
        watcher.blocked = null
      },
      gone: () => {
        this.#watchers.delete(watcher)
        if (this.#watchers.size === 0) this.#rest()
      },
    }
    this.#watchers.add(watcher)
    if (!this.#ticking && this.#stop === null) void this.#tick()
    return watcher
  }

  /** Ends all, and lets none in any more. */
  end(): void {
    this.#ended = true
    for (const watcher of [...this.#watchers]) this.#end(watcher, 'leaving')
  }

  async #tick(): Promise<void> {
    this.#ticking = true
    this.#stop = null
    const begun = now()
    for (const watcher of [...this.#watchers]) if (!watcher.sink.mayStay()) this.#end(watcher, 'session')
    // What cannot be told now may be at the next tick; a page that is sent nothing says by itself that it is stale.
    const frame = this.#watchers.size === 0 ? null : await this.#view().then(frameOf, () => null)
    this.#ticking = false
    if (frame !== null) this.#send(frame)
    if (this.#watchers.size === 0) return this.#rest()
    this.#stop = later(Math.max(0, begun + tickMs - now()), () => void this.#tick())
  }

  #send(frame: Frame): void {
    const changed = changedParts(this.#last, frame)
    this.#last = frame
    for (const watcher of [...this.#watchers]) {
      for (const name of changed) watcher.stale.add(name)
      if (watcher.blocked === null) this.#write(watcher, frame)
      else if (++watcher.blocked > patienceTicks) this.#drop(watcher)
    }
  }

  #write(watcher: Watcher, frame: Frame): void {
    const { sink, stale } = watcher
    const isLongDue = watcher.sent++ % longTicks === 0
    const due = [...stale].filter((name) => isLongDue || (frame.parts.get(name)?.length ?? 0) < longText)
    for (const name of due) stale.delete(name)
    if (!sink.write(eventOf(frame, due))) watcher.blocked = 0
  }

  #end(watcher: Watcher, reason: Reason): void {
    watcher.gone()
    if (watcher.blocked === null) watcher.sink.write(`event: end\ndata: ${reason}\n\n`)
    watcher.sink.end(watcher.blocked !== null)
  }

  #drop(watcher: Watcher): void {
    watcher.gone()
    watcher.sink.end(true)
  }

  /** Nobody watches: nothing is looked at, and nothing kept. */
  #rest(): void {
    this.#stop?.()
    this.#stop = null
    this.#last = null
  }
}

/** Is all that a page shows at one moment, written out: what two of them have in common need not be sent again. */
export interface Frame {
  readonly at: string
  readonly title: string
  readonly parts: ReadonlyMap<PartName, string>
}

/** Names what is sent by itself: a section, as HTML, or what the charts draw, as JSON. */
type PartName = SectionName | 'charts'

/** Writes out all that a page shows. */
const frameOf = (overview: Overview): Frame => ({
  at: overview.at,
  title: titleOf(overview),
  parts: new Map<PartName, string>([
    ...(Object.keys(sections) as SectionName[]).map((name) => [name, sections[name](overview).toString()] as const),
    ['charts', JSON.stringify(chartsOf(overview.operations))],
  ]),
})

/** Lists which parts of a frame are others than those of the one before it; null: there was none. */
const changedParts = (before: Frame | null, { parts }: Frame): readonly PartName[] =>
  [...parts.keys()].filter((name) => before?.parts.get(name) !== parts.get(name))

/**
 * Writes the event that brings a page up to date by some of its parts; none: that it is. A page that was loaded from another version of the gateway
 * knows by `assets` that its scripts are not those of what it is sent.
 */
const eventOf = ({ at, title, parts }: Frame, names: Iterable<PartName>): string => {
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
