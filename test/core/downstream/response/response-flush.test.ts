import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import type { ActiveRequest } from '../../../../src/core/downstream/request/active-request.ts'
import { FlushMonitor } from '../../../../src/core/downstream/response/send-response.ts'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

const mebibyte = 1024 ** 2

/** Makes a response whose client takes nothing of it, under a configuration with this rate. */
const untakenResponse = (
  socket: object,
  minRate: number,
): ActiveRequest & { readonly reset: ReturnType<typeof vi.fn> } => {
  const reset = vi.fn()
  const snapshot = { config: { listen: { minRate, timeouts: { body: null } } } }
  const response = { isHeadOfLine: true, on: () => {} }
  const request = { multiplexed: false, socket }
  return { reset, snapshot, response, request, onHeadOfLine: null } as never
}

/** Waits for the client of a response to take some of it. */
const awaitClient = (response: ActiveRequest, forMs: number): void => {
  const monitor = new FlushMonitor(response)
  monitor.start()
  vi.advanceTimersByTime(forMs)
  monitor.stop()
}

test.each([
  ['lower', mebibyte, 1024, 0],
  ['higher', 1024, mebibyte, 1],
])('a %s rate holds from the next response on, also on a connection that was open', (_, before, after, cuts) => {
  const socket = { bytesWritten: 0, writableLength: 0 }
  const next = untakenResponse(socket, after)

  awaitClient(untakenResponse(socket, before), 0)
  awaitClient(next, 20_000)

  expect(next.reset).toHaveBeenCalledTimes(cuts)
})

test('responses of one connection are judged together', () => {
  const socket = { bytesWritten: 0, writableLength: 0 }
  const next = untakenResponse(socket, mebibyte)

  awaitClient(untakenResponse(socket, mebibyte), 9_000)
  awaitClient(next, 10_000)

  expect(next.reset).toHaveBeenCalledTimes(1)
})
