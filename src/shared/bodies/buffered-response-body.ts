import type { BodySink, ResponseBody } from '../../body.ts'
import type { Exchange } from '../../exchange.ts'
import { type GatewayError, overloadedError } from '../../failures/errors.ts'
import type { QuotaShare } from '../fair-quota.ts'
import { BodyCopy } from './body-copy.ts'

/** The body of a response that was read first. */
export interface BufferedResponseBody {
  /** All of it; null: it is longer than the bound, and streams on. */
  readonly whole: Buffer | null
  /** The body to deliver, from its beginning. */
  readonly body: ResponseBody
}

/**
 * Reads the whole body of a response. It keeps the room for it until the body has been delivered, or the exchange is
 * aborted. Rejects with why the body will never be complete, and with `overloaded` when there is no room.
 */
export const bufferResponseBody = (
  body: ResponseBody,
  exchange: Exchange,
  maxBytes: number,
  room: QuotaShare,
): Promise<BufferedResponseBody> => {
  const { promise, resolve, reject } = Promise.withResolvers<BufferedResponseBody>()
  const copy = new BodyCopy(maxBytes, room)
  const whole = body.takeBuffered()
  if (whole !== null) {
    if (copy.keep(whole)) resolve({ whole, body: new WholeResponseBody(whole, exchange, copy) })
    else if (copy.failure === 'too-large') resolve({ whole: null, body: new WholeResponseBody(whole, exchange, copy) })
    else reject(overloadedError('buffered-bodies'))
    return promise
  }
  let passing: PassingBody | null = null
  body.consume({
    data(chunk) {
      if (passing !== null) return passing.push(chunk)
      if (copy.push(chunk)) return true
      if (copy.failure === 'busy') {
        copy.release()
        body.discard()
        reject(overloadedError('buffered-bodies'))
      } else {
        passing = new PassingBody(body, [copy.bytes, chunk])
        copy.release()
        resolve({ whole: null, body: passing })
      }
      return false
    },
    end() {
      if (passing !== null) return passing.end()
      const { bytes } = copy
      resolve({ whole: bytes, body: new WholeResponseBody(bytes, exchange, copy) })
    },
    fail(error) {
      if (passing !== null) return passing.fail(error)
      copy.release()
      reject(error)
    },
  })
  return promise
}

// A slow client's connection takes so much at a time.
const sliceBytes = 64 * 1024

/** A body that has come completely. */
class WholeResponseBody implements ResponseBody {
  readonly isShared = true // slices of one memory
  readonly #exchange: Exchange
  readonly #copy: BodyCopy
  #rest: Buffer
  #sink: BodySink | null = null

  constructor(whole: Buffer, exchange: Exchange, copy: BodyCopy) {
    this.#rest = whole
    this.#exchange = exchange
    this.#copy = copy
    // The attempt is over, and does not listen any more.
    exchange.setAbortListener((reason) => {
      const sink = this.#sink
      // Not asked for yet: it stays whole, or a part of it would be relayed as all of it.
      if (sink === null) return copy.release()
      this.#close()
      sink.fail(reason)
    })
  }

  takeBuffered(): Buffer | null {
    if (this.#rest.length > sliceBytes) return null
    const whole = this.#rest
    this.#close()
    return whole
  }

  consume(sink: BodySink): void {
    this.#sink = sink
    this.resume()
  }

  resume(): void {
    while (this.#sink !== null && this.#rest.length > 0) {
      const slice = this.#rest.subarray(0, sliceBytes)
      this.#rest = this.#rest.subarray(slice.length)
      if (!this.#sink.data(slice)) return
    }
    const sink = this.#sink
    this.#close()
    sink?.end()
  }

  discard(): void {
    this.#close()
  }

  #close(): void {
    this.#sink = null
    this.#rest = noBytes
    this.#copy.release()
    this.#exchange.setAbortListener(null)
  }
}

const noBytes = Buffer.alloc(0)

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
    this.#sink = discardSink
    this.#source.discard()
  }
}

/** Takes a body that nothing reads. */
export const discardSink: BodySink = { data: () => true, end: () => {}, fail: () => {} }
