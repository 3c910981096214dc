// Below this, a chunk costs more to free by hand than to leave to the collector.
const minFreeBytes = 16 * 1024

/** Bytes of the memory that a large body is read into. Smaller, a large answer takes up to twice as much time; larger, no less. */
export const largeBufferBytes = 256 * 1024

// As much as a few large answers need at a time: 8 MiB.
const maxSpare = 32
const spare: ArrayBuffer[] = []
const lent = new WeakSet<ArrayBufferLike>()

/** Takes memory of {@link largeBufferBytes}, for {@link freeBuffer}: that of an earlier chunk, since new memory costs the system more than to fill it. */
export const allocLargeBuffer = (): Buffer => {
  const memory = spare.pop() ?? new ArrayBuffer(largeBufferBytes)
  lent.add(memory)
  return Buffer.from(memory)
}

/**
 * Frees the memory of a chunk that nobody needs any more: it has been sent, or copied. Left to the collector, 64 MiB of such memory start
 * a collection of the whole heap: eight a second, half of the time that large answers took. Only of a chunk that fills its memory, or was taken
 * as large: others may stand beside it there.
 */
export const freeBuffer = (chunk: Buffer | undefined): void => {
  if (chunk === undefined || chunk.length < minFreeBytes) return
  const { buffer } = chunk
  if (!(buffer instanceof ArrayBuffer)) return
  // Once, however often it is given back.
  if (lent.delete(buffer)) {
    if (spare.length < maxSpare) spare.push(buffer)
    else buffer.transfer(0)
  } else if (chunk.length === buffer.byteLength) buffer.transfer(0)
}

/** Makes one of several chunks, and frees them; one alone stays as it is. */
export const concatAndFree = (chunks: readonly Buffer[]): Buffer => {
  if (chunks.length === 1) return chunks[0] as Buffer
  const whole = Buffer.concat(chunks)
  for (const chunk of chunks) freeBuffer(chunk)
  return whole
}
