import type { BodySink, ResponseBody } from '../body.ts'
import type { GatewayError } from '../failures/errors.ts'

/** Sees the body of a response as it is handed on. Either `onEnd` or `onCut` is called, once and last. */
interface BodyObserver {
  /** A chunk, whose memory belongs to the one that sends it: it may be freed when this returns. */
  onChunk(chunk: Buffer): void
  /** The whole body at once, in memory that is never freed by hand. */
  onWhole(whole: Buffer): void
  /** Called when all of it was handed on. */
  onEnd(): void
  /** Called when the rest will never come, or is not wanted any more (null). */
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
