import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { emptySpanCounts, trackSpanExports } from '../../../src/features/tracing/export-stats.ts'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

const openExportStats = () => {
  const counts = emptySpanCounts()
  const logged: unknown[] = []
  return { counts, logged, stats: trackSpanExports(counts, (...line) => logged.push(line)) }
}

const lost = (dropped: number, failed: number, reason: string) => [
  ...['warn', 'spans are lost', { dropped, failed, reason }],
]
const again = (failed: number) => ['info', 'spans arrive again', { dropped: 0, failed }]

test('lost spans are logged at once, then once a minute with all since, and when spans arrive again', () => {
  const { counts, logged, stats } = openExportStats()

  stats.onExported(1)
  stats.onLost('failed', 3, 'status 400')
  vi.advanceTimersByTime(59_999)
  stats.onLost('dropped', 1, 'too many spans wait')
  stats.onLost('failed', 2, 'status 400')
  vi.advanceTimersByTime(1)
  stats.onLost('failed', 4, 'ECONNREFUSED')
  stats.onLost('failed', 5, 'ECONNREFUSED')
  stats.onExported(6)
  stats.onExported(7)

  expect(logged).toEqual([lost(0, 3, 'status 400'), lost(1, 6, 'ECONNREFUSED'), again(5)])
  expect(counts).toEqual({ exported: 14, dropped: 1, failed: 14, exportFailure: null })
})

test('a collector that rejects every second batch is logged once a minute, and so is the end', () => {
  const { logged, stats } = openExportStats()

  for (let batches = 0; batches < 61; batches++) {
    stats.onLost('failed', 1, 'status 400')
    stats.onExported(1)
    vi.advanceTimersByTime(1000)
  }

  expect(logged).toEqual([lost(0, 1, 'status 400'), again(0), lost(0, 60, 'status 400'), again(0)])
})

test('a collector that rejects some spans of each batch fails until it takes one whole', () => {
  vi.setSystemTime(1_800_000_000_000)
  const { counts, logged, stats } = openExportStats()

  stats.onExported(4, 1)
  vi.advanceTimersByTime(1000)
  stats.onExported(4, 4)
  const meanwhile = { ...counts }
  stats.onExported(4)

  const exportFailure = { since: 1_800_000_000_000, reason: 'partial success' }
  expect(meanwhile).toEqual({ exported: 3, dropped: 0, failed: 5, exportFailure })
  expect(counts).toMatchObject({ exported: 7, exportFailure: null })
  expect(logged).toEqual([lost(0, 1, 'partial success'), again(4)])
})

test('since when and why is known as long as it lasts; that there is no room says less than why', () => {
  vi.setSystemTime(1_800_000_000_000)
  const { counts, stats } = openExportStats()

  stats.onLost('dropped', 1, 'too many spans wait')
  expect(counts.exportFailure).toEqual({ since: 1_800_000_000_000, reason: 'too many spans wait' })
  vi.advanceTimersByTime(1000)
  stats.onLost('failed', 1, 'ECONNREFUSED')
  stats.onLost('dropped', 1, 'too many spans wait')
  expect(counts.exportFailure).toEqual({ since: 1_800_000_000_000, reason: 'ECONNREFUSED' })
  stats.onExported(1)
  expect(counts.exportFailure).toBe(null)
})

test('a collector that is no longer used has no part in the failure of the next one', () => {
  const counts = emptySpanCounts()
  const [before, after] = [trackSpanExports(counts, () => {}), trackSpanExports(counts, () => {})]

  before.onLost('failed', 1, 'ECONNREFUSED')
  before.retire()
  before.onLost('failed', 2, 'ECONNREFUSED')
  expect(counts).toMatchObject({ failed: 3, exportFailure: null })
  after.onLost('failed', 1, 'status 400')
  before.onExported(1)
  before.retire()

  expect(counts).toMatchObject({ exported: 1, failed: 4, exportFailure: { reason: 'status 400' } })
})
