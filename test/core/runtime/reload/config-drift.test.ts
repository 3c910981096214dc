/** What is asked of the files of a configuration by each status, page and scrape. */
import { resolve } from 'node:path'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import type { SourceFile } from '../../../../src/core/config/load/source-files.ts'
import { findDriftedFiles } from '../../../../src/core/runtime/reload/config-drift.ts'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

const reloader = () => ({ file: 'gateway.yaml', lastReading: { sources: [] } })

test('a file that hangs is compared once, however many ask, and each of them waits for a second', async () => {
  const compare = vi.fn(() => new Promise<readonly string[]>(() => {}))
  const hung = reloader()
  const asked: Promise<readonly string[]>[] = []

  for (let n = 0; n < 10; n++) {
    asked.push(findDriftedFiles(hung, compare))
    await vi.advanceTimersByTimeAsync(100)
  }
  await vi.advanceTimersByTimeAsync(900)

  expect(await Promise.all(asked)).toEqual(Array(10).fill([resolve('gateway.yaml')]))
  expect(compare).toHaveBeenCalledTimes(1)
})

test('each that asks when none is under way has the files compared again', async () => {
  const found = [[], ['/etc/gateway.yaml']]
  const compare = vi.fn(async (): Promise<readonly string[]> => found.shift() ?? [])
  const edited = reloader()

  const before = await findDriftedFiles(edited, compare)
  const after = await findDriftedFiles(edited, compare)

  expect([before, after]).toEqual([[], ['/etc/gateway.yaml']])
})

test('a reading that follows is compared once the comparison of the one before, which hangs, has ended', async () => {
  const hangs = Promise.withResolvers<readonly string[]>()
  const compare = vi.fn((sources: readonly unknown[]) => (sources.length === 0 ? hangs.promise : Promise.resolve([])))
  const lastReading: { sources: SourceFile[] } = { sources: [] }
  const edited = { file: 'gateway.yaml', lastReading }
  const before = findDriftedFiles(edited, compare)

  lastReading.sources = [{ file: '/etc/gateway.yaml', digest: null, limit: 0 }]
  const after = findDriftedFiles(edited, compare)
  await vi.advanceTimersByTimeAsync(1000)
  const begun = compare.mock.calls.length
  hangs.resolve([])
  await vi.advanceTimersByTimeAsync(1000)

  expect([await before, await after]).toEqual([[], [resolve('gateway.yaml')]])
  expect([begun, compare.mock.calls.length]).toEqual([1, 2])
  expect(await findDriftedFiles(edited, compare)).toEqual([])
})
