// CVE-2019-9511: windows that open by a byte have responses sent a byte a frame.
import { expect } from 'vitest'
import { frame, head } from '../../helpers/http2.ts'
import { attack, endedFor, endlessUpstream, floodOf, test } from '../../helpers/http2-attack.ts'

const shut = frame(4, 0, 0, Buffer.from([0, 4, 0, 0, 0, 0]))
const byte = Buffer.from([0, 0, 0, 1])

test('responses that are taken a byte at a time end their connection', async () => {
  const heads = Array.from({ length: 100 }, (_, n) => head(2 * n + 1))
  const dribble = floodOf((nth) => [frame(8, 0, (2 * nth + 1) % 200, byte)], shut, ...heads)
  const { url } = await endlessUpstream()

  const { outcome, attacker } = await attack(dribble, { upstreams: { market: url } })

  expect(outcome).toEqual(endedFor('too-many-window-updates'))
  const taken = attacker.frames.reduce((sum, { type, payload }) => sum + (type === 0 ? payload.length : 0), 0)
  expect(taken).toBeLessThan(100_000)
})

test('windows of a connection that open by a byte, where nothing waits, end it', async () => {
  const { outcome } = await attack(floodOf(() => [frame(8, 0, 0, byte)]))

  expect(outcome).toEqual(endedFor('too-many-window-updates'))
})
