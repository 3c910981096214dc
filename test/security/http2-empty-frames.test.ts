import { expect } from 'vitest'
import { frame, get, head, missing } from '../helpers/http2.ts'
import { flood, maxGrowthBytes, repeatFrame, runAttack } from '../helpers/http2-attack.ts'
import { part, test, testAndDrill } from '../helpers/speed.ts'

const upload = head(1, get('/valuation/score', 'POST'), false)
const bytes = (...values: number[]): Buffer => Buffer.from(values)

// CVE-2019-9518.
test.skipIf(missing !== null)('frames without data, in the middle of a body, end their connection', async () => {
  const { attacker, statuses, grownBytes } = await runAttack(async (attacker) => {
    await attacker.send(upload)
    await flood(attacker, 1000, () => repeatFrame(50, frame(0, 0, 1)))
  })

  await attacker.ended()
  expect(new Set(statuses)).toEqual(new Set([200]))
  expect(grownBytes).toBeLessThan(maxGrowthBytes)
})

// Node has no event for any of these: they cost what it takes to read them, and hold nothing.
testAndDrill.skipIf(missing !== null).each<[string, Buffer]>(
  part([
    ['windows', frame(8, 0, 0, bytes(0, 0, 0, 1))],
    ['priorities', frame(2, 0, 3, bytes(0, 0, 0, 0, 9))],
    ['a kind that nobody knows', frame(0x77, 0, 0, bytes(1))],
  ]),
)('a flood of frames of %s keeps no client from being served, and fills no memory', async (_, each) => {
  const { statuses, grownBytes } = await runAttack(async (attacker) => {
    await attacker.send(upload)
    await flood(attacker, 200, () => repeatFrame(1000, each))
  })

  expect(new Set(statuses)).toEqual(new Set([200]))
  expect(grownBytes).toBeLessThan(maxGrowthBytes)
})
