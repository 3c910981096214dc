// A byte a frame, on the maximum of streams, of bodies that are read whole before they are sent on. A byte costs the
// client ten; stored frame by frame, it would cost the gateway more than two hundred.
import { expect } from 'vitest'
import { frame, get, head } from '../../helpers/http2.ts'
import { type Attack, attack, littleBytes, ping, test, wentOn } from '../../helpers/http2-attack.ts'

test('bodies with one byte a frame are held in little memory', async () => {
  const streams = Array.from({ length: 100 }, (_, n) => 2 * n + 1)
  const byte = Buffer.concat(streams.map((stream) => frame(0, 0, stream, Buffer.from('a'))))
  const fields = [...get('/valuation/score', 'POST'), 'content-length', '65536']

  const bytes: Attack = async ({ send, frame: received }) => {
    await send(...streams.map((stream) => head(stream, fields, false)))
    for (let nth = 0; nth < 200; nth++) await send(...Array.from({ length: 10 }, () => byte))
    await send(ping)
    await received(({ type }) => type === 6) // all of it has been read
  }

  const { outcome, grownBytes } = await attack(bytes, { measures: true })

  expect(outcome).toEqual(wentOn)
  expect(grownBytes).toBeLessThan(littleBytes)
})
