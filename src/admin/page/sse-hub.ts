import { now, unrefTimeout } from '../../clock.ts'
import type { OperationId } from '../../operations.ts'
import type { OperationView, Overview } from '../api/overview.ts'
import { assetsVersion } from './assets.ts'
import { pageSections, pageTitle, type SectionName } from './overview-page.ts'

const tickMs = 1000
/** How many pages are kept up to date at most: operators are few, and each costs. */
export const maxStreams = 16
// Whoever reads nothing for that long has gone, or the way to him has.
const maxBlockedTicks = 30
// A long list of what was refused changes with every request that is: sent each second, it would be nearly all that is sent.
const largePartLength = 32 * 1024
const largePartTicks = 5

/** Takes what is sent to one page. */
export interface SseSink {
  /** Tells whether it may be given more; if not, it says so by {@link SseStream.onDrain}. */
  write(text: string): boolean
  /** Ends the stream, in good order or, `atOnce`, without waiting for what was not read yet. */
  end(atOnce: boolean): void
  /** Tells whether whoever opened it may still see the page: a session ends, a token is replaced. */
  isAuthorized(): boolean
}

/** Is one page that is kept up to date. */
export interface SseStream {
  /** Says that what was written is on its way. */
  onDrain(): void
  /** Says that there is nobody any more. */
  onClose(): void
}

interface SseSubscriber extends SseStream {
  readonly sink: SseSink
  /** What it has not been sent yet. */
  readonly stale: Set<PartName>
  /** For how many ticks it has taken nothing; null: it takes. */
  blocked: number | null
  /** How many events it has been sent. */
  sent: number
}

/** Why a stream ends; the page says so, and tries again or does not. */
type StreamEndReason = 'session' | 'leaving'

/**
 * Keeps pages up to date: once a second it is looked at what there is, for all of them together, and only while there are any. One that
 * reads slowly is left out until it has read what it was sent, and then gets what is true by then: nothing gathers up.
 */
export class SseHub {
  readonly #getOverview: () => Promise<Overview>
  readonly #subscribers = new Set<SseSubscriber>()
  #last: PageState | null = null
  #stop: (() => void) | null = null
  #ticking = false
  #ended = false

  constructor(getOverview: () => Promise<Overview>) {
    this.#getOverview = getOverview
  }

  /** How many there are. */
  get size(): number {
    return this.#subscribers.size
  }

  /** Adds one, which is sent the whole page at the next tick; null: there are too many, or the listener is being left. */
  open(sink: SseSink): SseStream | null {
    if (this.#ended || this.#subscribers.size >= maxStreams) return null
    const subscriber: SseSubscriber = {
      sink,
      stale: new Set(this.#last?.parts.keys()),
      blocked: null,
      sent: 0,
      onDrain: () => {
        subscriber.blocked = null
      },
      onClose: () => {
        this.#subscribers.delete(subscriber)
        if (this.#subscribers.size === 0) this.#pause()
      },
    }
    this.#subscribers.add(subscriber)
    if (!this.#ticking && this.#stop === null) void this.#tick()
    return subscriber
  }

  /** Ends all, and lets none in any more. */
  end(): void {
    this.#ended = true
    for (const subscriber of [...this.#subscribers]) this.#end(subscriber, 'leaving')
  }

  async #tick(): Promise<void> {
    this.#ticking = true
    this.#stop = null
    const begun = now()
    for (const subscriber of [...this.#subscribers])
      if (!subscriber.sink.isAuthorized()) this.#end(subscriber, 'session')
    // What cannot be told now may be at the next tick; a page that is sent nothing says by itself that it is stale.
    const state = this.#subscribers.size === 0 ? null : await this.#getOverview().then(renderPageState, () => null)
    this.#ticking = false
    if (state !== null) this.#send(state)
    if (this.#subscribers.size === 0) return this.#pause()
    this.#stop = unrefTimeout(Math.max(0, begun + tickMs - now()), () => void this.#tick())
  }

  #send(state: PageState): void {
    const changed = changedParts(this.#last, state)
    this.#last = state
    for (const subscriber of [...this.#subscribers]) {
      for (const name of changed) subscriber.stale.add(name)
      if (subscriber.blocked === null) this.#write(subscriber, state)
      else if (++subscriber.blocked > maxBlockedTicks) this.#drop(subscriber)
    }
  }

  #write(subscriber: SseSubscriber, state: PageState): void {
    const { sink, stale } = subscriber
    const isLongDue = subscriber.sent++ % largePartTicks === 0
    const due = [...stale].filter((name) => isLongDue || (state.parts.get(name)?.length ?? 0) < largePartLength)
    for (const name of due) stale.delete(name)
    if (!sink.write(renderTick(state, due))) subscriber.blocked = 0
  }

  #end(subscriber: SseSubscriber, reason: StreamEndReason): void {
    subscriber.onClose()
    if (subscriber.blocked === null) subscriber.sink.write(`event: end\ndata: ${reason}\n\n`)
    subscriber.sink.end(subscriber.blocked !== null)
  }

  #drop(subscriber: SseSubscriber): void {
    subscriber.onClose()
    subscriber.sink.end(true)
  }

  /** Nobody watches: nothing is looked at, and nothing kept. */
  #pause(): void {
    this.#stop?.()
    this.#stop = null
    this.#last = null
  }
}

/** Is all that a page shows at one moment, written out: what two of them have in common need not be sent again. */
export interface PageState {
  readonly at: string
  readonly title: string
  readonly parts: ReadonlyMap<PartName, string>
}

/** Names what is sent by itself: a section, as HTML, or what the charts draw, as JSON. */
type PartName = SectionName | 'charts'

/** Writes out all that a page shows. */
const renderPageState = (overview: Overview): PageState => ({
  at: overview.at,
  title: pageTitle(overview),
  parts: new Map<PartName, string>([
    ...(Object.keys(pageSections) as SectionName[]).map(
      (name) => [name, pageSections[name](overview).toString()] as const,
    ),
    ['charts', JSON.stringify(toCharts(overview.operations))],
  ]),
})

/** Lists which parts of a frame are others than those of the one before it; null: there was none. */
const changedParts = (before: PageState | null, { parts }: PageState): readonly PartName[] =>
  [...parts.keys()].filter((name) => before?.parts.get(name) !== parts.get(name))

/**
 * Writes the event that brings a page up to date by some of its parts; none: that it is. A page that was loaded from another version of the gateway
 * knows by `assets` that its scripts are not those of what it is sent.
 */
const renderTick = ({ at, title, parts }: PageState, names: Iterable<PartName>): string => {
  const { charts, ...sections } = Object.fromEntries([...names].map((name) => [name, parts.get(name)]))
  const json = JSON.stringify({ at, title, assets: assetsVersion(), sections })
  return `event: tick\ndata: ${charts === undefined ? json : `${json.slice(0, -1)},"charts":${charts}}`}\n\n`
}

type Charts = Readonly<Partial<Record<OperationId, NonNullable<OperationView['history']>>>>

const toCharts = (operations: readonly OperationView[]): Charts =>
  Object.fromEntries(operations.flatMap(({ id, history }) => (history === null ? [] : [[id, roundHistory(history)]])))

/** Leaves out digits that nobody could see, and that would be most of what is sent. */
const roundHistory = ({ stepSeconds, perSecond, errorsPerSecond, p99Ms }: NonNullable<OperationView['history']>) => ({
  stepSeconds,
  perSecond: perSecond.map(roundDigits),
  errorsPerSecond: errorsPerSecond.map(roundDigits),
  p99Ms: p99Ms.map((ms) => ms && roundDigits(ms)),
})

const roundDigits = (value: number): number => Number(value.toPrecision(3))
