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

const pass = (budget: ReturnType<typeof createRetryBudget>, requests: number): void => {
  for (let i = 0; i < requests; i++) budget.requested()
}

describe('a quiet upstream', () => {
  test('may retry a little from the start, and no more', () => {
    const budget = createRetryBudget(defaults)

    expect(budget.left).toBe(3)
    expect(takeUpTo(budget, 100)).toBe(3)
    expect(budget.left).toBe(0)
  })

  test('may retry a little again a while later', () => {
    const budget = createRetryBudget(defaults)
    takeUpTo(budget, 100)

    vi.advanceTimersByTime(10_000)

    expect(budget.left).toBe(3)
  })

  test('saves nothing up for an outage', () => {
    const budget = createRetryBudget(defaults)

    vi.advanceTimersByTime(3_600_000)

    expect(takeUpTo(budget, 100)).toBe(3)
  })

  test('pays its advance back before time adds more', () => {
    const budget = createRetryBudget(defaults)
    takeUpTo(budget, 100)

    vi.advanceTimersByTime(1000)
    const paidBack = budget.left
    vi.advanceTimersByTime(400)

    expect([paidBack, budget.left]).toEqual([0, 1])
  })
})

describe('requests', () => {
  test('add their share', () => {
    const budget = createRetryBudget({ share: 0.5, floor: 0 })

    pass(budget, 5)

    expect(takeUpTo(budget, 100)).toBe(2)
  })

  test('save up what a hundred of them add', () => {
    const budget = createRetryBudget(defaults)

    pass(budget, 100_000)

    expect(takeUpTo(budget, 100)).toBe(10)
  })

  test('leave what they have saved up there, however quiet it becomes', () => {
    const budget = createRetryBudget(defaults)
    pass(budget, 1000)
    const before = budget.left

    vi.advanceTimersByTime(60_000)

    expect([before, budget.left]).toEqual([10, 10])
  })
})

describe('whole tokens', () => {
  test('come to be even of a small share', () => {
    const budget = createRetryBudget({ share: 0.001, floor: 0 })

    pass(budget, 2000)

    expect(budget.left).toBe(1)
  })

  test('are never there when nothing adds any', () => {
    const budget = createRetryBudget({ share: 0, floor: 0 })

    pass(budget, 10_000)
    vi.advanceTimersByTime(10_000)

    expect([budget.left, budget.take()]).toEqual([0, false])
  })
})

type Event = { readonly request: true } | { readonly retry: true } | { readonly ms: number }

const events = fc.array(
  fc.oneof(
    fc.constant<Event>({ request: true }),
    fc.constant<Event>({ retry: true }),
    fc.record({ ms: fc.nat(3000) }) as fc.Arbitrary<Event>,
  ),
  { maxLength: 300, size: 'max' },
)

const configs = fc.record({ share: fc.nat(100).map((percent) => percent / 100), floor: fc.nat(50) })

test('however requests, retries and time are interleaved, it gives no more than its start and what they add', () => {
  fc.assert(
    fc.property(configs, events, (config, happens) => {
      const budget = createRetryBudget(config)
      const start = budget.left
      const seen = { requests: 0, retries: 0, ms: 0 }
      for (const event of happens) {
        if ('ms' in event) {
          vi.advanceTimersByTime(event.ms)
          seen.ms += event.ms
        } else if ('request' in event) {
          budget.requested()
          seen.requests++
        } else if (budget.take()) seen.retries++

        const accrued = config.share * seen.requests + (config.floor * seen.ms) / 1000
        expect(seen.retries).toBeLessThanOrEqual(start + accrued + 1e-6) // rounding of tenths
      }
    }),
  )
})

test('as many are left as it gives', () => {
  fc.assert(
    fc.property(configs, events, (config, happens) => {
      const budget = createRetryBudget(config)
      for (const event of happens) {
        if ('ms' in event) vi.advanceTimersByTime(event.ms)
        else if ('request' in event) budget.requested()
        else budget.take()
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
    pass(budget, 10_000)
    let retries = 0

    for (let i = 0; i < 1000; i++) {
      budget.requested()
      retries += takeUpTo(budget, 2)
    }

    expect(retries).toBeLessThanOrEqual(10 + 100)
  })
})
