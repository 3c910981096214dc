import { type ClosedBy, ClosedStreams } from './closed-streams.ts'
import type { FloodBudget } from './flood-budget.ts'
import { createNumberFrame, frameTypes } from './frame.ts'
import type { FrameSender } from './frame-sender.ts'
import { ConnectionError, type ErrorCode, errorCodes } from './http2-error.ts'
import type { Stream } from './stream.ts'

/** The streams of a connection, and how they end (RFC 9113 §5.1, §5.4.2). */
export class StreamTable {
  readonly #sender: FrameSender
  readonly #budget: FloodBudget
  readonly #onClosed: (stream: Stream) => void
  readonly #open = new Map<number, Stream>()
  readonly #closed = new ClosedStreams()
  /** The highest id that the client has used: streams up to it are open or closed. */
  lastId = 0
  /** GOAWAY was sent: frames of later streams are ignored (RFC 9113 §6.8). */
  isFinal = false

  constructor(sender: FrameSender, budget: FloodBudget, onClosed: (stream: Stream) => void) {
    this.#sender = sender
    this.#budget = budget
    this.#onClosed = onClosed
  }

  get size(): number {
    return this.#open.size
  }

  get open(): Iterable<Stream> {
    return this.#open.values()
  }

  find(id: number): Stream | undefined {
    return this.#open.get(id)
  }

  has(stream: Stream): boolean {
    return this.#open.get(stream.id) === stream
  }

  add(stream: Stream): void {
    this.#open.set(stream.id, stream)
  }

  isIdle(id: number): boolean {
    return id % 2 === 0 || (id > this.lastId && !this.isFinal)
  }

  /** Judges a frame of a stream that is not open. Throws {@link ConnectionError}. */
  judgeLateFrame(id: number, kind: 'ignored' | 'rejectedHead'): void {
    if (this.isIdle(id)) throw new ConnectionError(errorCodes.protocolError, 'a frame on an idle stream')
    const by = id > this.lastId ? 'gateway' : this.#closed.find(id)
    // The frame was on its way when the gateway reset the stream, or sent GOAWAY.
    if (by === 'gateway') this.#budget.take(kind)
    else if (by === 'client') this.resetByFault(id, errorCodes.streamClosed, 'a frame on a closed stream')
    else if (by === 'both') throw new ConnectionError(errorCodes.streamClosed, 'a frame on a closed stream')
    else throw new ConnectionError(errorCodes.protocolError, 'a stream below an earlier one')
  }

  /** Ends a stream whose client broke the protocol. Throws {@link ConnectionError} if there are too many. */
  resetByFault(id: number, code: ErrorCode, fault: string): null {
    this.#budget.take('brokenStream')
    const stream = this.#open.get(id)
    if (stream === undefined) this.#sendReset(id, code)
    else {
      stream.fault = fault
      this.reset(stream, code)
    }
    return null
  }

  /** Resets a stream before it opens. Throws {@link ConnectionError} if there are too many. */
  rejectHead(id: number, code: ErrorCode): void {
    this.#budget.take('rejectedHead')
    this.#sendReset(id, code)
  }

  reset(stream: Stream, code: ErrorCode): void {
    // END_STREAM has been written, but the client takes nothing.
    if (!this.has(stream)) return this.#onClosed(stream)
    this.#sendReset(stream.id, code)
    this.close(stream, 'gateway')
  }

  close(stream: Stream, by: 'gateway' | 'client'): void {
    this.#sender.drop(stream)
    this.#forget(stream, by)
    this.#onClosed(stream)
  }

  closeAll(): void {
    for (const stream of [...this.#open.values()]) this.close(stream, 'gateway')
  }

  endRequest(stream: Stream): void {
    if (!this.has(stream)) return
    stream.hasRequestEnded = true
    stream.bodyWindow?.end()
    stream.events?.onRequestEnd()
    if (!stream.hasResponseEnded || !this.has(stream)) return
    this.#forget(stream, 'both')
    if (stream.isSent) this.#onClosed(stream)
  }

  /** END_STREAM is on its way. The stream's owner is called when the system has taken it. */
  endResponse(stream: Stream): void {
    stream.isLast = false
    stream.hasResponseEnded = true
    if (stream.hasRequestEnded) this.#forget(stream, 'both')
  }

  #sendReset(id: number, code: ErrorCode): void {
    this.#sender.sendControl(createNumberFrame(frameTypes.rstStream, id, code))
    this.#closed.add(id, 'gateway')
  }

  #forget(stream: Stream, by: ClosedBy): void {
    this.#open.delete(stream.id)
    this.#closed.add(stream.id, by)
  }
}
