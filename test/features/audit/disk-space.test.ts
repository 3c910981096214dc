import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { trackDiskSpace } from '../../../src/features/audit/disk-space.ts'
import { logInMemory } from '../../helpers/gateway.ts'
import { FakeAuditOutput } from './fake-audit-output.ts'

beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'Date', 'performance'] }))
afterEach(() => void vi.useRealTimers())

const [GiB, minuteMs] = [1024 ** 3, 60_000] as const

/** Creates the space of a disk, and what measures it anew a number of minutes later. */
const onDisk = async (freeBytes: number, sizeBytes = 20 * GiB) => {
  const output = new FakeAuditOutput()
  output.disk = { freeBytes, sizeBytes }
  const { log, lines } = logInMemory()
  const space = trackDiskSpace(log, output)
  await vi.advanceTimersByTimeAsync(0)
  const later = async (minutes: number, free: number, size = sizeBytes) => {
    output.disk = { freeBytes: free, sizeBytes: size }
    await vi.advanceTimersByTimeAsync(minutes * minuteMs)
    space.measure(output)
    await vi.advanceTimersByTimeAsync(0)
    return space.state
  }
  return { space, output, lines, later }
}

test.each([
  ['a tenth of the disk', 20 * GiB, 2 * GiB],
  ['10 GiB of a large one', 4096 * GiB, 10 * GiB],
])('a disk is low when less than %s is free', async (_, sizeBytes, bound) => {
  const [enough, less] = [await onDisk(bound, sizeBytes), await onDisk(bound - 1, sizeBytes)]

  expect(enough.space.state).toEqual({ freeBytes: bound, sizeBytes, fullInSeconds: null, low: false })
  expect(less.space.state).toEqual({ freeBytes: bound - 1, sizeBytes, fullInSeconds: null, low: true })
})

test('a disk is low when it is full within a day at the pace of the last hour', async () => {
  const { later } = await onDisk(13 * GiB)

  const [half, hour] = [await later(30, 12.5 * GiB), await later(30, 12 * GiB)] // 1 GiB an hour
  const slower = await later(30, 12 * GiB) // 0.5 GiB within the last hour

  expect(half).toMatchObject({ fullInSeconds: 12.5 * 3600, low: true })
  expect(hour).toMatchObject({ fullInSeconds: 12 * 3600, low: true })
  expect(slower).toMatchObject({ fullInSeconds: 24 * 3600, low: false })
})

test('no pace is told of less than half an hour, and none of a disk that gets emptier or was made larger', async () => {
  const { later } = await onDisk(13 * GiB)

  const burst = await later(29, 5 * GiB)
  const emptier = await later(30, 14 * GiB)
  const larger = await later(1, 13 * GiB, 40 * GiB)

  for (const state of [burst, emptier, larger]) expect(state).toMatchObject({ fullInSeconds: null, low: false })
})

test('a pace is measured by the monotonic clock: an operator who sets the time changes nothing', async () => {
  const { later } = await onDisk(13 * GiB)

  vi.setSystemTime(Date.now() - 7_200_000)

  expect(await later(60, 12 * GiB)).toMatchObject({ fullInSeconds: 12 * 3600 })
})

test('the log has a line when a disk gets low, and another only after it was well again', async () => {
  const { later, lines } = await onDisk(3 * GiB)

  for (const free of [1, 1, 3, 1]) await later(1, free * GiB)

  expect(lines).toMatchObject([
    { level: 40, msg: 'audit disk is nearly full', file: 'audit.log', freeBytes: GiB, sizeBytes: 20 * GiB },
    { msg: 'audit disk is nearly full' },
  ])
})

test('what cannot be measured is not known', async () => {
  const { space, output } = await onDisk(GiB)

  output.measured = Promise.reject(new Error('ENOENT'))
  space.measure(output)
  await vi.advanceTimersByTimeAsync(0)

  expect(space.state).toBeNull()
})

test('a disk that hangs is asked once, until it has responded', async () => {
  const { output, later } = await onDisk(3 * GiB)
  const { promise, resolve } = Promise.withResolvers<void>()
  output.measured = promise

  const meanwhile = [await later(1, GiB), await later(1, GiB)]
  const asked = output.measurements
  resolve()
  const afterwards = await later(1, 2.5 * GiB)

  expect(meanwhile).toMatchObject([{ freeBytes: 3 * GiB }, { freeBytes: 3 * GiB }])
  expect(asked).toBe(2) // the first one got a response
  expect(afterwards).toMatchObject({ freeBytes: 2.5 * GiB })
})
