// CVE-2019-9511: windows that open by a byte split responses into frames of a byte.
import { expect } from 'vitest'
import { frame, head } from '../../helpers/http2.ts'
import { attack, endedFor, endlessUpstream, floodOf, test } from '../../helpers/http2-attack.ts'

const shut = frame(4, 0, 0, Buffer.from([0, 4, 0, 0, 0, 0]))
const byte = Buffer.from([0, 0, 0, 1])

test('a client that takes responses byte by byte loses its connection', async () => {
  const heads = Array.from({ length: 100 }, (_, n) => head(2 * n + 1))
  const dribble = floodOf((nth) => [frame(8, 0, (2 * nth + 1) % 200, byte)], shut, ...heads)
  const { url } = await endlessUpstream()

  const { outcome, attacker } = await attack(dribble, { upstreams: { market: url } })

  expect(outcome).toEqual(endedFor('too-many-window-updates'))
  const taken = attacker.frames.reduce((sum, { type, payload }) => sum + (type === 0 ? payload.length : 0), 0)
  expect(taken).toBeLessThan(100_000)
})

test('a client that opens the window of a connection byte by byte, with nothing waiting, loses the connection', async () => {
  const { outcome } = await attack(floodOf(() => [frame(8, 0, 0, byte)]))

  expect(outcome).toEqual(endedFor('too-many-window-updates'))
})
