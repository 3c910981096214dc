import { expect, test } from 'vitest'
import { largeBufferBytes, ReadBuffer } from '../../../../src/core/lib/buffers.ts'

/** Reads so fast that the buffer has large memory of its own, and fills it. */
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

test('a large part with more behind it is copied: who has it may free it before the rest is parsed', () => {
  const { reading, large } = readLarge()

  const part = reading.slice(large, 0, large.length - 1)

  expect(part.buffer).not.toBe(large.buffer)
  expect(part).toEqual(large.subarray(0, large.length - 1))
})
