import { constants } from 'node:http2'
import { expect, test } from 'vitest'
import { codeOf, frame, missing } from '../../../helpers/http2.ts'
import { flood, maxGrowthBytes, repeatFrame, runAttack } from '../../../helpers/http2-attack.ts'

const pings = repeatFrame(50, frame(6, 0, 0, Buffer.alloc(8)))

// CVE-2019-9512: each has to be answered, and a client that does not read lets the responses pile up.
test.skipIf(missing !== null)('a flood of pings ends its connection', async () => {
  const { attacker, statuses, grownBytes } = await runAttack((attacker) => flood(attacker, 1000, () => pings))

  await attacker.ended()
  const away = attacker.frames.find(({ type }) => type === 7)
  if (away !== undefined) expect(codeOf(away)).toBe(constants.NGHTTP2_ENHANCE_YOUR_CALM) // it may be lost
  expect(new Set(statuses)).toEqual(new Set([200]))
  expect(grownBytes).toBeLessThan(maxGrowthBytes)
})

test.skipIf(missing !== null)('so does one of a client that reads nothing', async () => {
  const { attacker, statuses, grownBytes } = await runAttack(async (attacker) => {
    attacker.socket.pause()
    await flood(attacker, 200, () => pings)
    attacker.socket.resume()
  })

  await attacker.ended()
  expect(new Set(statuses)).toEqual(new Set([200]))
  expect(grownBytes).toBeLessThan(maxGrowthBytes)
})

test.skipIf(missing !== null)('a client that pings as clients do is answered', async () => {
  const { attacker } = await runAttack((attacker) => flood(attacker, 1, () => pings))

  await attacker.frame(({ type, flags }) => type === 6 && flags === 1)
  expect(attacker.socket.destroyed).toBe(false)
})
