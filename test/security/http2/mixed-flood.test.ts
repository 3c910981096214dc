// Each kind of frame stays below what it may be alone.
import { expect } from 'vitest'
import { frame, get, head } from '../../helpers/http2.ts'
import { attack, endedFor, floodOf, ping, test } from '../../helpers/http2-attack.ts'

test('a flood of several kinds ends its connection like a flood of one kind', async () => {
  const { outcome, attacker } = await attack(
    floodOf((nth) => [
      ...[ping, frame(4, 0, 0), head(2 * nth + 1, get('/nothing'))],
      ...[frame(3, 0, 2 * nth + 1, Buffer.from([0, 0, 0, 8])), frame(2, 0, 1, Buffer.alloc(5))],
    ]),
  )

  expect(outcome).toEqual(endedFor('too-many-frames'))
  expect(attacker.frames.filter(({ type }) => type === 6).length).toBeLessThan(150)
})
