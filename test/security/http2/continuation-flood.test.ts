// CVE-2024-27316: an endless head is no request yet, so no limit on requests stops it.
import { expect } from 'vitest'
import { block, frame, get } from '../../helpers/http2.ts'
import { attack, endedFor, floodOf, test } from '../../helpers/http2-attack.ts'

test.each([
  ['small', block('x-a', 'b')],
  ['empty', Buffer.alloc(0)],
  ['large', block('x-a', 'b'.repeat(16_000))],
])('a head of endless %s frames ends its connection', async (_, payload) => {
  const { outcome, begun } = await attack(floodOf(() => [frame(9, 0, 1, payload)], frame(1, 1, 1, block(...get()))))

  expect(outcome).toEqual(endedFor('too-many-continuations'))
  expect(begun).toBe(0)
})
