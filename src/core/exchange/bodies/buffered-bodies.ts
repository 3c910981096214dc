import { noBytes, sliceBytes } from '../../lib/buffers.ts'
import type { QuotaShare } from '../../lib/fair-quota.ts'
import type { RequestBody, ResponseBody, Upload } from '../body.ts'
import type { Exchange } from '../exchange.ts'
import { GatewayError, overloadedError } from '../failures/errors.ts'
import { BodyCopy } from './body-copy.ts'
import { BytesBody, ResponseBodyQueue } from './response-bodies.ts'

interface BufferedRequestBody {
  /** Null: longer than the bound; the body streams on. */
  readonly whole: Buffer | null
  /** Drops the unsent rest, when no attempt will send it. */
  stop(): void
}

/** Holds the room until the exchange has finished. Rejects where the body stays incomplete, or with `overloaded`. */
export const bufferRequestBody = async (
  exchange: Exchange,
  maxBytes: number,
  room: QuotaShare,
): Promise<BufferedRequestBody> => {
  const { body } = exchange
  // Small bodies are always read first.
  if (body.replayable) return { whole: joinChunks(await body.read()), stop: () => {} }
  const copy = new BodyCopy(maxBytes, room, body.length)
  exchange.onFinished(() => {
    if (exchange.bodySent) copy.free()
    else copy.release() // part of it may wait to be written
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
  /** `waits`: for the client. */
  onFlow: (waits: boolean) => void

  constructor(body: RequestBody, exchange: Exchange) {
    this.onFlow = (waits) => {
      exchange.waitsForClient = waits
    }
    this.upload = body.stream((waits) => this.onFlow(waits))
    this.chunks = this.upload[Symbol.asyncIterator]()
  }
}

const misuseError = (message: string): GatewayError => new GatewayError('internal', { cause: new TypeError(message) })

/** Sent again like a small body. */
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
    throw misuseError('a body that can be read again does not stream')
  }
}

/** Not `started` until an attempt reads it: until then another connection can send it. */
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
    return Promise.reject(misuseError('a body that streams is not read'))
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
  /** Null: longer than the bound; the body streams on. */
  readonly whole: Buffer | null
  readonly body: ResponseBody
}

/** Holds the room until the delivery or the abort. Rejects where the body stays incomplete, or with `overloaded`. */
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
    const isKept = copy.keep(whole)
    if (copy.failure === 'busy') reject(overloadedError('buffered-bodies'))
    else resolve({ whole: isKept ? whole : null, body: new WholeResponseBody(whole, exchange, copy) })
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

class WholeResponseBody extends BytesBody {
  readonly #exchange: Exchange
  readonly #copy: BodyCopy

  constructor(whole: Buffer, exchange: Exchange, copy: BodyCopy) {
    super(whole)
    this.#exchange = exchange
    this.#copy = copy
    // The attempt has ended and no longer listens.
    exchange.setAbortListener((reason) => {
      // A part of the body would be relayed as all of it.
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

class PassingBody extends ResponseBodyQueue {
  constructor(body: ResponseBody, chunks: Buffer[]) {
    super({ pause() {}, resume: () => body.resume(), cancel: () => body.discard() }, body.isShared, chunks)
  }

  override takeBuffered(): null {
    return null
  }
}
