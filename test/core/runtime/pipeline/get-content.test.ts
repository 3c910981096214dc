import { expect, test } from 'vitest'
import { rejectGetContentLayer } from '../../../../src/core/runtime/pipeline/compose-layers.ts'
import { chunkedBody, fakeBody, fakeExchange, fakeNext } from '../../../helpers/exchange.ts'

// RFC 9110 §9.3.1: content received in a GET request has no generally defined semantics.
const rejected = { kind: 'bad-request', reason: 'get-content', status: 400 }

test('a GET without a body goes on as it came', async () => {
  const body = fakeBody(0)
  const next = fakeNext()
  const exchange = fakeExchange({ body })

  const { status } = await rejectGetContentLayer(next)(exchange)

  expect([status, next.calls, exchange.body]).toEqual([200, 1, body])
})

test('a GET with a length above 0 is rejected, and none of its body is read', async () => {
  const body = fakeBody(1)
  const next = fakeNext()

  await expect(rejectGetContentLayer(next)(fakeExchange({ body }))).rejects.toMatchObject(rejected)

  expect([next.calls, body.started]).toEqual([0, false])
})

test('a GET in chunks is rejected at the first byte, and its upload is stopped', async () => {
  const body = chunkedBody('a', 'b')
  const next = fakeNext()

  await expect(rejectGetContentLayer(next)(fakeExchange({ body }))).rejects.toMatchObject(rejected)

  expect([next.calls, body.isStopped, body.received]).toEqual([0, true, false])
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
