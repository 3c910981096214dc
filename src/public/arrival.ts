import type { IncomingHttpHeaders as Headers } from 'node:http'
import { Readable } from 'node:stream'
import { GatewayError } from '../failures/errors.ts'
import { isNamed } from '../fields.ts'
import { IncomingMessage } from '../node-http.ts'
import type { Target } from './target.ts'
import type { ClientRequest } from './wire.ts'

/** Takes the pieces of a body as Node's parser finds them; null: that was the last. */
type Taker = (chunk: Buffer | null) => void

/**
 * Is a request whose fields are not made into an object: they are read from the raw list alone. Node asks for three of them, whether
 * there is a body and what the client expects.
 */
export class Arrival extends IncomingMessage implements ClientRequest {
  target: Target | null = null
  originalUrl: string | undefined = undefined
  #headers: Headers | null = null
  #taker: Taker | null = null
  #isTaken = false

  static {
    // Node's types have it as a property. Node lets go of a request whose response is over, when this says that nothing more comes.
    const { get } = Object.getOwnPropertyDescriptor(Readable.prototype, 'readableEnded') ?? {}
    Object.defineProperty(Arrival.prototype, 'readableEnded', {
      get(this: Arrival): boolean {
        return this.#isTaken || get?.call(this)
      },
    })
  }

  get multiplexed(): boolean {
    return false
  }

  flaw(): GatewayError | null {
    return this.httpVersion === '1.1' || this.httpVersion === '1.0' ? null : new GatewayError('unsupported-version')
  }

  // Node's types have it as a property, which an accessor may not stand in for; in Node it is one.
  static {
    Object.defineProperty(Arrival.prototype, 'headers', {
      get(this: Arrival): Headers {
        this.#headers ??= pick(this.rawHeaders)
        return this.#headers
      },
    })
  }

  /**
   * Hands its body over without making a stream of it; false: some of it is in the stream already. Nothing holds the client back, so this
   * is for what may be held whole. A stream takes six turns of the loop's queue to tell of one piece and its end.
   */
  divert(taker: Taker): boolean {
    if (this.complete || this.readableLength > 0 || this.readableFlowing !== null) return false
    this.#taker = taker
    this.read(0)
    return true
  }

  override push(chunk: Buffer | null, encoding?: BufferEncoding): boolean {
    const taker = this.#taker
    if (taker === null) return super.push(chunk, encoding)
    if (chunk === null) {
      this.#taker = null
      this.#isTaken = true
    }
    taker(chunk)
    if (chunk === null && this.listenerCount('end') > 0) this.emit('end')
    return true
  }
}

const pick = (raw: readonly string[]): Headers => {
  const picked: Headers = {}
  for (let i = 0; i < raw.length; i += 2) {
    const name = raw[i] as string
    const value = raw[i + 1] as string
    // By length first, as in head.ts.
    if (name.length === 6 && isNamed(name, 'expect'))
      picked.expect = picked.expect === undefined ? value : `${picked.expect}, ${value}`
    else if (name.length === 14 && isNamed(name, 'content-length')) picked['content-length'] = value
    else if (name.length === 17 && isNamed(name, 'transfer-encoding')) picked['transfer-encoding'] = value
  }
  return picked
}
