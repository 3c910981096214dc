import { sliceBytes } from '../../lib/buffers.ts'
import type { QuotaShare } from '../../lib/fair-quota.ts'
import type { ResponseBody } from '../body.ts'
import type { Exchange } from '../exchange.ts'
import { overloadedError } from '../failures/errors.ts'
import { BodyCopy } from './body-copy.ts'
import { BytesBody } from './bytes-body.ts'
import { ResponseBodyQueue } from './response-body-queue.ts'

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

/** A body that has come completely. The room for it is given back when it is delivered, or will not be. */
class WholeResponseBody extends BytesBody {
  readonly #exchange: Exchange
  readonly #copy: BodyCopy

  constructor(whole: Buffer, exchange: Exchange, copy: BodyCopy) {
    super(whole)
    this.#exchange = exchange
    this.#copy = copy
    // The attempt is over, and does not listen any more.
    exchange.setAbortListener((reason) => {
      // A body that is not asked for yet stays whole, or a part of it would be relayed as all of it.
      if (!this.fail(reason)) copy.release()
    })
  }

  override takeBuffered(): Buffer | null {
    const { bytes } = this
    if (bytes.length > sliceBytes) return null
    this.discard()
    return bytes
  }

  override discard(): void {
    super.discard()
    this.bytes = noBytes
    this.#copy.release()
    this.#exchange.setAbortListener(null)
  }
}

const noBytes = Buffer.alloc(0)

/** A body of which the beginning was read. What has come of it may not be all, so it goes out as it comes. */
class PassingBody extends ResponseBodyQueue {
  constructor(body: ResponseBody, chunks: Buffer[]) {
    // The source is paused by what its sink returns.
    super({ pause() {}, resume: () => body.resume(), cancel: () => body.discard() }, body.isShared, chunks)
  }

  override takeBuffered(): null {
    return null
  }
}
