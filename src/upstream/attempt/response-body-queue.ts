import type { BodySink, ResponseBody } from '../../body.ts'
import type { GatewayError } from '../../failures/errors.ts'
import { discardSink } from '../../shared/bodies/buffered-response-body.ts'
import { concatAndFree } from '../../shared/buffers.ts'

/** Stops, restarts and ends the source that feeds the queue. */
export interface ResponseBodySource {
  pause(): void
  resume(): void
  cancel(): void
}

// Until the relay takes the body, this much may wait here; a small response fits completely.
const highWaterBytes = 64 * 1024

/** Carries a response's body from the connection, which feeds it, to the relay, which takes it when it is ready. */
export class ResponseBodyQueue implements ResponseBody {
  readonly isShared = false
  readonly #source: ResponseBodySource
  #chunks: Buffer[] = []
  #queuedBytes = 0
  #ended = false
  #failure: GatewayError | null = null
  #sink: BodySink | null = null

  constructor(source: ResponseBodySource) {
    this.#source = source
  }

  push(chunk: Buffer): void {
    if (this.#sink !== null) {
      if (!this.#sink.data(chunk)) this.#source.pause()
      return
    }
    this.#chunks.push(chunk)
    this.#queuedBytes += chunk.length
    if (this.#queuedBytes >= highWaterBytes) this.#source.pause()
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
}
