import { expect, test } from 'vitest'
import { bootGateway } from '../../../helpers/gateway.ts'
import { onRequest, rawUpstream } from '../../../helpers/upstream.ts'
import { call } from '../../../helpers/wire.ts'

test.each([
  ['without a key', [], 1],
  ['with one', ['Idempotency-Key', '"8e03978e"'], 3],
])('a POST that is reset after it was sent, %s, is sent so often', async (_, fields, times) => {
  let heads = 0
  const upstream = await rawUpstream((socket) =>
    onRequest(socket, () => {
      heads++
      socket.resetAndDestroy()
    }),
  )
  const booted = await bootGateway({
    upstream: upstream.url,
    defaults: { retry: {} },
    operations: { 'valuation.score': { idempotency: { onUnknown: 'forward' } } },
  })

  const response = await call(booted.port, {
    method: 'POST',
    target: '/valuation/score',
    fields,
    body: Buffer.from('abc'),
  })

  expect(response.status).toBe(502)
  expect(heads).toBe(times)
})
