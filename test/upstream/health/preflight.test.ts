import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import type { Group } from '../../../src/operations.ts'
import { checkAll, findUnreachableGroups, type PreflightTarget } from '../../../src/upstream/health/preflight.ts'

beforeEach(() => {
  vi.useFakeTimers()
})
afterEach(() => {
  vi.useRealTimers()
})

const there = () => Promise.resolve()
const never = () => new Promise<void>(() => {})
const gone =
  (reason = 'connection refused') =>
  () =>
    Promise.reject(new Error(reason))
const after = (ms: number) => () => new Promise<void>((resolve) => setTimeout(resolve, ms))

const trying = (group: Group, name: string, reach: () => Promise<void>): PreflightTarget => ({ group, name, reach })

test('a group of which one endpoint is there is no matter', async () => {
  const tried = [trying('market', 'a', gone()), trying('market', 'b', there), trying('risk', 'c', there)]

  expect(await findUnreachableGroups(tried)).toEqual([])
})

test('a group of which none is there is told of, with every reason', async () => {
  const tried = [
    trying('market', 'a', gone()),
    trying('risk', 'c', there),
    trying('market', 'b', gone('no route to it')),
    trying('leads', 'd', gone()),
  ]

  expect(await findUnreachableGroups(tried)).toEqual([
    {
      group: 'market',
      endpoints: [
        { name: 'a', reason: 'connection refused' },
        { name: 'b', reason: 'no route to it' },
      ],
    },
    { group: 'leads', endpoints: [{ name: 'd', reason: 'connection refused' }] },
  ])
})

test('with nothing to try there is nothing to tell, and no wait', async () => {
  expect(await findUnreachableGroups([])).toEqual([])
  expect(vi.getTimerCount()).toBe(0)
})

test('all are tried at once, and whoever has not answered after 2 s has failed', async () => {
  let over = false
  const begun: string[] = []
  const noting = (name: string, reach: () => Promise<void>) =>
    trying('market', name, () => {
      begun.push(name)
      return reach()
    })
  const told = findUnreachableGroups([noting('a', never), noting('b', after(2500)), noting('c', gone())])
  void told.then(() => {
    over = true
  })
  const atOnce = [...begun]

  await vi.advanceTimersByTimeAsync(1900)
  const early = over
  await vi.advanceTimersByTimeAsync(100)

  expect(atOnce).toEqual(['a', 'b', 'c'])
  expect(early).toBe(false)
  expect(over).toBe(true)
  expect(await told).toEqual([
    {
      group: 'market',
      endpoints: [
        { name: 'a', reason: 'no answer within 2s' },
        { name: 'b', reason: 'no answer within 2s' },
        { name: 'c', reason: 'connection refused' },
      ],
    },
  ])
})

test('who answers in time is there, however the others are, and leaves no timer', async () => {
  const told = findUnreachableGroups([trying('market', 'a', after(1900)), trying('market', 'b', gone())])

  await vi.advanceTimersByTimeAsync(1900)

  expect(await told).toEqual([])
  expect(vi.getTimerCount()).toBe(0)
})

test('whoever asks for all is told of all, in order', async () => {
  const told = await checkAll([trying('risk', 'a', there), trying('market', 'b', gone())])

  expect(told).toEqual([
    { group: 'risk', name: 'a', reason: null },
    { group: 'market', name: 'b', reason: 'connection refused' },
  ])
})

test('a failure after 2 s bothers nobody', async () => {
  const late = () => new Promise<void>((_, reject) => setTimeout(() => reject(new Error('late')), 3000))
  const told = findUnreachableGroups([trying('market', 'a', late)])

  await vi.advanceTimersByTimeAsync(4000)

  expect((await told)[0]?.endpoints).toEqual([{ name: 'a', reason: 'no answer within 2s' }])
})

test.each<[string, () => Promise<void>, number]>([
  ['there: no more are', there, 4],
  ['not there: all are', gone(), 50],
  ['silent: all are, once they had a head start', never, 50],
])('of fifty endpoints a few are tried first, and when they are %s', async (_, firstFew, count) => {
  let begun = 0
  const reach = (nth: number) => () => {
    begun++
    return nth < 4 ? firstFew() : there()
  }
  const told = findUnreachableGroups(Array.from({ length: 50 }, (_, nth) => trying('market', String(nth), reach(nth))))

  await vi.advanceTimersByTimeAsync(200)

  expect(await told).toEqual([])
  expect(begun).toBe(count)
})

test('once one is there, nobody waits for another one that hangs', async () => {
  const told = findUnreachableGroups([trying('market', 'a', never), trying('market', 'b', there)])

  await vi.advanceTimersByTimeAsync(0)

  expect(await told).toEqual([])
})
