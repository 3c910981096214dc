import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import type { Overview } from '../../../src/admin/api/overview.ts'
import { assetsVersion } from '../../../src/admin/page/assets.ts'
import { maxStreams, SseHub, type SseSink } from '../../../src/admin/page/sse-hub.ts'
import { fixture } from './fixture.ts'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

interface Tick {
  readonly at: string
  readonly title: string
  readonly sections: Readonly<Record<string, string>>
  readonly charts?: object
}

/** Opens streams on what a test changes as it goes, and counts how often that is looked at. */
const opened = () => {
  const seen = { overview: fixture, looks: 0, fails: false }
  const streams = new SseHub(async () => {
    seen.looks++
    if (seen.fails) throw new Error('the workers do not answer')
    return seen.overview
  })
  return { seen, streams }
}

/** Is a page that reads as a test has it read. */
const reader = (more: Partial<SseSink> = {}) => {
  const got: string[] = []
  const told = { takes: true, may: true, ended: null as 'well' | 'at once' | null }
  const sink: SseSink = {
    write: (text) => {
      got.push(text)
      return told.takes
    },
    end: (atOnce) => {
      told.ended = atOnce ? 'at once' : 'well'
    },
    isAuthorized: () => told.may,
    ...more,
  }
  const ticks = (): readonly Tick[] =>
    got.flatMap((text) => (text.startsWith('event: tick\ndata: ') ? [JSON.parse(text.slice(18))] : []))
  return { sink, got, told, ticks }
}

const draining = (overview: Overview): Overview => ({ ...overview, status: { ...overview.status, state: 'draining' } })

test('whoever comes gets the whole page, and then each second what has changed', async () => {
  const { seen, streams } = opened()
  const { sink, ticks } = reader()

  streams.open(sink)
  await vi.advanceTimersByTimeAsync(0)
  await vi.advanceTimersByTimeAsync(1000)
  seen.overview = draining(fixture)
  await vi.advanceTimersByTimeAsync(1000)

  const [first, second, third] = ticks()
  expect(Object.keys(first?.sections ?? {})).toHaveLength(12)
  expect(first?.charts).toBeDefined()
  expect(second).toEqual({ at: fixture.at, title: '2 wrong', assets: assetsVersion(), sections: {} })
  expect(Object.keys(third?.sections ?? {})).toEqual(['summary'])
  expect(third?.sections.summary).toContain('draining')
  expect(ticks()).toHaveLength(3)
})

test('it is looked at once for all, and not at all when there is nobody', async () => {
  const { seen, streams } = opened()
  const readers = [reader(), reader(), reader()]

  const all = readers.map(({ sink }) => streams.open(sink))
  await vi.advanceTimersByTimeAsync(5000)
  const looks = seen.looks
  for (const stream of all) stream?.onClose()
  await vi.advanceTimersByTimeAsync(60_000)

  expect(looks).toBe(6)
  expect(seen.looks).toBe(6)
  expect(vi.getTimerCount()).toBe(0)
})

test('whoever comes while others watch gets the whole page as well', async () => {
  const { streams } = opened()
  const late = reader()
  streams.open(reader().sink)
  await vi.advanceTimersByTimeAsync(2500)

  streams.open(late.sink)
  await vi.advanceTimersByTimeAsync(1000)

  expect(late.ticks()).toHaveLength(1)
  expect(Object.keys(late.ticks()[0]?.sections ?? {})).toHaveLength(12)
})

test('a slow reader is left out until it has read, and then gets all that has changed meanwhile, once', async () => {
  const { seen, streams } = opened()
  const slow = reader()
  slow.told.takes = false

  const stream = streams.open(slow.sink)
  await vi.advanceTimersByTimeAsync(0)
  for (const state of ['draining', 'serving', 'draining'] as const) {
    seen.overview = { ...fixture, refusals: [], status: { ...fixture.status, state } }
    await vi.advanceTimersByTimeAsync(1000)
  }
  const meanwhile = slow.got.length
  slow.told.takes = true
  stream?.onDrain()
  await vi.advanceTimersByTimeAsync(1000)

  expect(meanwhile).toBe(1)
  expect(slow.ticks()).toHaveLength(2)
  expect(Object.keys(slow.ticks()[1]?.sections ?? {}).sort()).toEqual(['refusals', 'summary'])
  expect(slow.ticks()[1]?.sections.summary).toContain('draining')
})

test('what is long is sent every fifth time only, however often it changes, and as it is then', async () => {
  const { seen, streams } = opened()
  const { sink, ticks } = reader()
  const [one] = fixture.refusals
  if (one === undefined) throw new Error('there is none')

  for (let second = 0; second < 11; second++) {
    const refusals = Array.from({ length: 100 }, (_, i) => ({ ...one, requestId: `request-${second}-${i}` }))
    seen.overview = { ...fixture, refusals }
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
  stuck.told.takes = false

  streams.open(stuck.sink)
  await vi.advanceTimersByTimeAsync(29_000)
  const before = stuck.told.ended
  await vi.advanceTimersByTimeAsync(3000)

  expect(before).toBeNull()
  expect(stuck.told.ended).toBe('at once')
  expect(streams.size).toBe(0)
  expect(stuck.got).toHaveLength(1)
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

test('whoever may no longer see the page is told so and sent nothing more', async () => {
  const { seen, streams } = opened()
  const [one, other] = [reader(), reader()]
  streams.open(one.sink)
  streams.open(other.sink)
  await vi.advanceTimersByTimeAsync(0)

  one.told.may = false
  seen.overview = draining(fixture)
  await vi.advanceTimersByTimeAsync(5000)

  expect(one.got.slice(1)).toEqual(['event: end\ndata: session\n\n'])
  expect(one.told.ended).toBe('well')
  expect(other.told.ended).toBeNull()
  expect(other.ticks()).toHaveLength(6)
})

test('what cannot be told is told when it can be again', async () => {
  const { seen, streams } = opened()
  const { sink, ticks } = reader()
  seen.fails = true

  streams.open(sink)
  await vi.advanceTimersByTimeAsync(3000)
  const meanwhile = ticks().length
  seen.fails = false
  await vi.advanceTimersByTimeAsync(1000)

  expect(meanwhile).toBe(0)
  expect(Object.keys(ticks()[0]?.sections ?? {})).toHaveLength(12)
})

test('when the listener is left all end, and nobody comes any more', async () => {
  const { streams } = opened()
  const [well, stuck] = [reader(), reader()]
  stuck.told.takes = false
  streams.open(well.sink)
  streams.open(stuck.sink)
  await vi.advanceTimersByTimeAsync(0)

  streams.end()
  await vi.advanceTimersByTimeAsync(5000)

  expect(well.got.at(-1)).toBe('event: end\ndata: leaving\n\n')
  expect([well.told.ended, stuck.told.ended]).toEqual(['well', 'at once'])
  expect(streams.open(reader().sink)).toBeNull()
  expect(vi.getTimerCount()).toBe(0)
})

test('what is looked at for longer than a second delays the next look, and two never overlap', async () => {
  let under = 0
  let most = 0
  const streams = new SseHub(async () => {
    most = Math.max(most, ++under)
    await new Promise((resolve) => setTimeout(resolve, 2500))
    under--
    return fixture
  })
  const { sink, ticks } = reader()

  streams.open(sink)
  streams.open(reader().sink)
  await vi.advanceTimersByTimeAsync(10_100)

  expect(most).toBe(1)
  expect(ticks()).toHaveLength(4)
})
