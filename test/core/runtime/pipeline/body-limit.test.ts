import { expect, test } from 'vitest'
import { bodyLimitLayer } from '../../../../src/core/runtime/pipeline/compose-layers.ts'
import { fakeBody, fakeExchange, fakeNext } from '../../../helpers/exchange.ts'

test.each([0, 1, 99, 100])('a body of %i bytes passes a limit of 100', async (length) => {
  const next = fakeNext()

  await bodyLimitLayer(100)(next)(fakeExchange({ body: fakeBody(length) }))

  expect(next.calls).toBe(1)
})

test('a declared length over the limit is rejected, and nothing is forwarded', async () => {
  const next = fakeNext()

  const rejected = bodyLimitLayer(100)(next)(fakeExchange({ body: fakeBody(101) }))

  await expect(rejected).rejects.toMatchObject({ kind: 'content-too-large', status: 413 })
  expect(next.calls).toBe(0)
})

test('a chunked body goes on, to be counted while it streams', async () => {
  const body = fakeBody(null)

  await bodyLimitLayer(100)(fakeNext())(fakeExchange({ body }))

  expect(body.maxBytes).toBe(100)
})

test('a limit of 0 lets no body pass', async () => {
  const limited = bodyLimitLayer(0)(fakeNext())

  await expect(limited(fakeExchange({ body: fakeBody(1) }))).rejects.toMatchObject({ kind: 'content-too-large' })
  await expect(limited(fakeExchange({ body: fakeBody(0) }))).resolves.toMatchObject({ status: 200 })
})
