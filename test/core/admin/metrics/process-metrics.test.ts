import { expect, onTestFinished, test, vi } from 'vitest'
import { processMetrics } from '../../../../src/core/admin/metrics/families/process.ts'
import type { MetricInputs } from '../../../../src/core/admin/metrics/metric.ts'
import { ProcessStats } from '../../../../src/core/log/process-stats.ts'

test('a process keeps the time when it started, however late its report is read and whatever the clock says then', () => {
  vi.useFakeTimers({ toFake: ['Date'], now: 1_800_000_000_000 })
  onTestFinished(() => void vi.useRealTimers())
  const startedAt = 1_800_000_000 - process.uptime()
  const stats = new ProcessStats()
  const read = (at: number) => {
    const report = { runtimes: [{ process: 'gateway', ...stats.report }] }
    return processMetrics.process_start_time_seconds?.read({ at, report } as unknown as MetricInputs)[0]?.value
  }

  const first = read(Date.now())
  const late = read(Date.now() + 5000)
  vi.setSystemTime(1_800_003_600_000)

  expect(first).toBeCloseTo(startedAt, 0)
  expect([late, read(Date.now())]).toEqual([first, first])
})
