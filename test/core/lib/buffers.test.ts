import { expect, test } from 'vitest'
import { freeBuffer, largeBufferBytes, ReadBuffer } from '../../../src/core/lib/buffers.ts'

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

/** Reads so fast that the buffer gets large memory of its own, and fills it. */
const readLarge = () => {
  const reading = new ReadBuffer()
  const small = reading.next()
  reading.onRead(small, small.length)
  const large = reading.next()
  reading.onRead(large, large.length)
  return { reading, large }
}

test('a large part that ends a read is handed on without a copy', () => {
  const { reading, large } = readLarge()

  const part = reading.slice(large, 100, large.length)

  expect(large.length).toBe(largeBufferBytes)
  expect(part.buffer).toBe(large.buffer)
  expect(reading.next().buffer).not.toBe(large.buffer)
})

test('a large part with more behind it is copied, since its receiver may free it before the rest is parsed', () => {
  const { reading, large } = readLarge()

  const part = reading.slice(large, 0, large.length - 1)

  expect(part.buffer).not.toBe(large.buffer)
  expect(part).toEqual(large.subarray(0, large.length - 1))
})
