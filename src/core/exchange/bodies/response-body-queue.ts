import { concatAndFree, maxWaitingBytes } from '../../lib/buffers.ts'
import type { BodySink, ResponseBody } from '../body.ts'
import type { GatewayError } from '../failures/errors.ts'

export interface ResponseBodySource {
  pause(): void
  resume(): void
  cancel(): void
}

/** Carries a response's body from the connection, which feeds it, to the relay, which takes it when it is ready. */
export class ResponseBodyQueue implements ResponseBody {
  readonly isShared: boolean
  readonly #source: ResponseBodySource
  #chunks: Buffer[]
  #queuedBytes = 0
  #ended = false
  #failure: GatewayError | null = null
  #sink: BodySink | null = null

  /** `chunks` came before; `isShared` as {@link ResponseBody.isShared}. */
  constructor(source: ResponseBodySource, isShared = false, chunks: Buffer[] = []) {
    this.#source = source
    this.isShared = isShared
    this.#chunks = chunks
  }

  /** Adds a chunk; false: it is enough for now, and the source is paused. */
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
