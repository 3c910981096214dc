/** As stability.test.ts, with so many clients that the share is met. */
import { expect, test } from 'vitest'
import { listAddresses, shiftClients } from './stability.ts'

test('10,000 clients go over in 20 steps: none goes back, two gateways agree, each step is met within a point', async () => {
  const result = await shiftClients(listAddresses(10_000), 20)
  console.log(result)

  expect(result).toMatchObject({ requests: 2 * 21 * 10_000, wentBack: 0, differed: 0 })
  expect(result.deviation).toBeLessThanOrEqual(1)
}, 1_200_000)
