// Below this, a chunk costs more to free by hand than to leave to the collector.
const worthFreeing = 16 * 1024

/**
 * Frees the memory of a chunk that nobody needs any more: it has been sent, or copied. Left to the collector, 64 MiB of such memory start
 * a collection of the whole heap: eight a second, half of the time that large answers took. Only of a chunk that fills its memory: others
 * may stand beside it there.
 */
export const giveBack = (chunk: Buffer | undefined): void => {
  if (chunk === undefined || chunk.length < worthFreeing || chunk.length !== chunk.buffer.byteLength) return
  const { buffer } = chunk
  if (buffer instanceof ArrayBuffer) buffer.transfer(0)
}

/** Makes one of several chunks, and frees them; one alone stays as it is. */
export const joined = (chunks: readonly Buffer[]): Buffer => {
  if (chunks.length === 1) return chunks[0] as Buffer
  const whole = Buffer.concat(chunks)
  for (const chunk of chunks) giveBack(chunk)
  return whole
}
