import { expect, test } from 'vitest'
import { listAddresses, shiftClients } from './stability.ts'

test('step by step no client goes back, by reloads and by restarts, and two gateways agree on each', async () => {
  const addresses = listAddresses(100)

  const result = await shiftClients(addresses, 4)

  expect(result).toMatchObject({ requests: 2 * 5 * 100, wentBack: 0, differed: 0, others: [] })
})
