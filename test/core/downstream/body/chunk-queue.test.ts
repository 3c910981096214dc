import { expect, test } from 'vitest'
import { ChunkQueue } from '../../../../src/core/downstream/body/chunk-queue.ts'
import { pseudoRandomBytes } from '../../../helpers/wire.ts'

/** Cuts a body into chunks that share its memory. */
const cut = (body: Buffer, sizes: readonly number[]): Buffer[] => {
  let at = 0
  return sizes.map((size) => {
    at += size
    return body.subarray(at - size, at)
  })
}

test('chunks come out as one body, whatever their sizes, and however they are taken', () => {
  const sizes = Array.from({ length: 500 }, (_, n) => [1, 5000, 3, 1023, 1024, 20_000, 0][n % 7] ?? 0)
  const body = pseudoRandomBytes(sizes.reduce((sum, size) => sum + size, 0))
  const queue = new ChunkQueue()
  const taken: Buffer[] = []

  cut(body, sizes).forEach((chunk, n) => {
    queue.push(chunk)
    if (n % 11 === 0) taken.push(queue.take(4096))
  })
  while (queue.bytes > 0) taken.push(queue.take(4096))

  expect(Buffer.concat(taken).equals(body)).toBe(true)
  expect(taken.every(({ length }) => length <= 20_000)).toBe(true)
})

test.each([
  ['of a byte', 1, 1, true],
  ['of some bytes, in a packet that holds much more', 2000, 64 * 1024, true],
  ['that fill what they stand in', 2000, 2000, false],
])('behind the first, chunks %s are copied: %s of %s: %s', (_, bytes, memory, copied) => {
  const queue = new ChunkQueue()
  const packets = Array.from({ length: 10 }, () => new Uint8Array(memory).fill(1))

  for (const { buffer } of packets) queue.push(Buffer.from(buffer, 0, bytes))
  for (const packet of packets) packet.fill(0) // as the next owner of the memory would
  const taken = Buffer.concat(queue.takeAll())

  expect(taken.subarray(0, bytes).equals(Buffer.alloc(bytes))).toBe(true)
  expect(taken.subarray(bytes).equals(Buffer.alloc(9 * bytes, copied ? 1 : 0))).toBe(true)
})

test('what is cleared is gone', () => {
  const queue = new ChunkQueue()
  for (const letter of 'abc') queue.push(Buffer.from(letter))

  queue.clear()
  queue.push(Buffer.from('d'))

  expect(queue.bytes).toBe(1)
  expect(queue.takeAll().map(String)).toEqual(['d'])
})
