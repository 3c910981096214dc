import type { ServerHttp2Stream } from 'node:http2'
import { ChunkQueue } from '../../core/downstream/body/chunk-queue.ts'
import { sliceBytes } from '../../core/lib/buffers.ts'
import type { BodyWindow } from './receive-windows.ts'

/**
 * The body of a request, as its stream receives it. Chunks that come while it is not read are held here. Node would
 * keep each chunk as it came, which for a chunk of a byte takes a hundred times its size, and would let the client go
 * on with the first chunk that is taken. To Node, each chunk but the last is still on its way, so the client has its
 * window back when all of it has been taken.
 */
export class StreamBody {
  ended = false
  readonly #stream: ServerHttp2Stream
  readonly #window: BodyWindow
  readonly #push: (chunk: Buffer | null) => boolean
  readonly #buffered = new ChunkQueue()
  /** Whether nothing follows the buffered chunks. */
  #isLast = false
  #isReading = false
  #hasPaused = false

  constructor(stream: ServerHttp2Stream, window: BodyWindow) {
    this.#stream = stream
    this.#window = window
    this.#push = stream.push.bind(stream)
    stream.push = (chunk: Buffer | null) => this.#receive(chunk)
    // Before any data is requested: of an empty body Node reports the end at once, and once only.
    stream.on('end', () => {
      // Node ends the body of a stream that was reset, or whose length was wrong, as one that is whole.
      this.ended = !stream.closed && !stream.destroyed
      if (stream.closed) stream.destroy()
    })
    // A client may reset with NO_ERROR. Node takes that for a good end, and waits for what can never be read or written
    // any more.
    stream.on('aborted', () => process.nextTick(() => stream.destroy()))
    stream.on('close', () => window.setPending(0))
  }

  onEnd(listener: () => void): void {
    if (this.ended) process.nextTick(listener)
    else
      this.#stream.on('end', () => {
        if (this.ended) listener()
      })
  }

  pause(): void {
    this.#isReading = false
    this.#hasPaused = true
    this.#stream.pause()
  }

  resume(): void {
    this.#isReading = true
    this.#stream.resume()
    // In the next tick: not within the caller's turn, and behind the chunks that Node itself holds.
    if (this.#buffered.bytes > 0) process.nextTick(() => this.#release())
  }

  /** Takes a chunk that Node has received; null: the end. False makes Node let the client wait. */
  #receive(chunk: Buffer | null): boolean {
    if (this.#buffered.bytes === 0 && (this.#isReading || chunk === null)) {
      if (chunk !== null) this.#reportConsumed(chunk)
      return this.#push(chunk)
    }
    if (chunk === null) this.#isLast = true
    else {
      this.#buffered.push(chunk)
      this.#reportPending()
    }
    return false
  }

  #release(): void {
    while (this.#isReading && this.#buffered.bytes > 0 && !this.#stream.destroyed) {
      // In slices, so that the rest can wait again after each.
      const chunk = this.#buffered.take(sliceBytes)
      this.#reportPending()
      // Before the first pause it waited for the upstream to be connected, not because that was slow.
      if (!this.#hasPaused) this.#reportConsumed(chunk)
      if (this.#buffered.bytes > 0) this.#stream.emit('data', chunk)
      else {
        this.#push(chunk)
        if (this.#isLast) this.#push(null)
      }
    }
  }

  /** Reports the waiting bytes: those held here, and those that came in the packet of the head, which Node holds. */
  #reportPending(): void {
    this.#window.setPending(this.#buffered.bytes + this.#stream.readableLength)
  }

  #reportConsumed(chunk: Buffer): void {
    // What comes after the response is only discarded.
    if (!this.#stream.headersSent) this.#window.consumed(chunk.length)
  }
}
