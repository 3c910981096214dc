import type { AnswerBody, BodySink, Exchange } from '../../exchange.ts'
import type { GatewayError } from '../../failures/errors.ts'

/** What a reader reads: a body, as far as it has come. */
interface Recorded {
  readonly whole: Buffer | null
  readonly ended: boolean
  readonly failure: GatewayError | null
  readonly length: number
  /** Gives what there is from an offset on, up to a bound; null: nothing yet. */
  from(offset: number): Buffer | null
  /** Is told that a reader has gone on. */
  moved(): void
  /** Is told that a reader reads no more. */
  left(reader: Reader): void
}

/** Is the body of one answer that is made of a recording. */
export class Reader implements AnswerBody {
  readonly lasting = true
  /** How far it has read. */
  offset = 0
  /** The one that it answers. */
  readonly exchange: Exchange
  readonly #recording: Recorded
  #sink: BodySink | null = null
  #flowing = false
  #over = false

  constructor(recording: Recorded, exchange: Exchange) {
    this.exchange = exchange
    this.#recording = recording
  }

  whole(): Buffer | null {
    const { whole } = this.#recording
    if (whole !== null) this.#leave()
    return whole
  }

  consume(sink: BodySink): void {
    this.#sink = sink
    const { failure } = this.#recording
    if (failure !== null) return this.failed(failure)
    this.resume()
  }

  resume(): void {
    this.#flowing = true
    this.more()
  }

  discard(): void {
    this.#leave()
  }

  /** Is told that there is more, or that it has ended. */
  more(): void {
    const [recording, sink] = [this.#recording, this.#sink]
    if (sink === null || this.#over) return
    const before = this.offset
    while (this.#flowing) {
      const chunk = recording.from(this.offset)
      if (chunk === null) break
      this.offset += chunk.length
      this.#flowing = sink.data(chunk)
    }
    if (recording.ended && this.offset === recording.length) {
      this.#leave()
      return sink.end()
    }
    if (this.offset > before) recording.moved()
  }

  /** Is told that the rest will never come. */
  failed(error: GatewayError): void {
    if (this.#over || this.#sink === null) return
    this.#over = true
    this.#sink.fail(error)
  }

  #leave(): void {
    this.#over = true
    this.#recording.left(this)
  }
}
