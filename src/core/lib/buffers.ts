/** A shorter body goes out with its head as one latin1 string: a second piece costs more than copying the body. */
export const maxSingleWriteBytes = 8 * 1024

/**
 * The longest piece of a write. A write counts as taken only as a whole, and TLS copies it, so a slow client with a
 * longer piece would seem to take nothing.
 */
export const sliceBytes = 64 * 1024

/** Bytes that wait for a reader before the sender is held back. */
export const maxWaitingBytes = 64 * 1024

/** Freeing a smaller chunk by hand costs more than leaving it to the collector. */
export const minFreeBytes = 16 * 1024

/** With less, a large response takes up to twice as long; more gains nothing. */
export const largeBufferBytes = 256 * 1024

// The need of a few large responses at a time: 8 MiB.
const maxSpare = 32
const spare: ArrayBuffer[] = []
/** Memory that belongs to one chunk alone, though the chunk may not fill it. */
const exclusive = new WeakSet<ArrayBufferLike>()

/** New memory costs the system more than filling it. */
const allocLargeBuffer = (): Buffer => {
  const memory = spare.pop() ?? new ArrayBuffer(largeBufferBytes)
  exclusive.add(memory)
  return Buffer.from(memory)
}

/** Takes a part of a read, for {@link freeBuffer}: nothing else of the read may be in use. */
export const takeExclusively = (read: Buffer, from: number): Buffer => {
  exclusive.add(read.buffer)
  return read.subarray(from)
}

/** Whether the chunk may be kept: other chunks are valid during the call that hands them on. */
export const isExclusive = (chunk: Buffer): boolean => exclusive.has(chunk.buffer)

/**
 * Does nothing where other chunks share the memory. Left to the collector, 64 MiB of such memory start a collection of
 * the whole heap: 8 a second, half of the time that large responses took.
 */
export const freeBuffer = (chunk: Buffer | undefined): void => {
  if (chunk === undefined || chunk.length < minFreeBytes) return
  const { buffer } = chunk
  if (!(buffer instanceof ArrayBuffer)) return
  // Once, however often the chunk is freed.
  const wasExclusive = exclusive.delete(buffer)
  if (wasExclusive && buffer.byteLength === largeBufferBytes && spare.length < maxSpare) spare.push(buffer)
  else if (wasExclusive || chunk.length === buffer.byteLength) buffer.transfer(0)
}

export const concatAndFree = (chunks: readonly Buffer[]): Buffer => {
  if (chunks.length === 1) return chunks[0] as Buffer
  const whole = Buffer.concat(chunks)
  for (const chunk of chunks) freeBuffer(chunk)
  return whole
}

// Each read is parsed and copied before the next begins.
const sharedBuffer = Buffer.allocUnsafeSlow(sliceBytes)

/**
 * A buffer that all connections share. While a body comes fast, the connection has a large one of its own, which is
 * handed on without a copy.
 */
export class ReadBuffer {
  isPaused = false
  #large: Buffer | null = null
  #isFast = false
  #length = 0

  readonly next = (): Buffer => {
    if (this.#isFast && !this.isPaused) {
      this.#large ??= allocLargeBuffer()
      return this.#large
    }
    // A connection that waits keeps no memory.
    if (this.#large !== null) freeBuffer(this.#large)
    this.#large = null
    return sharedBuffer
  }

  onRead(bytes: Buffer, length: number): void {
    this.#length = length
    this.#isFast = length === bytes.length || (this.#isFast && length > sharedBuffer.length)
  }

  /** Only the last part takes the large buffer: its receiver may free it before the rest is parsed. */
  slice(bytes: Buffer, from: number, to: number): Buffer {
    if (bytes === this.#large && to === this.#length && to - from >= largeBufferBytes / 2) {
      this.#large = null
      return bytes.subarray(from, to)
    }
    const chunk = Buffer.allocUnsafe(to - from)
    bytes.copy(chunk, 0, from, to)
    return chunk
  }
}

export const noBytes = Buffer.alloc(0)

/** A slice of a field would keep the whole text in memory, up to a megabyte. */
export const copyText = (text: string): string => Buffer.from(text).toString()
