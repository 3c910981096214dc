import type { Overview } from '../../../core/admin/admin-part.ts'
import { now, unrefTimeout } from '../../../core/lib/clock.ts'
import type { OperationView, PageView } from '../../overview/overview.ts'
import { stepSeconds } from '../../overview/rate-history.ts'
import { assetsVersion } from './assets.ts'
import { instanceHtml, instanceId } from './page-response.ts'

const tickMs = 1000
export const maxStreams = 16
// A browser that reads nothing for 30 s has gone.
const maxBlockedTicks = 30
// Larger parts, such as the list of recent errors, would be most of the traffic if sent every second.
const largePartLength = 32 * 1024
const largePartTicks = 5

export interface SseSink {
  /** False: write no more until {@link SseStream.onDrain}. */
  write(text: string): boolean
  /** `atOnce`: drops unread text. */
  end(atOnce: boolean): void
  /** A session ends, a token is replaced. */
  isAuthorized(): boolean
}

export interface SseStream {
  onDrain(): void
  onClose(): void
}

interface SseSubscriber extends SseStream {
  readonly sink: SseSink
  /** Parts whose last state was not sent. */
  readonly stale: Set<PartName>
  /** Ticks since the page stopped reading; null: it reads. */
  blocked: number | null
  sent: number
}

type StreamEndReason = 'session' | 'leaving'

export type SseHub = ReturnType<typeof createSseHub>

/**
 * Once a second, collects one overview for all pages. A slow page is skipped until it has read everything, so nothing
 * piles up.
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
    // A page that gets nothing shows that it is stale; the next tick may succeed.
    const state = await getView().then(renderPageState, () => null)
    isTicking = false
    recheck() // after the await: a new stream has no head before
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
  const recheck = (): void => {
    for (const subscriber of [...subscribers]) if (!subscriber.sink.isAuthorized()) end(subscriber, 'session')
  }
  return {
    size: () => subscribers.size,
    recheck,
    /** The next tick sends the whole page. Null: too many streams, or the gateway is stopping. */
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

/** The `id` of an element, or `charts` for their data. */
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

/** Without parts, confirms the page. `assets` shows a page of another version that its scripts are outdated. */
const renderTick = ({ at, title, parts }: PageState, names: Iterable<PartName>): string => {
  const { charts, ...sections } = Object.fromEntries([...names].map((name) => [name, parts.get(name)]))
  const json = JSON.stringify({ at, title, assets: assetsVersion(), sections })
  return `event: tick\ndata: ${charts === undefined ? json : `${json.slice(0, -1)},"charts":${charts}}`}\n\n`
}

type OperationHistory = NonNullable<OperationView['history']>

export const chartsData = ({ at, operations, reloads }: Pick<Overview, 'at' | 'operations' | 'reloads'>) => ({
  /** The end of the newest step, in seconds. */
  until: Math.trunc(Date.parse(at) / 1000 / stepSeconds) * stepSeconds,
  operations: Object.fromEntries(
    operations.flatMap(({ id, history }) => (history === null ? [] : [[id, roundHistory(history)]])),
  ),
  reloads: reloads.flatMap((reload) => (reload.result === 'applied' ? [Math.trunc(Date.parse(reload.at) / 1000)] : [])),
})

/** Digits that no chart shows would be most of the traffic. */
const roundHistory = (history: OperationHistory): OperationHistory => ({
  ...history,
  perSecond: history.perSecond.map(roundDigits),
  errorsPerSecond: history.errorsPerSecond.map(roundDigits),
  p99Ms: history.p99Ms.map((ms) => ms && roundDigits(ms)),
})

const roundDigits = (value: number): number => Number(value.toPrecision(3))
