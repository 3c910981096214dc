import type { Upload } from '../../exchange/body.ts'
import { maxWaitingBytes, sliceBytes } from '../../lib/buffers.ts'
import type { BodySource } from '../codec.ts'
import { ChunkQueue } from './chunk-queue.ts'

// Each chunk is a write of its own, which costs much more than a byte, and a client may send a byte a chunk.
const minWriteBytes = 4 * 1024

/**
 * Hands the chunks of a request body upstream one at a time, on demand. Nothing is read before the first demand: until
 * there is a connection, the client is not told to continue, and after a failure to connect the body is still there.
 */
export class UploadStream implements Upload {
  readonly #request: BodySource
  readonly #onFlow: (waitingForClient: boolean) => void
  #start: (() => void) | null
  readonly #chunks = new ChunkQueue()
  #scheduledFlush: NodeJS.Immediate | null = null
  #ended = false
  #failure: Error | null = null
  /** Continues the reader when more has come; null: the reader does not wait. */
  #resumeReader: (() => void) | null = null

  constructor(request: BodySource, start: () => void, onFlow: (waitingForClient: boolean) => void) {
    this.#request = request
    this.#start = start
    this.#onFlow = onFlow
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Buffer, void> {
    for (;;) {
      if (this.#failure !== null) throw this.#failure
      const enough = this.#ended || this.#scheduledFlush === null || this.#chunks.bytes >= minWriteBytes
      if (this.#chunks.bytes > 0 && enough) yield this.#chunks.take(sliceBytes)
      else if (this.#ended) return
      else await this.#waitForMore()
    }
  }

  push(chunk: Buffer): void {
    if (this.#failure !== null) return // discarded
    this.#chunks.push(chunk)
    if (this.#chunks.bytes >= (this.#resumeReader === null ? maxWaitingBytes : minWriteBytes)) return this.#flush()
    // More chunks of the same packet may be about to come.
    this.#scheduledFlush ??= setImmediate(() => this.#flush())
  }

  end(): void {
    this.#ended = true
    this.#flush()
    this.#wakeReader()
  }

  fail(error: Error): void {
    this.#failure ??= error
    this.#chunks.clear()
    this.#wakeReader()
  }

  stop(): void {
    if (!this.#ended || this.#chunks.bytes > 0) this.fail(new Error('the upload was stopped'))
  }

  #waitForMore(): Promise<void> {
    return new Promise((resolve) => {
      this.#resumeReader = resolve
      this.#onFlow(true)
      this.#start?.()
      this.#start = null
      this.#request.resume()
    })
  }

  /** Passes the chunks on, or holds the client back when the reader wants no more. */
  #flush(): void {
    if (this.#scheduledFlush !== null) clearImmediate(this.#scheduledFlush)
    this.#scheduledFlush = null
    if (this.#resumeReader === null && this.#chunks.bytes >= maxWaitingBytes) this.#request.pause()
    if (this.#chunks.bytes > 0) this.#wakeReader()
  }

  #wakeReader(): void {
    const resumeReader = this.#resumeReader
    if (resumeReader === null) return
    this.#resumeReader = null
    this.#onFlow(false)
    resumeReader()
  }
}
