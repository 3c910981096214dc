import type { OperationView, Overview, PageView } from '../../../core/admin/api/overview.ts'
import { stepSeconds } from '../../../core/admin/rate-history.ts'
import { now, unrefTimeout } from '../../../core/lib/clock.ts'
import type { OperationId } from '../../../operations.ts'
import { assetsVersion } from './assets.ts'
import { pageTitle, renderSections } from './overview-page.ts'
import { instanceHtml, instanceId } from './page-response.ts'

const tickMs = 1000
/** The most pages that are kept up to date: operators are few, and each page costs. */
export const maxStreams = 16
// A browser that reads nothing for that long has gone, or the connection to it is dead.
const maxBlockedTicks = 30
// A long list of recent errors changes with each of them: sent every second, it would be nearly all that is sent.
const largePartLength = 32 * 1024
const largePartTicks = 5

export interface SseSink {
  /** Writes to the page. False: it takes no more until {@link SseStream.onDrain}. */
  write(text: string): boolean
  /** Ends the stream: in good order or, `atOnce`, without waiting for what was not read yet. */
  end(atOnce: boolean): void
  /** Checks whether its operator may still see the page: a session ends, a token is replaced. */
  isAuthorized(): boolean
}

export interface SseStream {
  /** Called when what was written is on its way. */
  onDrain(): void
  onClose(): void
}

interface SseSubscriber extends SseStream {
  readonly sink: SseSink
  /** The parts that it has not been sent in their last state. */
  readonly stale: Set<PartName>
  /** For how many ticks it has taken nothing; null: it takes more. */
  blocked: number | null
  sent: number
}

/** Why a stream ends. The page says so, and reconnects or does not. */
type StreamEndReason = 'session' | 'leaving'

/**
 * Keeps pages up to date. Once a second it collects the overview, for all of them together, and only while there are
 * any. A page that reads slowly is left out until it has read what it was sent, and then gets what is true by then:
 * nothing piles up.
 */
export class SseHub {
  readonly #getView: () => Promise<PageView>
  readonly #subscribers = new Set<SseSubscriber>()
  #last: PageState | null = null
  #stop: (() => void) | null = null
  #ticking = false
  #ended = false

  constructor(getView: () => Promise<PageView>) {
    this.#getView = getView
  }

  get size(): number {
    return this.#subscribers.size
  }

  /**
   * Opens a stream, which is sent the whole page at the next tick. Null: there are too many, or the gateway is
   * stopping.
   */
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

  /** Ends the streams of operators who may no longer see the page. Each tick does so too. */
  recheck(): void {
    for (const subscriber of [...this.#subscribers])
      if (!subscriber.sink.isAuthorized()) this.#end(subscriber, 'session')
  }

  /** Ends all streams, and opens none any more. */
  end(): void {
    this.#ended = true
    for (const subscriber of [...this.#subscribers]) this.#end(subscriber, 'leaving')
  }

  async #tick(): Promise<void> {
    this.#ticking = true
    this.#stop = null
    const startedAt = now()
    // A failure now may be over at the next tick. A page that is sent nothing shows by itself that it is stale.
    const state = await this.#getView().then(renderPageState, () => null)
    this.#ticking = false
    this.recheck() // not before: a stream that was just opened has no head yet
    if (state !== null) this.#send(state)
    if (this.#subscribers.size === 0) return this.#pause()
    this.#stop = unrefTimeout(startedAt + tickMs - now(), () => void this.#tick())
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

  /** Stops collecting, and keeps nothing: no page is open. */
  #pause(): void {
    this.#stop?.()
    this.#stop = null
    this.#last = null
  }
}

/** The page at one moment, rendered: parts that two states have in common need not be sent again. */
interface PageState {
  readonly at: string
  readonly title: string
  readonly parts: ReadonlyMap<PartName, string>
}

/**
 * A part that is sent by itself: as HTML, a section or which gateway it is, by the `id` of its element; or the data of
 * the charts, as JSON.
 */
type PartName = string

const renderPageState = (overview: PageView): PageState => ({
  at: overview.at,
  title: pageTitle(overview),
  parts: new Map<PartName, string>([
    ...renderSections(overview).map(([name, section]) => [name, section.toString()] as const),
    [instanceId, instanceHtml(overview.status.instance).toString()],
    ['charts', JSON.stringify(chartsData(overview))],
  ]),
})

const changedParts = (before: PageState | null, { parts }: PageState): readonly PartName[] =>
  [...parts.keys()].filter((name) => before?.parts.get(name) !== parts.get(name))

/**
 * Renders the event that brings a page up to date by some of its parts, or, without parts, confirms that it is. A page
 * that was loaded from another version of the gateway sees by `assets` that its scripts are not those of what it is
 * sent.
 */
const renderTick = ({ at, title, parts }: PageState, names: Iterable<PartName>): string => {
  const { charts, ...sections } = Object.fromEntries([...names].map((name) => [name, parts.get(name)]))
  const json = JSON.stringify({ at, title, assets: assetsVersion(), sections })
  return `event: tick\ndata: ${charts === undefined ? json : `${json.slice(0, -1)},"charts":${charts}}`}\n\n`
}

/** What the charts of the page are drawn from. Times are seconds since the epoch. */
interface ChartsData {
  /** The end of the newest step. */
  readonly until: number
  readonly operations: Readonly<Partial<Record<OperationId, OperationHistory>>>
  /** When another configuration took effect. */
  readonly reloads: readonly number[]
}

type OperationHistory = NonNullable<OperationView['history']>

/** Collects what the charts are drawn from. It is another only when there is another step. */
export const chartsData = ({
  at,
  operations,
  reloads,
}: Pick<Overview, 'at' | 'operations' | 'reloads'>): ChartsData => ({
  until: Math.trunc(Date.parse(at) / 1000 / stepSeconds) * stepSeconds,
  operations: Object.fromEntries(
    operations.flatMap(({ id, history }) => (history === null ? [] : [[id, roundHistory(history)]])),
  ),
  reloads: reloads.flatMap((reload) => (reload.result === 'applied' ? [Math.trunc(Date.parse(reload.at) / 1000)] : [])),
})

/** Leaves out digits that no eye can see in a chart, and that would be most of what is sent. */
const roundHistory = ({
  stepSeconds: step,
  perSecond,
  errorsPerSecond,
  p99Ms,
}: OperationHistory): OperationHistory => ({
  stepSeconds: step,
  perSecond: perSecond.map(roundDigits),
  errorsPerSecond: errorsPerSecond.map(roundDigits),
  p99Ms: p99Ms.map((ms) => ms && roundDigits(ms)),
})

const roundDigits = (value: number): number => Number(value.toPrecision(3))
