import { concatAndFree, maxWaitingBytes, sliceBytes } from '../../lib/buffers.ts'
import type { BodySink, ResponseBody } from '../body.ts'
import type { GatewayError } from '../failures/errors.ts'

/** Many responses may take the bytes whole, even at once; only one may consume them in slices. */
export class BytesBody implements ResponseBody {
  readonly isShared = true
  bytes: Buffer
  #sink: BodySink | null = null
  #offset = 0

  /** No other owner may write to or free `bytes`. */
  constructor(bytes: Buffer) {
    this.bytes = bytes
  }

  takeBuffered(): Buffer | null {
    return this.bytes
  }

  consume(sink: BodySink): void {
    this.#sink = sink
    this.resume()
  }

  resume(): void {
    while (this.#sink !== null && this.#offset < this.bytes.length) {
      const slice = this.bytes.subarray(this.#offset, this.#offset + sliceBytes)
      this.#offset += slice.length
      if (!this.#sink.data(slice)) return
    }
    const sink = this.#sink
    this.discard()
    sink?.end()
  }

  /** Fails a delivery in slices; false: none is under way. */
  fail(error: GatewayError): boolean {
    const sink = this.#sink
    if (sink === null) return false
    this.discard()
    sink.fail(error)
    return true
  }

  discard(): void {
    this.#sink = null
  }
}

export interface ResponseBodySource {
  pause(): void
  resume(): void
  cancel(): void
}

export class ResponseBodyQueue implements ResponseBody {
  readonly isShared: boolean
  readonly #source: ResponseBodySource
  #chunks: Buffer[]
  #queuedBytes = 0
  #ended = false
  #failure: GatewayError | null = null
  #sink: BodySink | null = null

  constructor(source: ResponseBodySource, isShared = false, chunks: Buffer[] = []) {
    this.#source = source
    this.isShared = isShared
    this.#chunks = chunks
  }

  /** False: the source pauses. */
  push(chunk: Buffer): boolean {
    const isFlowing = this.#sink === null ? this.#keep(chunk) : this.#sink.data(chunk)
    if (!isFlowing) this.#source.pause()
    return isFlowing
  }

  end(): void {
    this.#ended = true
    this.#sink?.end()
  }

  fail(error: GatewayError): void {
    this.#failure = error
    this.#sink?.fail(error)
  }

  takeBuffered(): Buffer | null {
    if (!this.#ended || this.#sink !== null) return null
    const chunks = this.#chunks
    this.#chunks = []
    return concatAndFree(chunks)
  }

  consume(sink: BodySink): void {
    this.#sink = sink
    const chunks = this.#chunks
    this.#chunks = []
    let flowing = true
    for (const chunk of chunks) flowing = sink.data(chunk)
    if (this.#failure !== null) return sink.fail(this.#failure)
    if (this.#ended) return sink.end()
    if (flowing) this.#source.resume()
    else this.#source.pause()
  }

  resume(): void {
    this.#source.resume()
  }

  discard(): void {
    this.#chunks = []
    this.#sink = discardSink
    this.#source.cancel()
  }

  #keep(chunk: Buffer): boolean {
    this.#chunks.push(chunk)
    this.#queuedBytes += chunk.length
    return this.#queuedBytes < maxWaitingBytes
  }
}

const discardSink: BodySink = { data: () => true, end: () => {}, fail: () => {} }

/** Either `onEnd` or `onCut` is called, once and last. */
interface BodyObserver {
  /** The sender may free the chunk once this returns. */
  onChunk(chunk: Buffer): void
  /** The whole body, in memory that is never freed by hand. */
  onWhole(whole: Buffer): void
  onEnd(): void
  /** Null: the rest is no longer wanted. */
  onCut(error: GatewayError | null): void
}

export class ObservedResponseBody implements ResponseBody, BodySink {
  readonly #body: ResponseBody
  readonly #observer: BodyObserver
  #sink: BodySink | null = null

  constructor(body: ResponseBody, observer: BodyObserver) {
    this.#body = body
    this.#observer = observer
  }

  get isShared(): boolean {
    return this.#body.isShared
  }

  takeBuffered(): Buffer | null {
    const whole = this.#body.takeBuffered()
    if (whole === null) return null
    this.#observer.onWhole(whole)
    this.#observer.onEnd()
    return whole
  }

  consume(sink: BodySink): void {
    this.#sink = sink
    this.#body.consume(this)
  }

  resume(): void {
    this.#body.resume()
  }

  discard(): void {
    this.#observer.onCut(null)
    this.#body.discard()
  }

  data(chunk: Buffer): boolean {
    this.#observer.onChunk(chunk)
    return this.#sink?.data(chunk) ?? true
  }

  end(): void {
    this.#sink?.end()
    this.#observer.onEnd()
  }

  fail(error: GatewayError): void {
    this.#observer.onCut(error)
    this.#sink?.fail(error)
  }
}
