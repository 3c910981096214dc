/** The layers that decide by the head of a request alone. */
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { systemMs } from '../../../../src/core/lib/clock.ts'
import { bodyLimitLayer, rejectGetContentLayer } from '../../../../src/core/runtime/pipeline/compose-layers.ts'
import { inOrder, type LayerRow, layerRow } from '../../../../src/core/runtime/pipeline/layer-stack.ts'
import { outOfServiceHandler } from '../../../../src/core/runtime/pipeline/out-of-service.ts'
import { chunkedBody, fakeBody, fakeExchange, fakeNext } from '../../../helpers/exchange.ts'

test.each([
  [100, 0, 200],
  [100, 100, 200],
  [100, 101, 'content-too-large'],
  [0, 0, 200],
  [0, 1, 'content-too-large'],
])('with a limit of %i a body of %i bytes gets %s', async (limit, length, outcome) => {
  const next = fakeNext()

  const handled = bodyLimitLayer(limit)(next)(fakeExchange({ body: fakeBody(length) }))

  expect(await handled.then(({ status }) => status).catch(({ kind }) => kind)).toBe(outcome)
  expect(next.calls).toBe(outcome === 200 ? 1 : 0)
})

test('a chunked body goes on, to be counted while it streams', async () => {
  const body = fakeBody(null)

  await bodyLimitLayer(100)(fakeNext())(fakeExchange({ body }))

  expect(body.maxBytes).toBe(100)
})

beforeEach(() => void vi.useFakeTimers({ now: 1_000_000 }))
afterEach(() => vi.useRealTimers())

const rejection = (seconds: string) => ({ kind: 'rejected-by-operator', status: 503, fields: ['Retry-After', seconds] })

test('every exchange is rejected, with the time to come again', async () => {
  await expect(outOfServiceHandler(null)(fakeExchange())).rejects.toMatchObject(rejection('60'))
})

test('where the end is known, it is the time to come again, and never at once', async () => {
  const handle = outOfServiceHandler(systemMs() + 90_500)

  await expect(handle(fakeExchange())).rejects.toMatchObject(rejection('91'))
  vi.advanceTimersByTime(90_499)
  await expect(handle(fakeExchange())).rejects.toMatchObject(rejection('1'))
  vi.advanceTimersByTime(110_000)
  await expect(handle(fakeExchange())).rejects.toMatchObject(rejection('1'))
})

test.each([-2, 2])('a wall clock that is set by %d h does not change it', async (hours) => {
  const handle = outOfServiceHandler(systemMs() + 5000)

  vi.setSystemTime(1_000_000 + hours * 3_600_000)

  await expect(handle(fakeExchange())).rejects.toMatchObject(rejection('5'))
})

const row = (name: LayerRow['name']): LayerRow => layerRow(name, 'key', 1, String, () => null)

test('layers stand in the order of the places, whatever the order of those that bring them', () => {
  expect(inOrder([row('retry'), row('metrics'), row('cache')]).map(({ name }) => name)).toEqual([
    'metrics',
    'cache',
    'retry',
  ])
})

test('a place has one taker', () => {
  expect(() => inOrder([row('cache'), row('retry'), row('cache')])).toThrow('one place')
})

// RFC 9110 §9.3.1: content received in a GET request has no generally defined semantics.
const rejected = { kind: 'bad-request', reason: 'get-content', status: 400 }

test('a GET without a body goes on as it came', async () => {
  const body = fakeBody(0)
  const next = fakeNext()
  const exchange = fakeExchange({ body })

  const { status } = await rejectGetContentLayer(next)(exchange)

  expect([status, next.calls, exchange.body]).toEqual([200, 1, body])
})

test('a GET with content is rejected: by its length before a byte is read, in chunks at the first byte', async () => {
  const [known, chunked] = [fakeBody(1), chunkedBody('a', 'b')]
  const next = fakeNext()
  const layer = rejectGetContentLayer(next)

  for (const body of [known, chunked]) await expect(layer(fakeExchange({ body }))).rejects.toMatchObject(rejected)

  expect([next.calls, known.started, chunked.isStopped, chunked.received]).toEqual([0, false, true, false])
})

test('a GET without a chunk goes on as one without a body, when its end has come', async () => {
  const next = fakeNext()
  const exchange = fakeExchange({ body: chunkedBody() })

  await rejectGetContentLayer(next)(exchange)

  expect([next.calls, exchange.body.length, exchange.body.received]).toEqual([1, 0, true])
  expect(await exchange.body.read()).toEqual([])
})

test('a body that fails before its end fails the request', async () => {
  const body = fakeBody(null)
  const next = fakeNext()
  const failing = {
    stop: () => {},
    [Symbol.asyncIterator]: () => ({ next: () => Promise.reject(new Error('the client has gone')) }),
  }
  body.stream = () => failing

  await expect(rejectGetContentLayer(next)(fakeExchange({ body }))).rejects.toThrow('the client has gone')

  expect(next.calls).toBe(0)
})
