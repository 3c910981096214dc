import type { BodySink, RequestBody, ResponseBody } from '../../body.ts'
import type { UncheckedReason } from '../../contract/check-message.ts'

/** The bytes of bodies that wait for their check, of all exchanges of the process. */
export interface PendingBytes {
  bytes: number
}

// As much as 64 bodies of 1 MiB. Beyond it bodies go unchecked, and are counted.
const maxPendingBytes = 64 * 1024 ** 2

/** A copy of a body, as far as the bounds allow. The chunks themselves are freed when they have been sent. */
export class MessageCopy {
  /** Why there is no copy; null: there is one. */
  failure: UncheckedReason | null = null
  readonly #maxBytes: number
  readonly #pending: PendingBytes
  #chunks: Buffer[] = []
  #bytes = 0

  constructor(maxBytes: number, pending: PendingBytes) {
    this.#maxBytes = maxBytes
    this.#pending = pending
  }

  push(chunk: Buffer): void {
    if (this.failure !== null) return
    if (this.#bytes + chunk.length > this.#maxBytes) return this.#fail('too-large')
    if (this.#pending.bytes + chunk.length > maxPendingBytes) return this.#fail('busy')
    this.#bytes += chunk.length
    this.#pending.bytes += chunk.length
    this.#chunks.push(Buffer.from(chunk))
  }

  /** Takes the bytes; null: there is no copy. */
  take(): Buffer | null {
    const chunks = this.#chunks
    this.release()
    if (this.failure !== null) return null
    return chunks.length === 1 ? (chunks[0] as Buffer) : Buffer.concat(chunks)
  }

  release(): void {
    this.#pending.bytes -= this.#bytes
    this.#bytes = 0
    this.#chunks = []
  }

  #fail(why: UncheckedReason): void {
    this.release()
    this.failure = why
  }
}

/** Copies the body of a request while it is read. `onEnd` is called when all of it has come. */
export const copyRequestBody = (body: RequestBody, copy: MessageCopy, onEnd: () => void): void => {
  const { onData } = body
  body.onData = (chunk) => {
    onData?.(chunk)
    if (chunk === null) onEnd()
    else copy.push(chunk)
  }
}

/** Wraps the body of a response, and copies it while it is sent. `onEnd` is called when all of it was handed on. */
export const copyingBody = (body: ResponseBody, copy: MessageCopy, onEnd: () => void): ResponseBody => ({
  isShared: body.isShared,
  takeBuffered() {
    const whole = body.takeBuffered()
    if (whole === null) return null
    copy.push(whole)
    onEnd()
    return whole
  },
  consume: (sink) => body.consume(copyingSink(sink, copy, onEnd)),
  resume: () => body.resume(),
  discard: () => {
    copy.release()
    body.discard()
  },
})

const copyingSink = (sink: BodySink, copy: MessageCopy, onEnd: () => void): BodySink => ({
  data(chunk) {
    copy.push(chunk)
    return sink.data(chunk)
  },
  end() {
    sink.end()
    onEnd()
  },
  fail(error) {
    copy.release()
    sink.fail(error)
  },
})
