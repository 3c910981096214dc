import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { FloodBudget } from '../../../../src/core/downstream/http2/flood-budget.ts'
import { ConnectionError } from '../../../../src/core/downstream/http2/http2-error.ts'

beforeEach(() => void vi.useFakeTimers({ toFake: ['performance'] }))
afterEach(() => void vi.useRealTimers())

const takeAll = (budget: FloodBudget, kind: Parameters<FloodBudget['take']>[0]): number => {
  for (let taken = 0; taken < 100_000; taken++)
    try {
      budget.take(kind)
    } catch (error) {
      expect(error).toBeInstanceOf(ConnectionError)
      return taken
    }
  return Number.POSITIVE_INFINITY
}

test('200 frames that have to be answered, then 33 a second', () => {
  const budget = new FloodBudget()

  expect(takeAll(budget, 'ping')).toBe(200)
  vi.advanceTimersByTime(1050)
  expect(takeAll(budget, 'reset')).toBe(33)
})

test('mixed kinds take from one budget', () => {
  const budget = new FloodBudget()

  for (let n = 0; n < 100; n++) budget.take('settings')
  expect(takeAll(budget, 'reset')).toBe(100)
})

test('10,000 frames without data', () => {
  expect(takeAll(new FloodBudget(), 'emptyData')).toBe(10_000)
})

test('a client that reads pays nothing for two windows a frame of DATA', () => {
  const budget = new FloodBudget()

  for (let n = 0; n < 50_000; n++) {
    budget.refund(1)
    budget.take('windowUpdate')
    budget.take('windowUpdate')
  }
  expect(takeAll(budget, 'ping')).toBe(199)
})
