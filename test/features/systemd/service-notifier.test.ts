import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import type { Log } from '../../../src/core/log/log.ts'
import { createServiceNotifier, describeService } from '../../../src/features/systemd/service-notifier.ts'

beforeEach(() => vi.useFakeTimers())
afterEach(() => {
  vi.clearAllTimers()
  vi.useRealTimers()
})

/** A notifier whose messages are kept; `outcome` may delay or reject a message. */
const notifier = (outcome = async () => {}, watchdogMs: number | null = 1000, describe = () => 'serves') => {
  const sent: string[] = []
  const warned: unknown[] = []
  const log = { warn: (fields: unknown, event: string) => warned.push([event, fields]) } as unknown as Log
  const send = (assignments: readonly string[]) => {
    sent.push(assignments.join(' '))
    return outcome()
  }
  return { service: createServiceNotifier({ watchdogMs, log, describe, send }), sent, warned }
}

/** Fails with each `false` of some results, and succeeds after them. */
const failing =
  (...results: boolean[]) =>
  async () => {
    if (results.shift() === false) throw new Error('spawn systemd-notify ENOENT')
  }

const settle = () => vi.advanceTimersByTimeAsync(0)

test('a ready gateway sends a keep-alive at half of the watchdog time, each with its status', async () => {
  const { service, sent } = notifier()
  await vi.advanceTimersByTimeAsync(2000)
  expect(sent).toEqual([])

  service.ready()
  await vi.advanceTimersByTimeAsync(1499)

  expect(sent).toEqual(['READY=1 STATUS=serves', 'WATCHDOG=1 STATUS=serves', 'WATCHDOG=1 STATUS=serves'])
})

test.each([
  ['where nobody watches', null],
  ['when a timer of Node’s is too short for the time', 2 ** 33],
])('it does not beat %s', async (_, watchdogMs) => {
  const { service, sent } = notifier(undefined, watchdogMs)

  service.ready()
  await vi.advanceTimersByTimeAsync(60_000)

  expect(sent).toEqual(['READY=1 STATUS=serves'])
})

test('a reload begins with the time of the system, and the last of several ends it', async () => {
  const { service, sent } = notifier(undefined, null)

  service.reloading()
  service.reloading()
  service.reloaded()
  await settle()
  expect(sent).toEqual(Array(2).fill(expect.stringMatching(/^RELOADING=1 MONOTONIC_USEC=\d+ STATUS=serves$/)))
  service.reloaded()
  await settle()

  expect(sent[2]).toBe('READY=1 STATUS=serves')
})

test('messages keep their order, and a delayed keep-alive is not followed by more', async () => {
  const { promise: held, resolve: release } = Promise.withResolvers<void>()
  const { service, sent } = notifier(() => held)

  service.ready()
  await vi.advanceTimersByTimeAsync(5000)
  service.stopping()
  expect(sent).toHaveLength(1)
  release()
  await settle()

  expect(sent.slice(1)).toEqual([
    'WATCHDOG=1 STATUS=Stops; requests in flight end',
    'STOPPING=1 STATUS=Stops; requests in flight end',
  ])
})

test('a failed message is sent once more before the next, and a success is not logged', async () => {
  const { service, sent, warned } = notifier(failing(false), null)

  service.ready()
  service.reloading()
  await settle()

  expect(sent.map((each) => each.split(' ')[0])).toEqual(['READY=1', 'READY=1', 'RELOADING=1'])
  expect(warned).toEqual([])
})

test('no status makes a message too long for systemd', async () => {
  const { service, sent } = notifier(undefined, null, () => 'ß'.repeat(5000))

  service.ready()
  await settle()

  expect(Buffer.byteLength(sent.join())).toBeLessThan(4096)
})

test('a message that is lost twice is logged once, until a message arrives again', async () => {
  const { service, warned } = notifier(failing(false, false, false, false, true, false, false))

  service.ready()
  await vi.advanceTimersByTimeAsync(600)
  expect(warned).toEqual([['systemd was not notified', { reason: 'spawn systemd-notify ENOENT' }]])
  await vi.advanceTimersByTimeAsync(1000)

  expect(warned).toHaveLength(2)
})

test.each([
  ['file', 'an edit'],
  ['rollback', 'a rollback'],
] as const)('what was rejected has its name: %s', (trigger, what) => {
  const place = { file: 'gateway.yaml', line: 3, column: 1, path: 'audit.file' }
  const problem = { ...place, message: 'it cannot be opened', expected: 'a file', found: 'EACCES' }
  const said = describeService({
    address: { address: '::1', family: 'IPv6', port: 8080 },
    ...{ config: { hash: 'e25ebc608ce5' }, notServing: () => null },
    rejection: { at: 0, since: 0, trigger, problems: [problem, problem], isFileSound: true, areWorkersSilent: false },
  })

  expect(said).toBe(
    `Serves clients on [::1]:8080; configuration e25ebc608ce5; ${what} was rejected: gateway.yaml:3:1 audit.file, and 1 more`,
  )
})
