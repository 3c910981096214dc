import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { Trouble } from '../../../src/observe/tracing/trouble.ts'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

test('what is lost is told at once, then once a minute with all since, and when spans arrive again', () => {
  const counts = { exported: 0, dropped: 0, failed: 0 }
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
  expect(counts).toEqual({ exported: 14, dropped: 1, failed: 14 })
})
