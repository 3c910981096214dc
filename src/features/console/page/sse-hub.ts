import type { Overview } from '../../../core/admin/admin-part.ts'
import { now, unrefTimeout } from '../../../core/lib/clock.ts'
import type { OperationView, PageView } from '../../overview/overview.ts'
import { stepSeconds } from '../../overview/rate-history.ts'
import { assetsVersion } from './assets.ts'
import { instanceHtml, instanceId } from './page-response.ts'

const tickMs = 1000
/** Operators are few, and each page costs. */
export const maxStreams = 16
// A browser that reads nothing for 30 s has gone, or its connection is dead.
const maxBlockedTicks = 30
// A list of recent errors changes with each error: sent every second, it would be nearly all the traffic.
const largePartLength = 32 * 1024
const largePartTicks = 5

export interface SseSink {
  /** False: the page takes no more until {@link SseStream.onDrain}. */
  write(text: string): boolean
  /** `atOnce`: drops what was not read yet. */
  end(atOnce: boolean): void
  /** The operator may still see the page: sessions end, tokens are replaced. */
  isAuthorized(): boolean
}

export interface SseStream {
  /** Called when the written text is on its way. */
  onDrain(): void
  onClose(): void
}

interface SseSubscriber extends SseStream {
  readonly sink: SseSink
  /** The parts whose last state was not sent yet. */
  readonly stale: Set<PartName>
  /** Ticks since the page last read; null: it reads. */
  blocked: number | null
  sent: number
}

/** The page shows it, and reconnects or does not. */
type StreamEndReason = 'session' | 'leaving'

export type SseHub = ReturnType<typeof createSseHub>

/**
 * Once a second, collects one overview for all pages. A slow page is skipped until it has read everything, then gets
 * the current state: nothing piles up.
 */
export const createSseHub = (getView: () => Promise<PageView>) => {
  const subscribers = new Set<SseSubscriber>()
  let last: PageState | null = null
  let stop: (() => void) | null = null
  let [isTicking, hasEnded] = [false, false]

  const tick = async (): Promise<void> => {
    isTicking = true
    stop = null
    const startedAt = now()
    // A failure may be over at the next tick. A page that is sent nothing shows that it is stale.
    const state = await getView().then(renderPageState, () => null)
    isTicking = false
    recheck() // not before: a stream that was just opened has no head yet
    if (state !== null) send(state)
    if (subscribers.size === 0) return pause()
    stop = unrefTimeout(startedAt + tickMs - now(), () => void tick())
  }
  const send = (state: PageState): void => {
    const changed = changedParts(last, state)
    last = state
    for (const subscriber of [...subscribers]) {
      for (const name of changed) subscriber.stale.add(name)
      if (subscriber.blocked === null) write(subscriber, state)
      else if (++subscriber.blocked > maxBlockedTicks) drop(subscriber)
    }
  }
  const pause = (): void => {
    stop?.()
    stop = null
    last = null
  }
  /** Each tick does so too. */
  const recheck = (): void => {
    for (const subscriber of [...subscribers]) if (!subscriber.sink.isAuthorized()) end(subscriber, 'session')
  }
  return {
    size: () => subscribers.size,
    recheck,
    /** The next tick sends the whole page. Null: there are too many streams, or the gateway is stopping. */
    open(sink: SseSink): SseStream | null {
      if (hasEnded || subscribers.size >= maxStreams) return null
      const subscriber: SseSubscriber = {
        sink,
        stale: new Set(last?.parts.keys()),
        blocked: null,
        sent: 0,
        onDrain: () => {
          subscriber.blocked = null
        },
        onClose: () => {
          subscribers.delete(subscriber)
          if (subscribers.size === 0) pause()
        },
      }
      subscribers.add(subscriber)
      if (!isTicking && stop === null) void tick()
      return subscriber
    },
    /** Opens none any more. */
    end(): void {
      hasEnded = true
      for (const subscriber of [...subscribers]) end(subscriber, 'leaving')
    },
  }
}

const write = (subscriber: SseSubscriber, state: PageState): void => {
  const { sink, stale } = subscriber
  const isLongDue = subscriber.sent++ % largePartTicks === 0
  const due = [...stale].filter((name) => isLongDue || (state.parts.get(name)?.length ?? 0) < largePartLength)
  for (const name of due) stale.delete(name)
  if (!sink.write(renderTick(state, due))) subscriber.blocked = 0
}

const end = (subscriber: SseSubscriber, reason: StreamEndReason): void => {
  subscriber.onClose()
  if (subscriber.blocked === null) subscriber.sink.write(`event: end\ndata: ${reason}\n\n`)
  subscriber.sink.end(subscriber.blocked !== null)
}

const drop = (subscriber: SseSubscriber): void => {
  subscriber.onClose()
  subscriber.sink.end(true)
}

type PageState = Awaited<ReturnType<typeof renderPageState>>

/** The `id` of an element (HTML: a section or the gateway's name), or the charts' data (JSON). */
type PartName = string

const renderPageState = async (overview: PageView) => {
  const { pageTitle, renderSections } = await import('./overview-page.ts')
  return {
    at: overview.at,
    title: pageTitle(overview),
    parts: new Map<PartName, string>([
      ...renderSections(overview).map(([name, section]) => [name, section.toString()] as const),
      [instanceId, instanceHtml(overview.status.instance).toString()],
      ['charts', JSON.stringify(chartsData(overview))],
    ]),
  }
}

const changedParts = (before: PageState | null, { parts }: PageState): readonly PartName[] =>
  [...parts.keys()].filter((name) => before?.parts.get(name) !== parts.get(name))

/** Without parts, confirms the page. By `assets`, a page from another version learns that its scripts are outdated. */
const renderTick = ({ at, title, parts }: PageState, names: Iterable<PartName>): string => {
  const { charts, ...sections } = Object.fromEntries([...names].map((name) => [name, parts.get(name)]))
  const json = JSON.stringify({ at, title, assets: assetsVersion(), sections })
  return `event: tick\ndata: ${charts === undefined ? json : `${json.slice(0, -1)},"charts":${charts}}`}\n\n`
}

type OperationHistory = NonNullable<OperationView['history']>

/** The same object until there is another step. */
export const chartsData = ({ at, operations, reloads }: Pick<Overview, 'at' | 'operations' | 'reloads'>) => ({
  /** The end of the newest step, in seconds since the epoch. */
  until: Math.trunc(Date.parse(at) / 1000 / stepSeconds) * stepSeconds,
  operations: Object.fromEntries(
    operations.flatMap(({ id, history }) => (history === null ? [] : [[id, roundHistory(history)]])),
  ),
  reloads: reloads.flatMap((reload) => (reload.result === 'applied' ? [Math.trunc(Date.parse(reload.at) / 1000)] : [])),
})

/** Removes digits that no chart shows, and that would be most of the traffic. */
const roundHistory = (history: OperationHistory): OperationHistory => ({
  ...history,
  perSecond: history.perSecond.map(roundDigits),
  errorsPerSecond: history.errorsPerSecond.map(roundDigits),
  p99Ms: history.p99Ms.map((ms) => ms && roundDigits(ms)),
})

const roundDigits = (value: number): number => Number(value.toPrecision(3))
