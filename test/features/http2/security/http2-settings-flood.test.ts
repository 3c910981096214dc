import { constants } from 'node:http2'
import { expect, test } from 'vitest'
import { codeOf, frame, missing } from '../../../helpers/http2.ts'
import { flood, maxGrowthBytes, repeatFrame, runAttack } from '../../../helpers/http2-attack.ts'

// CVE-2019-9515: each has to be acknowledged.
test.skipIf(missing !== null).each<[string, Buffer]>([
  ['empty', Buffer.alloc(0)],
  ['telling', Buffer.from([0, 3, 0, 0, 0, 9])],
])('a flood of settings, %s ones, ends its connection', async (_, payload) => {
  const { attacker, statuses, grownBytes } = await runAttack((attacker) =>
    flood(attacker, 1000, () => repeatFrame(50, frame(4, 0, 0, payload))),
  )

  await attacker.ended()
  const away = attacker.frames.find(({ type }) => type === 7)
  if (away !== undefined) expect(codeOf(away)).toBe(constants.NGHTTP2_ENHANCE_YOUR_CALM) // it may be lost
  expect(new Set(statuses)).toEqual(new Set([200]))
  expect(grownBytes).toBeLessThan(maxGrowthBytes)
})
