import type { BodySink, RequestBody, ResponseBody } from '../../body.ts'
import type { BodyCopy } from '../../shared/bodies/body-copy.ts'

/** Copies the body of a request while it is read. `onEnd` is called when all of it has come. */
export const copyRequestBody = (body: RequestBody, copy: BodyCopy, onEnd: () => void): void => {
  const { onData } = body
  body.onData = (chunk) => {
    onData?.(chunk)
    if (chunk === null) onEnd()
    else if (!copy.push(chunk)) copy.free()
  }
}

/** The body of a response that is copied while it is sent. `onEnd` is called when all of it was handed on. */
export class ReportedResponseBody implements ResponseBody, BodySink {
  readonly #body: ResponseBody
  readonly #copy: BodyCopy
  readonly #onEnd: () => void
  #sink: BodySink | null = null

  constructor(body: ResponseBody, copy: BodyCopy, onEnd: () => void) {
    this.#body = body
    this.#copy = copy
    this.#onEnd = onEnd
  }

  get isShared(): boolean {
    return this.#body.isShared
  }

  takeBuffered(): Buffer | null {
    const whole = this.#body.takeBuffered()
    if (whole === null) return null
    if (!this.#copy.keep(whole)) this.#copy.free() // a body that is taken whole is never freed by hand
    this.#onEnd()
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
    this.#copy.free()
    this.#body.discard()
  }

  data(chunk: Buffer): boolean {
    if (!this.#copy.push(chunk)) this.#copy.free()
    return this.#sink?.data(chunk) ?? true
  }

  end(): void {
    this.#sink?.end()
    this.#onEnd()
  }

  fail(error: Parameters<BodySink['fail']>[0]): void {
    this.#copy.free()
    this.#sink?.fail(error)
  }
}
