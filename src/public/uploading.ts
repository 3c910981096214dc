import type { Upload } from '../exchange.ts'
import { Pieces } from './pieces.ts'
import type { BodySource } from './wire.ts'

// Each piece is a write of its own, which costs much more than a byte, and a client may send a byte a chunk.
const pieceBytes = 64 * 1024
const worthAWriteBytes = 4 * 1024

interface Pull {
  readonly resolve: (result: IteratorResult<Buffer>) => void
  readonly reject: (error: Error) => void
}

/**
 * Hands the pieces of a request body upstream one at a time, as it asks for them. Nothing is read before it asks: until there is a
 * connection, the client is not told to go on, and after a failure to connect the body is still there.
 */
export class Uploading implements Upload, AsyncIterator<Buffer> {
  readonly #request: BodySource
  readonly #onFlow: (waitingForClient: boolean) => void
  #start: (() => void) | null
  readonly #pieces = new Pieces()
  #flushing: NodeJS.Immediate | null = null
  #ended = false
  #failure: Error | null = null
  #pull: Pull | null = null

  constructor(request: BodySource, start: () => void, onFlow: (waitingForClient: boolean) => void) {
    this.#request = request
    this.#start = start
    this.#onFlow = onFlow
  }

  [Symbol.asyncIterator](): AsyncIterator<Buffer> {
    return this
  }

  next(): Promise<IteratorResult<Buffer>> {
    if (this.#failure !== null) return Promise.reject(this.#failure)
    const isEnough = this.#ended || this.#flushing === null || this.#pieces.bytes >= worthAWriteBytes
    if (this.#pieces.bytes > 0 && isEnough)
      return Promise.resolve({ done: false, value: this.#pieces.take(pieceBytes) })
    if (this.#ended) return Promise.resolve({ done: true, value: undefined })
    this.#onFlow(true)
    this.#start?.()
    this.#start = null
    this.#request.resume()
    return new Promise((resolve, reject) => {
      this.#pull = { resolve, reject }
    })
  }

  push(chunk: Buffer): void {
    if (this.#failure !== null) return // discarded
    this.#pieces.push(chunk)
    if (this.#pieces.bytes >= (this.#pull === null ? pieceBytes : worthAWriteBytes)) return this.#flush()
    // Node runs whatever waits between two chunks of one packet, so more of them may be about to come.
    this.#flushing ??= setImmediate(() => this.#flush())
  }

  end(): void {
    this.#ended = true
    if (this.#pieces.bytes > 0) this.#flush()
    else this.#answer()?.resolve({ done: true, value: undefined })
  }

  fail(error: Error): void {
    this.#failure ??= error
    this.#pieces.clear()
    this.#answer()?.reject(this.#failure)
  }

  stop(): void {
    if (!this.#ended || this.#pieces.bytes > 0) this.fail(new Error('the upload was stopped'))
  }

  /** Hands on what is there, or holds the client back when nobody asks for so much. */
  #flush(): void {
    if (this.#flushing !== null) clearImmediate(this.#flushing)
    this.#flushing = null
    if (this.#pieces.bytes === 0) return
    const pull = this.#answer()
    if (pull !== null) pull.resolve({ done: false, value: this.#pieces.take(pieceBytes) })
    else if (this.#pieces.bytes >= pieceBytes) this.#request.pause()
  }

  #answer(): Pull | null {
    const pull = this.#pull
    if (pull === null) return null
    this.#pull = null
    this.#onFlow(false)
    return pull
  }
}
