/**
 * Up to this much of a body goes out with its head as one latin1 string: head and buffer as two pieces of one write
 * cost the kernel more. Above it, copying the body costs more than a second piece.
 */
export const maxSingleWriteBytes = 8 * 1024

/**
 * The most of a body in memory that is handed on, or written, in one piece. What is written is known to be taken only
 * when all of it is: a client that reads a long one slowly would pass for one that takes nothing. And TLS copies it,
 * whether the client takes it or not.
 */
export const sliceBytes = 64 * 1024

/** The most of a body that waits for its reader before its sender is held back; a small one fits completely. */
export const maxWaitingBytes = 64 * 1024

/** The least that is freed by hand: a smaller chunk costs more to free than to leave to the collector. */
export const minFreeBytes = 16 * 1024

/**
 * Bytes of the memory that a large body is read into. With less, a large response takes up to twice as much time; with
 * more, no less.
 */
export const largeBufferBytes = 256 * 1024

// As much as a few large responses need at a time: 8 MiB.
const maxSpare = 32
const spare: ArrayBuffer[] = []
/** Memory that one chunk alone has, though it may not fill it. */
const exclusive = new WeakSet<ArrayBufferLike>()

/**
 * Takes memory of {@link largeBufferBytes}, for {@link freeBuffer}: that of an earlier chunk, since new memory costs
 * the system more than to fill it.
 */
const allocLargeBuffer = (): Buffer => {
  const memory = spare.pop() ?? new ArrayBuffer(largeBufferBytes)
  exclusive.add(memory)
  return Buffer.from(memory)
}

/** Takes a part of what a socket has read, for {@link freeBuffer}: nothing else of the read may be in use any more. */
export const takeExclusively = (read: Buffer, from: number): Buffer => {
  exclusive.add(read.buffer)
  return read.subarray(from)
}

/**
 * Frees the memory of a chunk that was sent or copied, and is not needed any more. Left to the collector, 64 MiB of
 * such memory start a collection of the whole heap: eight a second, half of the time that large responses took. Only of
 * a chunk that fills its memory, or has it alone: other chunks may share the memory.
 */
export const freeBuffer = (chunk: Buffer | undefined): void => {
  if (chunk === undefined || chunk.length < minFreeBytes) return
  const { buffer } = chunk
  if (!(buffer instanceof ArrayBuffer)) return
  // Once, however often it is freed.
  const isExclusive = exclusive.delete(buffer)
  if (isExclusive && buffer.byteLength === largeBufferBytes && spare.length < maxSpare) spare.push(buffer)
  else if (isExclusive || chunk.length === buffer.byteLength) buffer.transfer(0)
}

/** Concatenates chunks, and frees them; a single one stays as it is. */
export const concatAndFree = (chunks: readonly Buffer[]): Buffer => {
  if (chunks.length === 1) return chunks[0] as Buffer
  const whole = Buffer.concat(chunks)
  for (const chunk of chunks) freeBuffer(chunk)
  return whole
}

// A read is over, and its bytes are parsed and copied, before the next one begins, on whichever connection.
const sharedBuffer = Buffer.allocUnsafeSlow(64 * 1024)

/**
 * The memory that one connection is read into: a buffer that all connections share, and a large one of its own while a
 * body comes fast. The large one is handed on with its bytes, which are not copied then.
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
    // A connection that waits, for its reader or for another request, keeps no memory.
    if (this.#large !== null) freeBuffer(this.#large)
    this.#large = null
    return sharedBuffer
  }

  /** Notes the length of a read: after one that filled the buffer, larger ones are used. */
  onRead(bytes: Buffer, length: number): void {
    this.#length = length
    this.#isFast = length === bytes.length || (this.#isFast && length > sharedBuffer.length)
  }

  /**
   * Takes a part of a body out of a read. The large buffer goes with the last part alone: who gets it may free it at
   * once, while the rest is still to be parsed.
   */
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

/** Copies text: a string cut out of a field or a target keeps all of it in memory, which may be a megabyte. */
export const copyText = (text: string): string => Buffer.from(text).toString()
