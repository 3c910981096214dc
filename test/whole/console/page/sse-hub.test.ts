import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { Principal } from '../../../../src/core/admin/access/principal.ts'
import { assetsVersion } from '../../../../src/features/console/page/assets.ts'
import { pageSections, renderOverviewPage } from '../../../../src/features/console/page/overview-page.ts'
import { createSseHub, maxStreams, type SseSink } from '../../../../src/features/console/page/sse-hub.ts'
import type { PageView } from '../../../../src/features/overview/overview.ts'
import { fixture } from './fixture.ts'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

type Tick = { readonly sections: Readonly<Record<string, string>>; readonly charts?: object }

/** Opens streams on an overview that a test changes as it goes, and counts how often it is read. */
const opened = () => {
  const source = { overview: fixture, reads: 0, fails: false }
  const streams = createSseHub(async () => {
    source.reads++
    if (source.fails) throw new Error('the workers do not reply')
    return source.overview
  })
  return { source, streams }
}

const seconds = (count: number) => vi.advanceTimersByTimeAsync(count * 1000)
const allSections = [...Object.keys(pageSections), 'which-gateway']

/** A page that reads as a test has it read. */
const reader = () => {
  const received: string[] = []
  const state = { takes: true, may: true, ended: null as 'well' | 'at once' | null }
  const sink: SseSink = {
    write: (text) => received.push(text) > 0 && state.takes,
    end: (atOnce) => {
      state.ended = atOnce ? 'at once' : 'well'
    },
    isAuthorized: () => state.may,
  }
  const ticks = (): readonly Tick[] =>
    received.flatMap((text) => (text.startsWith('event: tick\ndata: ') ? [JSON.parse(text.slice(18))] : []))
  const sent = () => ticks().map(({ sections }) => Object.keys(sections))
  return { sink, received, state, ticks, sent }
}

const draining = (overview: PageView): PageView => ({ ...overview, status: { ...overview.status, state: 'draining' } })

let { source, streams } = opened()
let [one, other] = [reader(), reader()]
beforeEach(() => {
  ;({ source, streams } = opened())
  ;[one, other] = [reader(), reader()]
})

/** Opens the streams of pages, which get everything. */
const openPages = async (...pages: readonly ReturnType<typeof reader>[]) => {
  const opened = pages.map(({ sink }) => streams.open(sink))
  await seconds(0)
  return opened
}

test('a new page gets everything, and then each second what has changed; so does one that comes later', async () => {
  await openPages(one)
  await seconds(1)
  source.overview = draining(fixture)
  await seconds(1.5)
  await openPages(other)
  await seconds(1)

  const [first, second, third] = one.ticks()
  expect(one.sent()).toEqual([allSections, [], ['summary'], []])
  expect(other.sent()).toEqual([allSections])
  expect(first?.charts).toBeDefined()
  const title = '2 wrong · production · gateway-eu-1'
  expect(second).toEqual({ at: fixture.at, title, assets: assetsVersion(), sections: {} })
  expect(third?.sections.summary).toContain('draining')
})

test('each part that is sent has the place of its name in the page, and keeps that name', async () => {
  const page = renderOverviewPage(fixture, new Principal(null, null, 60_000)).toString()

  await openPages(one)

  const sections = Object.entries(one.ticks()[0]?.sections ?? {})
  expect(sections.filter(([name]) => page.split(` id="${name}"`).length !== 2)).toEqual([])
  expect(sections.filter(([name, markup]) => !/^<[^>]*>/.exec(markup)?.[0].includes(` id="${name}"`))).toEqual([])
})

test('the overview is collected once for all pages, and not at all when there is none', async () => {
  const all = await openPages(reader(), one, other)
  await seconds(5)
  const reads = source.reads
  for (const stream of all) stream?.onClose()
  await seconds(60)

  expect([reads, source.reads]).toEqual([6, 6])
  expect(vi.getTimerCount()).toBe(0)
})

test('a slow reader is left out until it has read, and then gets all that has changed meanwhile, once', async () => {
  one.state.takes = false
  const [stream] = await openPages(one)
  for (const state of ['draining', 'serving', 'draining'] as const) {
    source.overview = { ...fixture, rejections: [], status: { ...fixture.status, state } }
    await seconds(1)
  }
  const meanwhile = one.received.length
  one.state.takes = true
  stream?.onDrain()
  await seconds(1)

  expect(meanwhile).toBe(1)
  expect(one.sent()).toEqual([allSections, ['summary', 'rejections']])
  expect(one.ticks()[1]?.sections.summary).toContain('draining')
})

test('what is long is sent every fifth time only, however often it changes, and as it is then', async () => {
  const many = Array.from({ length: 4 }, () => fixture.rejections).flat()
  for (let second = 0; second < 11; second++) {
    const rejections = many.map((each, i) => ({ ...each, requestId: `request-${second}-${i}` }))
    source.overview = { ...fixture, rejections }
    await (second === 0 ? openPages(one) : seconds(1))
  }

  const sent = one.ticks().map(({ sections }) => /request-(\d+)-0</.exec(sections.rejections ?? '')?.[1] ?? null)
  expect(sent).toEqual(['0', null, null, null, null, '5', null, null, null, null, '10'])
})

test('one that reads nothing for half a minute is cut off, and its place is free', async () => {
  one.state.takes = false
  await openPages(one)
  await seconds(29)
  const before = one.state.ended
  await seconds(3)

  expect([before, one.state.ended, streams.size()]).toEqual([null, 'at once', 0])
  expect(one.received).toHaveLength(1)
})

test('there are so many at most, and one that goes makes room', async () => {
  const all = await openPages(...Array.from({ length: maxStreams }, () => reader()))

  const tooMany = await openPages(one)
  all[3]?.onClose()

  expect([all.includes(null), tooMany]).toEqual([false, [null]])
  expect(await openPages(other)).not.toContain(null)
})

test('a page that is no longer authorized is sent why, and nothing more', async () => {
  await openPages(one, other)
  one.state.may = false
  source.overview = draining(fixture)
  await seconds(5)

  expect(one.received.slice(1)).toEqual(['event: end\ndata: session\n\n'])
  expect([one.state.ended, other.state.ended]).toEqual(['well', null])
  expect(other.ticks()).toHaveLength(6)
})

test('what cannot be collected is sent when it can be again', async () => {
  source.fails = true
  await openPages(one)
  await seconds(3)
  const meanwhile = one.sent()
  source.fails = false
  await seconds(1)

  expect([meanwhile, one.sent()]).toEqual([[], [allSections]])
})

test('when the gateway stops all end, and no page is taken any more', async () => {
  other.state.takes = false
  await openPages(one, other)

  streams.end()
  await seconds(5)

  expect(one.received.at(-1)).toBe('event: end\ndata: leaving\n\n')
  expect([one.state.ended, other.state.ended]).toEqual(['well', 'at once'])
  expect(await openPages(reader())).toEqual([null])
  expect(vi.getTimerCount()).toBe(0)
})

test('a collection of more than a second delays the next one, and two never overlap', async () => {
  let [running, max] = [0, 0]
  const streams = createSseHub(async () => {
    max = Math.max(max, ++running)
    await new Promise((resolve) => setTimeout(resolve, 2500))
    running--
    return fixture
  })

  streams.open(one.sink)
  streams.open(other.sink)
  await seconds(10.1)

  expect(max).toBe(1)
  expect(one.ticks()).toHaveLength(4)
})
