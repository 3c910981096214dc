import type { BodySink, ResponseBody } from '../../../core/exchange/body.ts'
import type { Exchange } from '../../../core/exchange/exchange.ts'
import type { GatewayError } from '../../../core/exchange/failures/errors.ts'

interface TeeSource {
  readonly whole: Buffer | null
  readonly ended: boolean
  readonly failure: GatewayError | null
  readonly length: number
  /** Returns the bytes from an offset on, up to a limit; null: nothing yet. */
  from(offset: number): Buffer | null
  onReaderAdvanced(): void
  onReaderClosed(reader: TeeReader): void
}

export class TeeReader implements ResponseBody {
  readonly isShared = true
  offset = 0
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

  /** Called when there is more to read, or the body has ended. */
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
