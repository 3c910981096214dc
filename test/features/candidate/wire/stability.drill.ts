/** As stability.test.ts, with so many clients that the share is met. STEPS=20 takes four times as long. */
import { expect, test } from 'vitest'
import { listAddresses, shiftClients } from './stability.ts'

const steps = Number(process.env.STEPS ?? 4)

test('10,000 clients go over: none goes back, two gateways agree, each step is met within a point', async () => {
  const result = await shiftClients(listAddresses(10_000), steps)
  console.log(result)

  expect(result).toMatchObject({ requests: 2 * (steps + 1) * 10_000, wentBack: 0, differed: 0, others: [] })
  expect(result.deviation).toBeLessThanOrEqual(1)
}, 1_200_000)
