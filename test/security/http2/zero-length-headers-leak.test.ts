// CVE-2019-9516: fields whose name and value are empty, which a server keeps for as long as the connection is open.
import { expect } from 'vitest'
import { block, frame, get } from '../../helpers/http2.ts'
import { attack, endedFor, floodOf, test } from '../../helpers/http2-attack.ts'

test.each([
  ['', Buffer.from([0, 0, 0])],
  [' that the table takes', Buffer.from([0x40, 0, 0])],
  [' of Huffman codes', Buffer.from([0, 0x80, 0x80])],
])('heads with a thousand empty fields%s end their connection', async (_, field) => {
  const fields = Buffer.concat([block(...get()), ...Array.from({ length: 1000 }, () => field)])

  const { outcome } = await attack(floodOf((nth) => [frame(1, 5, 2 * nth + 1, fields)]))

  expect(outcome).toEqual(endedFor('broken-stream', 'too-many-rejected-heads'))
})
