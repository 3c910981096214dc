import { sliceBytes } from '../../lib/buffers.ts'
import type { QuotaShare } from '../../lib/fair-quota.ts'
import type { RequestBody, ResponseBody, Upload } from '../body.ts'
import type { Exchange } from '../exchange.ts'
import { GatewayError, overloadedError } from '../failures/errors.ts'
import { BodyCopy } from './body-copy.ts'
import { BytesBody, ResponseBodyQueue } from './response-bodies.ts'

interface BufferedRequestBody {
  /** All of it; null: it is longer than the bound, and streams on. */
  readonly whole: Buffer | null
  /** Gives up what has not been sent, when no attempt will send it. */
  stop(): void
}

/**
 * Reads the whole body of an exchange's request, and puts one in its place that can be sent. It keeps the room for it
 * until the exchange has finished. Rejects with why the body will never be complete, and with `overloaded` when there
 * is no room.
 */
export const bufferRequestBody = async (
  exchange: Exchange,
  maxBytes: number,
  room: QuotaShare,
): Promise<BufferedRequestBody> => {
  const { body } = exchange
  // A small body is read first in any case.
  if (body.replayable) return { whole: joinChunks(await body.read()), stop: () => {} }
  const copy = new BodyCopy(maxBytes, room, body.length)
  exchange.onFinished(() => {
    if (exchange.bodySent) copy.free()
    else copy.release() // some of it may wait to be written
  })
  const source = new UploadSource(body, exchange)
  for (;;) {
    const next = await source.chunks.next()
    if (next.done === true) {
      const whole = copy.bytes
      exchange.body = new WholeBody(whole)
      return { whole, stop: () => {} }
    }
    if (copy.push(next.value)) continue
    if (copy.failure === 'busy') {
      source.upload.stop()
      throw overloadedError('buffered-bodies')
    }
    exchange.body = new PrefixedBody(body, [copy.bytes, next.value], source)
    return { whole: null, stop: () => source.upload.stop() }
  }
}

const joinChunks = (chunks: readonly Buffer[]): Buffer =>
  chunks.length === 1 ? (chunks[0] as Buffer) : Buffer.concat(chunks)

class UploadSource {
  readonly upload: Upload
  readonly chunks: AsyncIterator<Buffer>
  /** Told whether the upload waits for the client. */
  onFlow: (waits: boolean) => void

  constructor(body: RequestBody, exchange: Exchange) {
    this.onFlow = (waits) => {
      exchange.waitsForClient = waits
    }
    this.upload = body.stream((waits) => this.onFlow(waits))
    this.chunks = this.upload[Symbol.asyncIterator]()
  }
}

/** The body of a request that was read completely. It can be sent again like a small one. */
export class WholeBody implements RequestBody {
  readonly length: number
  readonly received = true
  readonly replayable = true
  readonly started = true
  maxBytes = Number.POSITIVE_INFINITY
  onData: RequestBody['onData'] = null
  onStarted: RequestBody['onStarted'] = null
  onReceived: RequestBody['onReceived'] = null
  readonly #chunks: Promise<readonly Buffer[]>

  constructor(whole: Buffer) {
    this.length = whole.length
    this.#chunks = Promise.resolve(whole.length === 0 ? [] : [whole])
  }

  read(): Promise<readonly Buffer[]> {
    return this.#chunks
  }

  stream(): Upload {
    throw new GatewayError('internal', { cause: new TypeError('a body that can be read again does not stream') })
  }
}

/**
 * A body of which the beginning was read, and that streams on. It counts as begun when an attempt takes of it: until
 * then it can still be sent, on another connection too.
 */
class PrefixedBody implements RequestBody {
  readonly length: number | null
  readonly replayable = false
  started = false
  maxBytes = Number.POSITIVE_INFINITY // the body behind it counts
  onData: RequestBody['onData'] = null
  onStarted: RequestBody['onStarted'] = null
  readonly #body: RequestBody
  readonly #prefix: readonly Buffer[]
  readonly #source: UploadSource

  constructor(body: RequestBody, prefix: readonly Buffer[], source: UploadSource) {
    this.length = body.length
    this.#body = body
    this.#prefix = prefix
    this.#source = source
  }

  get received(): boolean {
    return this.#body.received
  }

  get onReceived(): RequestBody['onReceived'] {
    return this.#body.onReceived
  }

  set onReceived(listener: RequestBody['onReceived']) {
    this.#body.onReceived = listener
  }

  read(): Promise<readonly Buffer[]> {
    return Promise.reject(new GatewayError('internal', { cause: new TypeError('a body that streams is not read') }))
  }

  stream(onFlow: (waits: boolean) => void): Upload {
    return {
      stop: () => {
        if (this.started) this.#source.upload.stop()
      },
      [Symbol.asyncIterator]: () => this.#iterate(onFlow),
    }
  }

  async *#iterate(onFlow: (waits: boolean) => void): AsyncGenerator<Buffer, void> {
    this.started = true
    if (!this.received) this.onStarted?.()
    const { chunks } = this.#source
    this.#source.onFlow = onFlow
    for (const chunk of this.#prefix) {
      this.onData?.(chunk)
      yield chunk
    }
    for (let next = await chunks.next(); next.done !== true; next = await chunks.next()) {
      this.onData?.(next.value)
      yield next.value
    }
    this.onData?.(null)
  }
}

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
