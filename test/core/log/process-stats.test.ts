import { expect, onTestFinished, test, vi } from 'vitest'
import { ProcessStats } from '../../../src/core/log/process-stats.ts'

test('memory is as last read where the system does not say: no descriptor is left to ask it with', () => {
  const stats = new ProcessStats()
  const before = stats.report.residentBytes
  vi.spyOn(process, 'memoryUsage').mockImplementation(() => {
    throw Object.assign(new Error('EMFILE: too many open files, uv_resident_set_memory'), { code: 'EMFILE' })
  })
  onTestFinished(() => void vi.restoreAllMocks())

  expect(stats.report.residentBytes).toBe(before)
})
