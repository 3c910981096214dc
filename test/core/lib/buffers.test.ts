import { expect, test } from 'vitest'
import { freeBuffer } from '../../../src/core/lib/buffers.ts'

const large = 64 * 1024

test.each([
  ['a large chunk that fills its memory is freed', Buffer.from(new ArrayBuffer(large)), 0],
  ['one behind a head, in the same memory, is kept', Buffer.from(new ArrayBuffer(large), 100), large - 100],
  ['one before something else is kept', Buffer.from(new ArrayBuffer(large), 0, large - 100), large - 100],
  ['a small one is kept', Buffer.from(new ArrayBuffer(1024)), 1024],
])('%s', (_, chunk, expected) => {
  freeBuffer(chunk)

  expect(chunk.byteLength).toBe(expected)
})
