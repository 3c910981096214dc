import { expect } from 'vitest'
import { block, frame, get, missing } from '../../../helpers/http2.ts'
import { flood, maxGrowthBytes, repeatFrame, runAttack } from '../../../helpers/http2-attack.ts'
import { part, testAndDrill } from '../../../helpers/speed.ts'

// CVE-2024-27316: a head that never ends. It is no request yet, so no limit on requests holds.
testAndDrill.skipIf(missing !== null).each<[string, Buffer]>(
  part([
    ['small', frame(9, 0, 1, block('x-a', 'b'))],
    ['large', frame(9, 0, 1, block('x-a', 'b'.repeat(16_000)))],
    ['empty', frame(9, 0, 1)],
  ]),
)('a head of endless %s frames ends its connection', async (_, continuation) => {
  const { attacker, statuses, grownBytes, begun } = await runAttack(async (attacker) => {
    await attacker.send(frame(1, 1, 1, block(...get())))
    await flood(attacker, 1000, () => repeatFrame(20, continuation))
  })

  await attacker.ended()
  expect(new Set(statuses)).toEqual(new Set([200]))
  expect(begun).toBe(0)
  expect(grownBytes).toBeLessThan(maxGrowthBytes)
})
