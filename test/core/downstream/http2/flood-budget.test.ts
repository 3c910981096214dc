import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { FloodBudget, type FloodKind } from '../../../../src/core/downstream/http2/flood-budget.ts'
import { type ConnectionError, errorCodes } from '../../../../src/core/downstream/http2/http2-error.ts'

beforeEach(() => void vi.useFakeTimers({ toFake: ['performance'] }))
afterEach(() => void vi.useRealTimers())

const error = (budget: FloodBudget, kind: FloodKind): ConnectionError | null => {
  try {
    budget.take(kind)
  } catch (error) {
    return error as ConnectionError
  }
  return null
}

const takeAll = (budget: FloodBudget, kind: FloodKind) => {
  for (let taken = 0; taken < 100_000; taken++) {
    const { reason, code } = error(budget, kind) ?? {}
    if (reason !== undefined) return { taken, reason, code }
  }
  return null
}
const code = errorCodes.enhanceYourCalm

test('200 frames that need a reply are allowed at once, then 33 a second', () => {
  const budget = new FloodBudget()

  expect(takeAll(budget, 'ping')).toEqual({ taken: 200, reason: 'too-many-pings', code })
  vi.advanceTimersByTime(1050)
  expect(takeAll(budget, 'ping')).toEqual({ taken: 33, reason: 'too-many-pings', code })
})

test('frames of several kinds take from one budget, and the reason names the kind that took more than all others, or none', () => {
  const [mixed, mostly] = [new FloodBudget(), new FloodBudget()]

  for (let n = 0; n < 70; n++) for (const kind of ['settings', 'tableSize'] as const) mixed.take(kind)
  for (let n = 0; n < 99; n++) mostly.take('settings')

  expect(takeAll(mixed, 'reset')).toEqual({ taken: 60, reason: 'too-many-frames', code })
  expect(takeAll(mostly, 'reset')).toEqual({ taken: 101, reason: 'too-many-resets', code })
})

test('frames before the budget was full again do not count in the reason', () => {
  const budget = new FloodBudget()

  for (let n = 0; n < 200; n++) budget.take('settings')
  vi.advanceTimersByTime(10_000)

  expect(takeAll(budget, 'emptyData')).toEqual({ taken: 10_000, reason: 'too-many-empty-frames', code })
})

test('a client that reads pays nothing for two WINDOW_UPDATEs a KiB', () => {
  const budget = new FloodBudget()

  for (let n = 0; n < 5000; n++) {
    budget.payUpdates(16_384)
    for (let update = 0; update < 32; update++) budget.take('windowUpdate')
  }
  expect(takeAll(budget, 'windowUpdate')?.taken).toBe(10_000)
})
