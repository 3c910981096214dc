import { sliceBytes } from '../../lib/buffers.ts'
import type { BodySink, ResponseBody } from '../body.ts'
import type { GatewayError } from '../failures/errors.ts'

/**
 * The body of a response whose bytes are in memory. Any number of responses may take them whole, also at the same time;
 * one may have them handed on in slices, as it takes them.
 */
export class BytesBody implements ResponseBody {
  readonly isShared = true
  bytes: Buffer
  #sink: BodySink | null = null
  #offset = 0

  /** Takes bytes that nothing else will write to or free. */
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

  /** Breaks off the slices; false: none were asked for, or all have been handed on. */
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
