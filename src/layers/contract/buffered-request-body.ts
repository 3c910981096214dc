import type { RequestBody, Upload } from '../../body.ts'
import type { Exchange } from '../../exchange.ts'
import { GatewayError } from '../../failures/errors.ts'

/**
 * Reads the whole body of an exchange's request, and puts one in its place that can be sent. Null: it is longer than
 * `maxBytes`, and streams on. Rejects with why the body will never be complete.
 */
export const bufferRequestBody = async (exchange: Exchange, maxBytes: number): Promise<Buffer | null> => {
  const { body } = exchange
  if (body.replayable) return joinChunks(await body.read())
  let onFlow = (waits: boolean): void => {
    exchange.waitsForClient = waits
  }
  const upload = body.stream((waits) => onFlow(waits))
  const chunks: Buffer[] = []
  let bytes = 0
  const iterator = upload[Symbol.asyncIterator]()
  for (;;) {
    const next = await iterator.next()
    if (next.done === true) {
      const whole = Buffer.concat(chunks)
      exchange.body = new WholeBody(whole)
      return whole
    }
    chunks.push(next.value)
    bytes += next.value.length
    if (bytes > maxBytes) break
  }
  exchange.body = new PrefixedBody(body, chunks, upload, iterator, (listener) => {
    onFlow = listener
  })
  return null
}

const joinChunks = (chunks: readonly Buffer[]): Buffer =>
  chunks.length === 1 ? (chunks[0] as Buffer) : Buffer.concat(chunks)

/** A body that was read completely. It can be sent again like a small one. */
class WholeBody implements RequestBody {
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

/** A body of which the beginning was read, and that streams on. */
class PrefixedBody implements RequestBody {
  readonly length: number | null
  readonly replayable = false
  readonly started = true
  readonly #body: RequestBody
  readonly #prefix: readonly Buffer[]
  readonly #upload: Upload
  readonly #rest: AsyncIterator<Buffer>
  readonly #setOnFlow: (listener: (waits: boolean) => void) => void

  constructor(
    body: RequestBody,
    prefix: readonly Buffer[],
    upload: Upload,
    rest: AsyncIterator<Buffer>,
    setOnFlow: (listener: (waits: boolean) => void) => void,
  ) {
    this.length = body.length
    this.#body = body
    this.#prefix = prefix
    this.#upload = upload
    this.#rest = rest
    this.#setOnFlow = setOnFlow
  }

  get received(): boolean {
    return this.#body.received
  }

  get maxBytes(): number {
    return this.#body.maxBytes
  }

  set maxBytes(bytes: number) {
    this.#body.maxBytes = bytes
  }

  get onData(): RequestBody['onData'] {
    return this.#body.onData
  }

  set onData(listener: RequestBody['onData']) {
    this.#body.onData = listener
  }

  get onStarted(): RequestBody['onStarted'] {
    return this.#body.onStarted
  }

  set onStarted(listener: RequestBody['onStarted']) {
    this.#body.onStarted = listener
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
    this.#setOnFlow(onFlow)
    const [upload, prefix, rest] = [this.#upload, this.#prefix, this.#rest]
    return {
      stop: () => upload.stop(),
      async *[Symbol.asyncIterator](): AsyncGenerator<Buffer, void> {
        yield* prefix
        for (let next = await rest.next(); next.done !== true; next = await rest.next()) yield next.value
      },
    }
  }
}
