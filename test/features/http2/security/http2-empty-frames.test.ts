import { expect } from 'vitest'
import { bootHttp2, type Frame, frame, frameClient, get, head, missing } from '../../../helpers/http2.ts'
import { flood, maxGrowthBytes, repeatFrame, runAttack } from '../../../helpers/http2-attack.ts'
import { part, test, testAndDrill } from '../../../helpers/speed.ts'

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

// RFC 9113 §6.1 allows them; nginx and HAProxy serve them.
test.skipIf(missing !== null)('a few hundred of them, in one body or in many, end nothing', async () => {
  const { port } = await bootHttp2()
  const client = await frameClient(port)

  await client.send(upload, ...repeatFrame(500, frame(0, 0, 1)), frame(0, 1, 1))
  const first = await client.frame(({ type, stream }) => type === 1 && stream === 1)
  const others: unknown[] = []
  for (let stream = 3; stream < 103; stream += 2) {
    await client.send(head(stream, get('/valuation/score', 'POST'), false), ...repeatFrame(5, frame(0, 0, stream)))
    await client.send(frame(0, 1, stream))
    others.push(await client.frame((each) => each.type === 1 && each.stream === stream))
  }

  expect([first, ...others].map((each) => (each as Frame | undefined)?.payload[0])).toEqual(Array(51).fill(136))
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
