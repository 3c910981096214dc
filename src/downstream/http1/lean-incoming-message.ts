import type { IncomingHttpHeaders as Headers } from 'node:http'
import { Readable } from 'node:stream'
import { GatewayError } from '../../failures/errors.ts'
import { fieldNameEquals } from '../../header-fields.ts'
import { IncomingMessage } from '../../node-http.ts'
import type { DownstreamRequest } from '../codec.ts'
import type { RequestTarget } from '../request/request-target.ts'

/** Takes the chunks of a body as Node's parser finds them; null: the end. */
type ChunkConsumer = (chunk: Buffer | null) => void

/**
 * A request whose fields are not made into an object: they are read from the raw list alone. Node asks for three of
 * them, for whether there is a body and what the client expects.
 */
export class LeanIncomingMessage extends IncomingMessage implements DownstreamRequest {
  target: RequestTarget | null = null
  originalUrl: string | undefined = undefined
  #headers: Headers | null = null
  #consumer: ChunkConsumer | null = null
  #isConsumed = false

  static {
    // Node's types have it as a property. Node lets go of a request whose response is over, when this says that nothing
    // more comes.
    const { get } = Object.getOwnPropertyDescriptor(Readable.prototype, 'readableEnded') ?? {}
    Object.defineProperty(LeanIncomingMessage.prototype, 'readableEnded', {
      get(this: LeanIncomingMessage): boolean {
        return this.#isConsumed || get?.call(this)
      },
    })
  }

  get multiplexed(): boolean {
    return false
  }

  validate(): GatewayError | null {
    return this.httpVersion === '1.1' || this.httpVersion === '1.0' ? null : new GatewayError('unsupported-version')
  }

  // Node's types have it as a property, which an accessor may not stand in for; in Node it is an accessor.
  static {
    Object.defineProperty(LeanIncomingMessage.prototype, 'headers', {
      get(this: LeanIncomingMessage): Headers {
        this.#headers ??= pickHeaders(this.rawHeaders)
        return this.#headers
      },
    })
  }

  /**
   * Passes its body to `consumer` without a stream in between; false: some of it is in the stream already. Nothing
   * holds the client back, so this is for bodies that may be held whole. A stream takes six turns of the loop's queue
   * to report one chunk and its end.
   */
  consumeDirectly(consumer: ChunkConsumer): boolean {
    if (this.complete || this.readableLength > 0 || this.readableFlowing !== null) return false
    this.#consumer = consumer
    this.read(0)
    return true
  }

  override push(chunk: Buffer | null, encoding?: BufferEncoding): boolean {
    const consumer = this.#consumer
    if (consumer === null) return super.push(chunk, encoding)
    if (chunk === null) {
      this.#consumer = null
      this.#isConsumed = true
    }
    consumer(chunk)
    if (chunk === null && this.listenerCount('end') > 0) this.emit('end')
    return true
  }
}

const pickHeaders = (raw: readonly string[]): Headers => {
  const picked: Headers = {}
  for (let i = 0; i < raw.length; i += 2) {
    const name = raw[i] as string
    const value = raw[i + 1] as string
    // By length first, as in request-head.ts.
    if (name.length === 6 && fieldNameEquals(name, 'expect'))
      picked.expect = picked.expect === undefined ? value : `${picked.expect}, ${value}`
    else if (name.length === 14 && fieldNameEquals(name, 'content-length')) picked['content-length'] = value
    else if (name.length === 17 && fieldNameEquals(name, 'transfer-encoding')) picked['transfer-encoding'] = value
  }
  return picked
}
