// The table of HPACK is filled and emptied again and again.
import { expect } from 'vitest'
import { block, frame, get } from '../../helpers/http2.ts'
import { type Attack, attack, endedFor, floodOf, littleBytes, test, wentOn } from '../../helpers/http2-attack.ts'

const size = (bytes: number): Buffer => Buffer.from(bytes === 0 ? [0x20] : [0x3f, 0xe1, 0x1f])
const request = block(...get('/nothing'))

test('a client that changes the table size in each head loses its connection', async () => {
  const { outcome } = await attack(
    floodOf((nth) => [frame(1, 5, 2 * nth + 1, Buffer.concat([size(0), size(4096), request]))]),
  )

  expect(outcome).toEqual(endedFor('too-many-table-sizes'))
})

test('heads that each replace all entries are served, and hold at most one table', async () => {
  const entries = (nth: number): Buffer[] =>
    Array.from({ length: 100 }, (_, n) => Buffer.from(`\x40\x04x-${n % 10}a\x05${10_000 + 100 * nth + n}`))

  const churn: Attack = async ({ send, frame: received }) => {
    for (let nth = 0; nth < 300; nth++) {
      await send(frame(1, 5, 2 * nth + 1, Buffer.concat([block(...get()), ...entries(nth)])))
      await received(({ type, stream }) => type <= 1 && stream === 2 * nth + 1)
    }
  }

  const { outcome, grownBytes } = await attack(churn, { measures: true })

  expect(outcome).toEqual({ ...wentOn, reasons: ['too-many-fields'], counted: ['too-many-fields'] })
  expect(grownBytes).toBeLessThan(littleBytes)
})
