import type { AnswerBody, BodySink } from '../exchange.ts'

/** Is the most that is written at once where whatever is written is copied. */
export const pieceBytes = 64 * 1024

/** Is a body that is all there, and is handed on in pieces as they are taken. The memory may be others' too. */
export class InPieces implements AnswerBody {
  readonly lasting = true
  #rest: Buffer
  #sink: BodySink | null = null

  constructor(whole: Buffer) {
    this.#rest = whole
  }

  whole(): null {
    return null
  }

  consume(sink: BodySink): void {
    this.#sink = sink
    this.resume()
  }

  resume(): void {
    const sink = this.#sink
    while (sink !== null && this.#rest.length > 0) {
      const piece = this.#rest.subarray(0, pieceBytes)
      this.#rest = this.#rest.subarray(piece.length)
      if (!sink.data(piece)) return
    }
    this.#sink = null
    sink?.end()
  }

  discard(): void {
    this.#sink = null
  }
}
