import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import {
  checkAll,
  findUnreachableUpstreams,
  type PreflightTarget,
} from '../../../../src/core/upstream/health/preflight.ts'
import type { Group, Side } from '../../../../src/operations.ts'

beforeEach(() => {
  vi.useFakeTimers()
})
afterEach(() => {
  vi.useRealTimers()
})

const reachable = () => Promise.resolve()
const never = () => new Promise<void>(() => {})
const unreachable =
  (reason = 'connection refused') =>
  () =>
    Promise.reject(new Error(reason))
const after = (ms: number) => () => new Promise<void>((resolve) => setTimeout(resolve, ms))

const target = (group: Group, name: string, reach: () => Promise<void>, side: Side = 'primary'): PreflightTarget => ({
  group,
  side,
  name,
  reach,
})

test('a group of which one endpoint is reachable is not listed', async () => {
  const tried = [target('market', 'a', unreachable()), target('market', 'b', reachable), target('risk', 'c', reachable)]

  expect(await findUnreachableUpstreams(tried)).toEqual([])
})

test('a group of which none is reachable is listed, with every reason', async () => {
  const tried = [
    target('market', 'a', unreachable()),
    target('risk', 'c', reachable),
    target('market', 'b', unreachable('no route to it')),
    target('leads', 'd', unreachable()),
  ]

  expect(await findUnreachableUpstreams(tried)).toEqual([
    {
      group: 'market',
      side: 'primary',
      endpoints: [
        { name: 'a', reason: 'connection refused' },
        { name: 'b', reason: 'no route to it' },
      ],
    },
    { group: 'leads', side: 'primary', endpoints: [{ name: 'd', reason: 'connection refused' }] },
  ])
})

test('a candidate is judged apart from the primary of its group', async () => {
  const tried = [
    target('market', 'a', reachable),
    target('market', 'a', unreachable(), 'candidate'),
    target('risk', 'b', unreachable()),
    target('risk', 'c', reachable, 'candidate'),
  ]

  expect(await findUnreachableUpstreams(tried)).toMatchObject([
    { group: 'market', side: 'candidate' },
    { group: 'risk', side: 'primary' },
  ])
})

test('without targets nothing is listed, and there is no wait', async () => {
  expect(await findUnreachableUpstreams([])).toEqual([])
  expect(vi.getTimerCount()).toBe(0)
})

test('all are checked at once, and one that has not responded after 2 s has failed', async () => {
  let over = false
  const started: string[] = []
  const recording = (name: string, reach: () => Promise<void>) =>
    target('market', name, () => {
      started.push(name)
      return reach()
    })
  const result = findUnreachableUpstreams([
    recording('a', never),
    recording('b', after(2500)),
    recording('c', unreachable()),
  ])
  void result.then(() => {
    over = true
  })
  const atOnce = [...started]

  await vi.advanceTimersByTimeAsync(1900)
  const early = over
  await vi.advanceTimersByTimeAsync(100)

  expect(atOnce).toEqual(['a', 'b', 'c'])
  expect(early).toBe(false)
  expect(over).toBe(true)
  expect(await result).toEqual([
    {
      group: 'market',
      side: 'primary',
      endpoints: [
        { name: 'a', reason: 'no answer within 2s' },
        { name: 'b', reason: 'no answer within 2s' },
        { name: 'c', reason: 'connection refused' },
      ],
    },
  ])
})

test('one that responds in time is reachable, however the others are, and leaves no timer', async () => {
  const result = findUnreachableUpstreams([target('market', 'a', after(1900)), target('market', 'b', unreachable())])

  await vi.advanceTimersByTimeAsync(1900)

  expect(await result).toEqual([])
  expect(vi.getTimerCount()).toBe(0)
})

test('checkAll lists all, in order', async () => {
  const result = await checkAll([target('risk', 'a', reachable), target('market', 'b', unreachable())])

  expect(result).toEqual([
    { group: 'risk', side: 'primary', name: 'a', reason: null },
    { group: 'market', side: 'primary', name: 'b', reason: 'connection refused' },
  ])
})

test('a failure after 2 s has no effect', async () => {
  const late = () => new Promise<void>((_, reject) => setTimeout(() => reject(new Error('late')), 3000))
  const result = findUnreachableUpstreams([target('market', 'a', late)])

  await vi.advanceTimersByTimeAsync(4000)

  expect((await result)[0]?.endpoints).toEqual([{ name: 'a', reason: 'no answer within 2s' }])
})

test.each<[string, () => Promise<void>, number]>([
  ['reachable: no more are', reachable, 4],
  ['not reachable: all are', unreachable(), 50],
  ['silent: all are, once they had a head start', never, 50],
])('of fifty endpoints a few are tried first, and when they are %s', async (_, firstFew, count) => {
  let started = 0
  const reach = (nth: number) => () => {
    started++
    return nth < 4 ? firstFew() : reachable()
  }
  const result = findUnreachableUpstreams(
    Array.from({ length: 50 }, (_, nth) => target('market', String(nth), reach(nth))),
  )

  await vi.advanceTimersByTimeAsync(200)

  expect(await result).toEqual([])
  expect(started).toBe(count)
})

test('once one is reachable, another one that hangs is not waited for', async () => {
  const result = findUnreachableUpstreams([target('market', 'a', never), target('market', 'b', reachable)])

  await vi.advanceTimersByTimeAsync(0)

  expect(await result).toEqual([])
})
