import type { Upload } from '../exchange.ts'
import { Pieces } from './pieces.ts'
import type { BodySource } from './wire.ts'

// Each piece is a write of its own, which costs much more than a byte, and a client may send a byte a chunk.
const pieceBytes = 64 * 1024
const worthAWriteBytes = 4 * 1024

/**
 * Hands the pieces of a request body upstream one at a time, as it asks for them. Nothing is read before it asks: until there is a
 * connection, the client is not told to go on, and after a failure to connect the body is still there.
 */
export class Uploading implements Upload {
  readonly #request: BodySource
  readonly #onFlow: (waitingForClient: boolean) => void
  #start: (() => void) | null
  readonly #pieces = new Pieces()
  #flushing: NodeJS.Immediate | null = null
  #ended = false
  #failure: Error | null = null
  /** Goes on when more has come; null: nothing waits for it. */
  #wake: (() => void) | null = null

  constructor(request: BodySource, start: () => void, onFlow: (waitingForClient: boolean) => void) {
    this.#request = request
    this.#start = start
    this.#onFlow = onFlow
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Buffer, void> {
    for (;;) {
      if (this.#failure !== null) throw this.#failure
      const isEnough = this.#ended || this.#flushing === null || this.#pieces.bytes >= worthAWriteBytes
      if (this.#pieces.bytes > 0 && isEnough) yield this.#pieces.take(pieceBytes)
      else if (this.#ended) return
      else await this.#more()
    }
  }

  push(chunk: Buffer): void {
    if (this.#failure !== null) return // discarded
    this.#pieces.push(chunk)
    if (this.#pieces.bytes >= (this.#wake === null ? pieceBytes : worthAWriteBytes)) return this.#flush()
    // Node runs whatever waits between two chunks of one packet, so more of them may be about to come.
    this.#flushing ??= setImmediate(() => this.#flush())
  }

  end(): void {
    this.#ended = true
    this.#flush()
    this.#goOn()
  }

  fail(error: Error): void {
    this.#failure ??= error
    this.#pieces.clear()
    this.#goOn()
  }

  stop(): void {
    if (!this.#ended || this.#pieces.bytes > 0) this.fail(new Error('the upload was stopped'))
  }

  /** Waits for the client. */
  #more(): Promise<void> {
    return new Promise((resolve) => {
      this.#wake = resolve
      this.#onFlow(true)
      this.#start?.()
      this.#start = null
      this.#request.resume()
    })
  }

  /** Hands on what is there, or holds the client back when nobody asks for so much. */
  #flush(): void {
    if (this.#flushing !== null) clearImmediate(this.#flushing)
    this.#flushing = null
    if (this.#wake === null && this.#pieces.bytes >= pieceBytes) this.#request.pause()
    if (this.#pieces.bytes > 0) this.#goOn()
  }

  #goOn(): void {
    const wake = this.#wake
    if (wake === null) return
    this.#wake = null
    this.#onFlow(false)
    wake()
  }
}
