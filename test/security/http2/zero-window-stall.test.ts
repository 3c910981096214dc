// The window stays shut, so the responses cannot go out.
import { expect } from 'vitest'
import { frame, head } from '../../helpers/http2.ts'
import { type Attack, attack, endlessUpstream, test, wentOn } from '../../helpers/http2-attack.ts'

const streams = Array.from({ length: 100 }, (_, n) => 2 * n + 1)

test.each([
  ['no window', 0],
  ['windows of a byte', 1],
])('a client that opens %s has its streams cut, and holds little', async (_, window) => {
  const { url } = await endlessUpstream()
  const stall: Attack = async ({ send, frame: received }) => {
    await send(frame(4, 0, 0, Buffer.from([0, 4, 0, 0, 0, window])), ...streams.map((stream) => head(stream)))
    for (const stream of streams) await received((each) => each.type === 3 && each.stream === stream)
  }
  const settings = { upstreams: { market: url }, listen: { timeouts: { body: '1s' } }, defaults: { deadline: 'none' } }

  const { outcome, grownBytes } = await attack(stall, { ...settings, measures: true })

  expect(outcome).toEqual({ ...wentOn, reasons: ['takes-nothing'], counted: ['takes-nothing'] })
  expect(grownBytes).toBeLessThan(64 * 1024 * 1024)
})
