import type { BodySink, ResponseBody } from '../../body.ts'
import type { GatewayError } from '../../failures/errors.ts'

/** A body that was read first. */
export interface BufferedResponseBody {
  /** All of it; null: it is longer than the bound, and streams on. */
  readonly whole: Buffer | null
  /** The body to deliver, from its beginning. */
  readonly body: ResponseBody
}

/** Reads a body of at most `maxBytes`. Rejects with why it will never be complete. */
export const bufferResponseBody = (body: ResponseBody, maxBytes: number): Promise<BufferedResponseBody> => {
  const { promise, resolve, reject } = Promise.withResolvers<BufferedResponseBody>()
  const whole = body.takeBuffered()
  if (whole !== null) {
    resolve({ whole: whole.length > maxBytes ? null : whole, body: new CompleteBody([whole]) })
    return promise
  }
  const chunks: Buffer[] = []
  let bytes = 0
  let passing: PassingBody | null = null
  body.consume({
    data(chunk) {
      if (passing !== null) return passing.push(chunk)
      chunks.push(body.isShared ? Buffer.from(chunk) : chunk)
      bytes += chunk.length
      if (bytes <= maxBytes) return true
      passing = new PassingBody(body, chunks)
      resolve({ whole: null, body: passing })
      return false
    },
    end() {
      if (passing !== null) return passing.end()
      const all = Buffer.concat(chunks)
      resolve({ whole: all, body: new CompleteBody([all]) })
    },
    fail(error) {
      if (passing !== null) passing.fail(error)
      else reject(error)
    },
  })
  return promise
}

/** A body that has come completely. */
class CompleteBody implements ResponseBody {
  readonly isShared = false
  #chunks: Buffer[]

  constructor(chunks: Buffer[]) {
    this.#chunks = chunks
  }

  takeBuffered(): Buffer | null {
    return this.#chunks[0] ?? null
  }

  consume(sink: BodySink): void {
    for (const chunk of this.#chunks.splice(0)) sink.data(chunk)
    sink.end()
  }

  resume(): void {}

  discard(): void {
    this.#chunks = []
  }
}

/** A body of which the beginning was read. */
class PassingBody implements ResponseBody {
  readonly isShared: boolean
  readonly #source: ResponseBody
  #chunks: Buffer[]
  #sink: BodySink | null = null
  #hasEnded = false
  #failure: GatewayError | null = null

  constructor(source: ResponseBody, chunks: Buffer[]) {
    this.isShared = source.isShared
    this.#source = source
    this.#chunks = chunks
  }

  push(chunk: Buffer): boolean {
    if (this.#sink !== null) return this.#sink.data(chunk)
    this.#chunks.push(chunk)
    return false
  }

  end(): void {
    this.#hasEnded = true
    this.#sink?.end()
  }

  fail(error: GatewayError): void {
    this.#failure = error
    this.#sink?.fail(error)
  }

  takeBuffered(): null {
    return null
  }

  consume(sink: BodySink): void {
    this.#sink = sink
    let isFlowing = true
    for (const chunk of this.#chunks.splice(0)) isFlowing = sink.data(chunk)
    if (this.#failure !== null) return sink.fail(this.#failure)
    if (this.#hasEnded) return sink.end()
    if (isFlowing) this.#source.resume()
  }

  resume(): void {
    this.#source.resume()
  }

  discard(): void {
    this.#chunks = []
    this.#sink = { data: () => true, end: () => {}, fail: () => {} }
    this.#source.discard()
  }
}
