import { expect, test } from 'vitest'
import { loadSheddingLayer } from '../../../src/features/limits/load-shedding.ts'
import { fakeExchange, fakeNext } from '../../helpers/exchange.ts'

test('exchanges are rejected while load is shed, and no longer', async () => {
  const loop = { sheds: true }
  const next = fakeNext()
  const handle = loadSheddingLayer(loop)(next)

  await expect(handle(fakeExchange())).rejects.toMatchObject({ kind: 'overloaded', fields: ['Retry-After', '1'] })
  const calls = next.calls
  loop.sheds = false
  await handle(fakeExchange())

  expect([calls, next.calls]).toEqual([0, 1])
})
