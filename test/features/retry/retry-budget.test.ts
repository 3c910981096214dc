import fc from 'fast-check'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { createRetryBudget } from '../../../src/features/retry/runtime.ts'

beforeEach(() => vi.useFakeTimers())
afterEach(() => vi.useRealTimers())

const defaults = { share: 0.1, floor: 3 }

/** Takes as many tokens as there are, up to so many. */
const takeUpTo = (budget: ReturnType<typeof createRetryBudget>, max: number): number => {
  let taken = 0
  while (taken < max && budget.take()) taken++
  return taken
}

/** So many requests or so much time, after which so many tokens are left; or so many retries, all that there are. */
type Step = readonly [what: 'requests' | 'ms', count: number, left: number] | readonly [what: 'retries', count: number]

test.each<[string, typeof defaults, ...Step[]]>([
  ['a quiet upstream may retry a little from the start, and no more', defaults, ['retries', 3], ['ms', 0, 0]],
  ['a quiet upstream may retry a little again a while later', defaults, ['retries', 3], ['ms', 10_000, 3]],
  ['a quiet upstream saves nothing up for an outage', defaults, ['ms', 3_600_000, 3], ['retries', 3]],
  ['an advance is paid back before time adds more', defaults, ['retries', 3], ['ms', 1000, 0], ['ms', 400, 1]],
  ['requests add their share', { share: 0.5, floor: 0 }, ['requests', 5, 2], ['retries', 2]],
  ['requests save up what a hundred of them add', defaults, ['requests', 100_000, 10], ['retries', 10]],
  ['what is saved up stays, however quiet it becomes', defaults, ['requests', 1000, 10], ['ms', 60_000, 10]],
  ['whole tokens come to be even of a small share', { share: 0.001, floor: 0 }, ['requests', 2000, 1]],
  [
    ...(['where nothing adds any there are none', { share: 0, floor: 0 }] as const),
    ...([['requests', 9999, 0] as const, ['ms', 9999, 0] as const, ['retries', 0] as const] as const),
  ],
])('%s', (_, config, ...steps) => {
  const budget = createRetryBudget(config)
  for (const [what, count, left] of steps) {
    if (what === 'retries') expect(takeUpTo(budget, 100)).toBe(count)
    else {
      if (what === 'ms') vi.advanceTimersByTime(count)
      else for (let i = 0; i < count; i++) budget.requested()
      expect(budget.left).toBe(left)
    }
  }
})

/** A request, a retry, or so many milliseconds. */
const event = fc.oneof(fc.constantFrom('request', 'retry'), fc.nat(3000))
const events = fc.array(event, { maxLength: 300, size: 'max' })

const configs = fc.record({ share: fc.nat(100).map((percent) => percent / 100), floor: fc.nat(50) })

test('however requests, retries and time are interleaved, it gives no more than its start and what they add, and as many are left as it gives', () => {
  fc.assert(
    fc.property(configs, events, (config, happens) => {
      const budget = createRetryBudget(config)
      const start = budget.left
      const seen = { requests: 0, retries: 0, ms: 0 }
      for (const event of happens) {
        if (typeof event === 'number') {
          vi.advanceTimersByTime(event)
          seen.ms += event
        } else if (event === 'request') {
          budget.requested()
          seen.requests++
        } else if (budget.take()) seen.retries++

        const accrued = config.share * seen.requests + (config.floor * seen.ms) / 1000
        expect(seen.retries).toBeLessThanOrEqual(start + accrued + 1e-6) // rounding of tenths
      }
      const { left } = budget
      expect(takeUpTo(budget, 1000)).toBe(left)
    }),
  )
})

describe('when every request of a steady load fails', () => {
  // Each would be sent three times. From 30 requests a second on, the share of a tenth and the floor of 3 a second make
  // a fifth.
  test.each([
    [30, 0],
    [30, 60_000],
    [50, 0],
    [200, 60_000],
    [1000, 0],
  ])('at %i a second, after %i ms of quiet, a fifth more is sent, at most', (perSecond, quietMs) => {
    const budget = createRetryBudget(defaults)
    const excess: string[] = []
    let [requests, retries] = [0, 0]
    vi.advanceTimersByTime(quietMs)

    for (let i = 0; i < 300; i++) {
      for (let each = 0; each < perSecond / 10; each++) {
        budget.requested()
        requests++
        retries += takeUpTo(budget, 2)
      }
      if (requests >= 200 && retries > 0.2 * requests) excess.push(`${retries} of ${requests}`)
      vi.advanceTimersByTime(100)
    }

    expect(excess).toEqual([])
    expect(retries).toBeGreaterThan(0.09 * requests)
  })

  test('what a healthy time has saved up comes on top, once', () => {
    const budget = createRetryBudget(defaults)
    for (let i = 0; i < 10_000; i++) budget.requested()
    let retries = 0

    for (let i = 0; i < 1000; i++) {
      budget.requested()
      retries += takeUpTo(budget, 2)
    }

    expect(retries).toBeLessThanOrEqual(10 + 100)
  })
})
