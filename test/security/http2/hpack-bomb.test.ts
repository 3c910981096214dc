// A field of 4 KB stands in the table once, and each byte of the heads behind it names it: 16 KB stand for 64 MB.
import { expect } from 'vitest'
import { block, frame, get } from '../../helpers/http2.ts'
import { attack, endedFor, floodOf, littleBytes, test } from '../../helpers/http2-attack.ts'

const name = Buffer.from('x-a')
const entry = Buffer.concat([Buffer.from([0x40, name.length]), name, block('', 'a'.repeat(4000)).subarray(2)])
const first = frame(1, 5, 1, Buffer.concat([block(...get('/nothing')), entry]))
const bomb = Buffer.concat([block(...get()), Buffer.alloc(16_000, 0xbe)])

test('heads that repeat a large table entry end their connection', async () => {
  const bombs = floodOf((nth) => [frame(1, 5, 2 * nth + 3, bomb)], first)

  const { outcome, begun, lines, grownBytes } = await attack(bombs, { measures: true })

  expect(outcome).toEqual(endedFor('broken-stream', 'too-many-rejected-heads'))
  expect(begun).toBe(0)
  expect(grownBytes).toBeLessThan(littleBytes)
  expect(lines.find(({ reason }) => reason === 'broken-stream')?.cause).toContain('SETTINGS_MAX_HEADER_LIST_SIZE')
})
