import type { BodySink, Exchange, ResponseBody } from '../../exchange.ts'
import type { GatewayError } from '../../failures/errors.ts'

/** What a reader reads: a body, as far as it has come. */
interface TeeSource {
  readonly whole: Buffer | null
  readonly ended: boolean
  readonly failure: GatewayError | null
  readonly length: number
  /** Gives what there is from an offset on, up to a bound; null: nothing yet. */
  from(offset: number): Buffer | null
  /** Is told that a reader has gone on. */
  onReaderAdvanced(): void
  /** Is told that a reader reads no more. */
  onReaderClosed(reader: TeeReader): void
}

/** Is the body of one answer that is made of a recording. */
export class TeeReader implements ResponseBody {
  readonly isShared = true
  /** How far it has read. */
  offset = 0
  /** The one that it answers. */
  readonly exchange: Exchange
  readonly #source: TeeSource
  #sink: BodySink | null = null
  #flowing = false
  #isClosed = false

  constructor(source: TeeSource, exchange: Exchange) {
    this.exchange = exchange
    this.#source = source
  }

  takeBuffered(): Buffer | null {
    const { whole } = this.#source
    if (whole !== null) this.#close()
    return whole
  }

  consume(sink: BodySink): void {
    this.#sink = sink
    const { failure } = this.#source
    if (failure !== null) return this.onFailed(failure)
    this.resume()
  }

  resume(): void {
    this.#flowing = true
    this.onData()
  }

  discard(): void {
    this.#close()
  }

  /** Is told that there is more, or that it has ended. */
  onData(): void {
    const [source, sink] = [this.#source, this.#sink]
    if (sink === null || this.#isClosed) return
    const before = this.offset
    while (this.#flowing) {
      const chunk = source.from(this.offset)
      if (chunk === null) break
      this.offset += chunk.length
      this.#flowing = sink.data(chunk)
    }
    if (source.ended && this.offset === source.length) {
      this.#close()
      return sink.end()
    }
    if (this.offset > before) source.onReaderAdvanced()
  }

  /** Is told that the rest will never come. */
  onFailed(error: GatewayError): void {
    if (this.#isClosed || this.#sink === null) return
    this.#isClosed = true
    this.#sink.fail(error)
  }

  #close(): void {
    this.#isClosed = true
    this.#source.onReaderClosed(this)
  }
}
