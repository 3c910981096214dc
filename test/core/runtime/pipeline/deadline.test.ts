import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import type { Exchange } from '../../../../src/core/exchange/exchange.ts'
import { GatewayError } from '../../../../src/core/exchange/failures/errors.ts'
import { now } from '../../../../src/core/lib/clock.ts'
import { deadlineLayer } from '../../../../src/core/runtime/pipeline/compose-layers.ts'
import { fakeBody, fakeExchange, fakeNext, fakeResponse, untilAborted } from '../../../helpers/exchange.ts'

beforeEach(() => vi.useFakeTimers())
afterEach(() => vi.useRealTimers())

test('what takes longer is ended, no earlier than that', async () => {
  const exchange = fakeExchange()
  const ended = deadlineLayer(100)(untilAborted)(exchange)
  const rejection = expect(ended).rejects.toMatchObject({ kind: 'deadline-exceeded', status: 504 })

  vi.advanceTimersByTime(99)
  const early = exchange.aborted
  vi.advanceTimersByTime(1)

  expect(early).toBeNull()
  await rejection
})

test('a response in time leaves no timer behind', async () => {
  const exchange = fakeExchange()

  const response = await deadlineLayer(100)(fakeNext())(exchange)

  expect(response.status).toBe(200)
  expect(vi.getTimerCount()).toBe(0)
  expect(exchange.aborted).toBeNull()
})

test('a failure in time leaves no timer behind', async () => {
  const failing = fakeNext(() => Promise.reject(new GatewayError('connect-failed')))

  await expect(deadlineLayer(100)(failing)(fakeExchange())).rejects.toMatchObject({ kind: 'connect-failed' })

  expect(vi.getTimerCount()).toBe(0)
})

test('it starts when the request is complete', async () => {
  const body = fakeBody(null)
  const exchange = fakeExchange({ body })
  const ended = deadlineLayer(100)(untilAborted)(exchange)
  const rejection = expect(ended).rejects.toMatchObject({ kind: 'deadline-exceeded' })

  body.begin()
  vi.advanceTimersByTime(10_000)
  const uploading = exchange.aborted
  body.complete()
  vi.advanceTimersByTime(99)
  const early = exchange.aborted
  vi.advanceTimersByTime(1)

  expect([uploading, early]).toEqual([null, null])
  await rejection
})

test('an upload that is never read is ended in that time', async () => {
  const exchange = fakeExchange({ body: fakeBody(null) })
  const ended = deadlineLayer(100)(untilAborted)(exchange)
  const rejection = expect(ended).rejects.toMatchObject({ kind: 'deadline-exceeded' })

  vi.advanceTimersByTime(99)
  const early = exchange.aborted
  vi.advanceTimersByTime(1)

  expect(early).toBeNull()
  await rejection
})

test('a request that is complete after the response starts nothing', async () => {
  const body = fakeBody(null)
  const exchange = fakeExchange({ body })

  await deadlineLayer(100)(fakeNext())(exchange)
  body.complete()
  vi.advanceTimersByTime(10_000)

  expect(exchange.aborted).toBeNull()
  expect(vi.getTimerCount()).toBe(0)
})

describe('the deadline', () => {
  const moment = 100

  test('is known from the start, and cleared by a response or a failure', async () => {
    const [served, failed] = [fakeExchange(), fakeExchange()]
    const deadlines: (number | null)[] = []
    const startedAt = now()
    const see = (exchange: Exchange): void => void deadlines.push((exchange.deadlineAt ?? 0) - startedAt)

    await deadlineLayer(moment)((exchange) => {
      see(exchange)
      return Promise.resolve(fakeResponse())
    })(served)
    await deadlineLayer(moment)((exchange) => {
      see(exchange)
      return Promise.reject(new GatewayError('connect-failed'))
    })(failed).catch(() => {})

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
