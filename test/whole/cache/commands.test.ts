import { expect, test } from 'vitest'
import { bootLiveGateway, fetchAdmin } from '../../helpers/live-gateway.ts'

test('what was removed in part stands among the orders, with what and why not all', async () => {
  const live = await bootLiveGateway({
    operations: { 'market.insights': { cache: true } },
    cache: { redis: { url: 'redis://127.0.0.1:1' } },
  })

  const { status } = await fetchAdmin(`${live.admin}/cache?operation=market.insights`, 'DELETE')
  const { orders } = (await fetchAdmin(`${live.admin}/overview`)).body

  const text = expect.stringMatching(
    /^In part: cache cleared \(operation market\.insights, removed 0\): 0 were removed here, but Redis did not answer: /,
  )
  expect(status).toBe(503)
  expect(orders).toEqual([{ at: expect.any(String), by: '127.0.0.1', text }])
})
