import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { noSpans, Trouble } from '../../../src/observe/tracing/trouble.ts'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

test('what is lost is told at once, then once a minute with all since, and when spans arrive again', () => {
  const counts = noSpans()
  const told: unknown[] = []
  const trouble = new Trouble(counts, (level, event, fields) => told.push([level, event, fields]))

  trouble.arrived(1)
  trouble.lost('failed', 3, 'status 400')
  vi.advanceTimersByTime(59_999)
  trouble.lost('dropped', 1, 'too many spans wait')
  trouble.lost('failed', 2, 'status 400')
  vi.advanceTimersByTime(1)
  trouble.lost('failed', 4, 'ECONNREFUSED')
  trouble.lost('failed', 5, 'ECONNREFUSED')
  trouble.arrived(6)
  trouble.arrived(7)

  expect(told).toEqual([
    ['warn', 'spans are lost', { dropped: 0, failed: 3, reason: 'status 400' }],
    ['warn', 'spans are lost', { dropped: 1, failed: 6, reason: 'ECONNREFUSED' }],
    ['info', 'spans arrive again', { dropped: 0, failed: 5 }],
  ])
  expect(counts).toEqual({ exported: 14, dropped: 1, failed: 14, trouble: null })
})

test('since when and why is known as long as it lasts; that there is no room says less than why', () => {
  vi.setSystemTime(1_800_000_000_000)
  const counts = noSpans()
  const trouble = new Trouble(counts, () => {})

  trouble.lost('dropped', 1, 'too many spans wait')
  expect(counts.trouble).toEqual({ since: 1_800_000_000_000, reason: 'too many spans wait' })
  vi.advanceTimersByTime(1000)
  trouble.lost('failed', 1, 'ECONNREFUSED')
  trouble.lost('dropped', 1, 'too many spans wait')
  expect(counts.trouble).toEqual({ since: 1_800_000_000_000, reason: 'ECONNREFUSED' })
  trouble.arrived(1)
  expect(counts.trouble).toBe(null)
})

test('a receiver that is done with says nothing of the one that comes after it', () => {
  const counts = noSpans()
  const [before, after] = [new Trouble(counts, () => {}), new Trouble(counts, () => {})]

  before.lost('failed', 1, 'ECONNREFUSED')
  before.over()
  before.lost('failed', 2, 'ECONNREFUSED')
  expect(counts).toMatchObject({ failed: 3, trouble: null })
  after.lost('failed', 1, 'status 400')
  before.arrived(1)
  before.over()

  expect(counts).toMatchObject({ exported: 1, failed: 4, trouble: { reason: 'status 400' } })
})
