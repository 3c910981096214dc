/** What is kept of reloads, and who is told of them. */

import { resolve } from 'node:path'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import type { LoadedConfig, LoadResult } from '../../../../src/core/config/load/load.ts'
import type { SourceFile } from '../../../../src/core/config/load/source-files.ts'
import { findDriftedFiles } from '../../../../src/core/runtime/reload/config-drift.ts'
import { LastReading } from '../../../../src/core/runtime/reload/last-reading.ts'
import { ReloadHistory, type ReloadOutcome } from '../../../../src/core/runtime/reload/reload-history.ts'
import { ReloadRequests } from '../../../../src/core/runtime/reload/reload-requests.ts'

const rollback: ReloadOutcome = {
  ...{ result: 'unchanged', from: 'a', to: 'a', changes: [], warnings: [] },
  ...{ forced: false, switchedOff: [], neverRan: null },
}
const deferred = (known: boolean): ReloadOutcome => {
  const held = { hash: 'b', problems: [], since: 0, tries: 1, nextTryAt: 0, known }
  return { result: 'rejected', hash: 'a', problems: [], held, silentWorkers: null }
}

test('an edit that is tried again and again for the same reason is remembered once, and counted each time', () => {
  const history = new ReloadHistory()

  history.add('rollback', rollback)
  for (let n = 0; n < 30; n++) history.add('preflight', deferred(n > 0))

  expect(history.last.map(({ trigger }) => trigger)).toEqual(['preflight', 'rollback'])
  expect(history.counts).toContainEqual({ trigger: 'preflight', result: 'rejected', count: 30 })
})

test('the last twenty are remembered, the newest first', () => {
  const history = new ReloadHistory()

  history.add('start', rollback)
  for (let n = 0; n < 19; n++) history.add('file', rollback)
  const twenty = history.last.at(-1)?.trigger
  history.add('signal', rollback)

  expect(twenty).toBe('start')
  expect(history.last.map(({ trigger }) => trigger)).toEqual(['signal', ...Array(19).fill('file')])
})

const asked = { trigger: 'request', force: false, by: null } as const

test('a check that throws fails its own request, and no other one', async () => {
  const requests = new ReloadRequests()
  const planted = new Error('planted')
  const broken = requests.add(asked, () => {
    throw planted
  })
  const sound = requests.add({ ...asked, by: 'anna' }, () => null)

  const shared = requests.take()
  shared?.settle(Promise.resolve({ result: 'unchanged' } as never))

  await expect(broken).rejects.toBe(planted)
  expect(await sound).toEqual({ result: 'unchanged' })
  expect([shared?.by, requests.isEmpty]).toEqual(['anna', true])
})

const source = (file: string, digest: string) => ({ file, digest, limit: 1 })

const initial = {
  sources: [source('/gateway.yaml', 'a'), source('/clients.yaml', 'b')],
  config: { hash: 'runs' },
} as unknown as LoadedConfig

const failed = { ok: false, problems: [], unreadable: false, sources: [source('/gateway.yaml', 'c')] } as const

const readAgain = async (result: LoadResult): Promise<readonly string[]> => {
  const reading = new LastReading('/gateway.yaml', initial, async () => result)
  await reading.repeat()
  return reading.sources.map(({ file, digest }) => `${file} ${digest}`)
}

test.each<[string, { isCutShort?: true }, readonly string[]]>([
  ['was cut short leaves those watched that were before', { isCutShort: true }, ['/gateway.yaml c', '/clients.yaml b']],
  ['has read all names its own files', {}, ['/gateway.yaml c']],
])('a load that %s', async (_, more, files) => {
  expect(await readAgain({ ...failed, ...more })).toEqual(files)
})

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
