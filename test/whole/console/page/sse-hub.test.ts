import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { Principal } from '../../../../src/core/admin/access/principal.ts'
import { assetsVersion } from '../../../../src/features/console/page/assets.ts'
import { pageSections, renderOverviewPage } from '../../../../src/features/console/page/overview-page.ts'
import { createSseHub, maxStreams, type SseSink } from '../../../../src/features/console/page/sse-hub.ts'
import type { PageView } from '../../../../src/features/overview/overview.ts'
import { fixture } from './fixture.ts'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

interface Tick {
  readonly at: string
  readonly title: string
  readonly sections: Readonly<Record<string, string>>
  readonly charts?: object
}

/** Opens streams on an overview that a test changes as it goes, and counts how often it is read. */
const opened = () => {
  const source = { overview: fixture, reads: 0, fails: false }
  const streams = createSseHub(async () => {
    source.reads++
    if (source.fails) throw new Error('the workers do not answer')
    return source.overview
  })
  return { source, streams }
}

/** A page that reads as a test has it read. */
const reader = (more: Partial<SseSink> = {}) => {
  const received: string[] = []
  const state = { takes: true, may: true, ended: null as 'well' | 'at once' | null }
  const sink: SseSink = {
    write: (text) => {
      received.push(text)
      return state.takes
    },
    end: (atOnce) => {
      state.ended = atOnce ? 'at once' : 'well'
    },
    isAuthorized: () => state.may,
    ...more,
  }
  const ticks = (): readonly Tick[] =>
    received.flatMap((text) => (text.startsWith('event: tick\ndata: ') ? [JSON.parse(text.slice(18))] : []))
  return { sink, received, state, ticks }
}

const draining = (overview: PageView): PageView => ({ ...overview, status: { ...overview.status, state: 'draining' } })

test('a new page gets everything, and then each second what has changed', async () => {
  const { source, streams } = opened()
  const { sink, ticks } = reader()

  streams.open(sink)
  await vi.advanceTimersByTimeAsync(0)
  await vi.advanceTimersByTimeAsync(1000)
  source.overview = draining(fixture)
  await vi.advanceTimersByTimeAsync(1000)

  const [first, second, third] = ticks()
  expect(Object.keys(first?.sections ?? {})).toEqual([...Object.keys(pageSections), 'which-gateway'])
  expect(first?.charts).toBeDefined()
  expect(second).toEqual({
    at: fixture.at,
    title: '2 wrong · production · gateway-eu-1',
    assets: assetsVersion(),
    sections: {},
  })
  expect(Object.keys(third?.sections ?? {})).toEqual(['summary'])
  expect(third?.sections.summary).toContain('draining')
  expect(ticks()).toHaveLength(3)
})

test('each part that is sent has the place of its name in the page, and keeps that name', async () => {
  const page = renderOverviewPage(fixture, new Principal(null, null, 60_000)).toString()
  const { streams } = opened()
  const { sink, ticks } = reader()

  streams.open(sink)
  await vi.advanceTimersByTimeAsync(0)

  const sections = Object.entries(ticks()[0]?.sections ?? {})
  expect(sections.filter(([name]) => page.split(` id="${name}"`).length !== 2)).toEqual([])
  expect(sections.filter(([name, markup]) => !/^<[^>]*>/.exec(markup)?.[0].includes(` id="${name}"`))).toEqual([])
})

test('the overview is collected once for all pages, and not at all when there is none', async () => {
  const { source, streams } = opened()
  const readers = [reader(), reader(), reader()]

  const all = readers.map(({ sink }) => streams.open(sink))
  await vi.advanceTimersByTimeAsync(5000)
  const reads = source.reads
  for (const stream of all) stream?.onClose()
  await vi.advanceTimersByTimeAsync(60_000)

  expect(reads).toBe(6)
  expect(source.reads).toBe(6)
  expect(vi.getTimerCount()).toBe(0)
})

test('a new page gets everything while others are open as well', async () => {
  const { streams } = opened()
  const late = reader()
  streams.open(reader().sink)
  await vi.advanceTimersByTimeAsync(2500)

  streams.open(late.sink)
  await vi.advanceTimersByTimeAsync(1000)

  expect(late.ticks()).toHaveLength(1)
  expect(Object.keys(late.ticks()[0]?.sections ?? {})).toEqual([...Object.keys(pageSections), 'which-gateway'])
})

test('a slow reader is left out until it has read, and then gets all that has changed meanwhile, once', async () => {
  const { source, streams } = opened()
  const slow = reader()
  slow.state.takes = false

  const stream = streams.open(slow.sink)
  await vi.advanceTimersByTimeAsync(0)
  for (const state of ['draining', 'serving', 'draining'] as const) {
    source.overview = { ...fixture, refusals: [], status: { ...fixture.status, state } }
    await vi.advanceTimersByTimeAsync(1000)
  }
  const meanwhile = slow.received.length
  slow.state.takes = true
  stream?.onDrain()
  await vi.advanceTimersByTimeAsync(1000)

  expect(meanwhile).toBe(1)
  expect(slow.ticks()).toHaveLength(2)
  expect(Object.keys(slow.ticks()[1]?.sections ?? {}).sort()).toEqual(['refusals', 'summary'])
  expect(slow.ticks()[1]?.sections.summary).toContain('draining')
})

test('what is long is sent every fifth time only, however often it changes, and as it is then', async () => {
  const { source, streams } = opened()
  const { sink, ticks } = reader()
  const [one] = fixture.refusals
  if (one === undefined) throw new Error('there is none')

  for (let second = 0; second < 11; second++) {
    const refusals = Array.from({ length: 100 }, (_, i) => ({ ...one, requestId: `request-${second}-${i}` }))
    source.overview = { ...fixture, refusals }
    if (second === 0) streams.open(sink)
    await vi.advanceTimersByTimeAsync(second === 0 ? 0 : 1000)
  }

  const sent = ticks().map(({ sections }) => sections.refusals?.match(/request-\d+-0</)?.[0])
  expect(sent.flatMap((each, second) => (each === undefined ? [] : [`${second}: ${each}`]))).toEqual([
    '0: request-0-0<',
    '5: request-5-0<',
    '10: request-10-0<',
  ])
})

test('one that reads nothing for half a minute is cut off, and its place is free', async () => {
  const { streams } = opened()
  const stuck = reader()
  stuck.state.takes = false

  streams.open(stuck.sink)
  await vi.advanceTimersByTimeAsync(29_000)
  const before = stuck.state.ended
  await vi.advanceTimersByTimeAsync(3000)

  expect(before).toBeNull()
  expect(stuck.state.ended).toBe('at once')
  expect(streams.size()).toBe(0)
  expect(stuck.received).toHaveLength(1)
})

test('there are so many at most, and one that goes makes room', async () => {
  const { streams } = opened()
  const all = Array.from({ length: maxStreams }, () => streams.open(reader().sink))

  const tooMany = streams.open(reader().sink)
  all[3]?.onClose()
  const next = streams.open(reader().sink)

  expect(all).not.toContain(null)
  expect(tooMany).toBeNull()
  expect(next).not.toBeNull()
})

test('a page that is no longer authorized is sent why, and nothing more', async () => {
  const { source, streams } = opened()
  const [one, other] = [reader(), reader()]
  streams.open(one.sink)
  streams.open(other.sink)
  await vi.advanceTimersByTimeAsync(0)

  one.state.may = false
  source.overview = draining(fixture)
  await vi.advanceTimersByTimeAsync(5000)

  expect(one.received.slice(1)).toEqual(['event: end\ndata: session\n\n'])
  expect(one.state.ended).toBe('well')
  expect(other.state.ended).toBeNull()
  expect(other.ticks()).toHaveLength(6)
})

test('what cannot be collected is sent when it can be again', async () => {
  const { source, streams } = opened()
  const { sink, ticks } = reader()
  source.fails = true

  streams.open(sink)
  await vi.advanceTimersByTimeAsync(3000)
  const meanwhile = ticks().length
  source.fails = false
  await vi.advanceTimersByTimeAsync(1000)

  expect(meanwhile).toBe(0)
  expect(Object.keys(ticks()[0]?.sections ?? {})).toEqual([...Object.keys(pageSections), 'which-gateway'])
})

test('when the gateway stops all end, and no page is taken any more', async () => {
  const { streams } = opened()
  const [well, stuck] = [reader(), reader()]
  stuck.state.takes = false
  streams.open(well.sink)
  streams.open(stuck.sink)
  await vi.advanceTimersByTimeAsync(0)

  streams.end()
  await vi.advanceTimersByTimeAsync(5000)

  expect(well.received.at(-1)).toBe('event: end\ndata: leaving\n\n')
  expect([well.state.ended, stuck.state.ended]).toEqual(['well', 'at once'])
  expect(streams.open(reader().sink)).toBeNull()
  expect(vi.getTimerCount()).toBe(0)
})

test('a collection of more than a second delays the next one, and two never overlap', async () => {
  let running = 0
  let max = 0
  const streams = createSseHub(async () => {
    max = Math.max(max, ++running)
    await new Promise((resolve) => setTimeout(resolve, 2500))
    running--
    return fixture
  })
  const { sink, ticks } = reader()

  streams.open(sink)
  streams.open(reader().sink)
  await vi.advanceTimersByTimeAsync(10_100)

  expect(max).toBe(1)
  expect(ticks()).toHaveLength(4)
})
