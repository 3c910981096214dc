import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import type { Exchange, ProxyResponse } from '../../../../src/core/exchange/exchange.ts'
import { GatewayError } from '../../../../src/core/exchange/failures/errors.ts'
import { now } from '../../../../src/core/lib/clock.ts'
import { deadlineLayer } from '../../../../src/core/runtime/pipeline/compose-layers.ts'
import { fakeBody, fakeExchange, fakeNext, fakeResponse, untilAborted } from '../../../helpers/exchange.ts'

beforeEach(() => vi.useFakeTimers())
afterEach(() => vi.useRealTimers())

/** Starts an exchange whose upstream never responds; `expired` waits for its end. */
const start = (body = fakeBody()) => {
  const exchange = fakeExchange({ body })
  const ended = deadlineLayer(100)(untilAborted)(exchange)
  const rejection = expect(ended).rejects.toMatchObject({ kind: 'deadline-exceeded', status: 504 })
  return {
    exchange,
    /** Expects it to be ended when its time is over, and no earlier. */
    async expires(): Promise<void> {
      vi.advanceTimersByTime(99)
      expect(exchange.aborted).toBeNull()
      vi.advanceTimersByTime(1)
      await rejection
    },
  }
}

test('what takes longer is ended, no earlier than that', async () => {
  await start().expires()
})

test('an upload that is never read is ended in that time', async () => {
  await start(fakeBody(null)).expires()
})

test('it starts when the request is complete', async () => {
  const body = fakeBody(null)
  const { exchange, expires } = start(body)

  body.begin()
  vi.advanceTimersByTime(10_000)
  expect(exchange.aborted).toBeNull()
  body.complete()

  await expires()
})

test('a response or a failure in time leaves no timer behind', async () => {
  const exchange = fakeExchange()
  const failing = fakeNext(() => Promise.reject(new GatewayError('connect-failed')))

  const { status } = await deadlineLayer(100)(fakeNext())(exchange)
  const failed = deadlineLayer(100)(failing)(fakeExchange())

  await expect(failed).rejects.toMatchObject({ kind: 'connect-failed' })
  expect([status, vi.getTimerCount(), exchange.aborted]).toEqual([200, 0, null])
})

test('a request that is complete after the response starts nothing', async () => {
  const body = fakeBody(null)
  const exchange = fakeExchange({ body })

  await deadlineLayer(100)(fakeNext())(exchange)
  body.complete()
  vi.advanceTimersByTime(10_000)

  expect([exchange.aborted, vi.getTimerCount()]).toEqual([null, 0])
})

describe('the deadline', () => {
  const moment = 100

  test('is known from the start, and cleared by a response or a failure', async () => {
    const [served, failed] = [fakeExchange(), fakeExchange()]
    const deadlines: (number | null)[] = []
    const startedAt = now()
    const through = (exchange: Exchange, result: Promise<ProxyResponse>) =>
      deadlineLayer(moment)((seen) => {
        deadlines.push((seen.deadlineAt ?? 0) - startedAt)
        return result
      })(exchange)

    await through(served, Promise.resolve(fakeResponse()))
    await through(failed, Promise.reject(new GatewayError('connect-failed'))).catch(() => {})

    expect(deadlines).toEqual([moment, moment])
    expect([served.deadlineAt, failed.deadlineAt]).toEqual([null, null])
  })

  test('is known for a small body when it has been read', () => {
    const body = fakeBody(10)
    const exchange = fakeExchange({ body })
    void deadlineLayer(moment)(untilAborted)(exchange)

    const reading = exchange.deadlineAt
    body.begin()
    body.complete()

    expect([reading, exchange.deadlineAt]).toEqual([null, now() + moment])
  })

  test('is unknown while a body streams, and lies later when it has', () => {
    const body = fakeBody(null)
    const exchange = fakeExchange({ body })
    void deadlineLayer(moment)(untilAborted)(exchange)

    const unread = exchange.deadlineAt
    const startedAt = now()
    body.begin()
    const streaming = exchange.deadlineAt
    vi.advanceTimersByTime(70)
    body.complete()

    expect([unread, streaming, exchange.deadlineAt]).toEqual([startedAt + moment, null, startedAt + 70 + moment])
  })
})
