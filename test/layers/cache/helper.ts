import type { BodySink, Exchange, Handler, Layer, ProxyResponse, ResponseBody } from '../../../src/exchange.ts'
import type { GatewayError } from '../../../src/failures/errors.ts'
import { cacheLayer } from '../../../src/layers/cache/cache.ts'
import { CacheStore } from '../../../src/layers/cache/cache-store.ts'
import type { CachePartition } from '../../../src/layers/cache/partition.ts'
import type { CacheRules } from '../../../src/layers/cache/policy/cache-request.ts'
import { rules } from './policy/helper.ts'

/** Is the body of an answer that a test moves along by hand. */
export class FedBody implements ResponseBody {
  readonly isShared = false
  paused = false
  discarded = false
  #chunks: Buffer[] = []
  #ended = false
  #sink: BodySink | null = null

  feed(...chunks: readonly string[]): this {
    for (const chunk of chunks) {
      const bytes = Buffer.from(chunk)
      if (this.#sink === null) this.#chunks.push(bytes)
      else if (!this.#sink.data(bytes)) this.paused = true
    }
    return this
  }

  end(): this {
    this.#ended = true
    this.#sink?.end()
    return this
  }

  fail(error: GatewayError): this {
    this.#sink?.fail(error)
    return this
  }

  takeBuffered(): Buffer | null {
    return this.#ended && this.#sink === null ? Buffer.concat(this.#chunks) : null
  }

  consume(sink: BodySink): void {
    this.#sink = sink
    for (const chunk of this.#chunks.splice(0)) sink.data(chunk)
    if (this.#ended) sink.end()
  }

  resume(): void {
    this.paused = false
  }

  discard(): void {
    this.discarded = true
  }
}

/** Makes an answer of the upstream whose body has come to its end, unless it is given one that has not. */
export const createResponse = (
  fields: readonly string[],
  body: string | FedBody = 'body',
  status = 200,
): ProxyResponse => ({
  status,
  reason: '',
  fields,
  body: typeof body === 'string' ? new FedBody().feed(body).end() : body,
})

/** Is a request on its way upstream, which a test answers when it likes. */
export interface Sent {
  readonly exchange: Exchange
  respond(response: ProxyResponse): Promise<void>
  fail(error: GatewayError): Promise<void>
}

/** Is the upstream of a test. What is aborted fails with the reason, as sending does. */
export interface FakeUpstream {
  readonly next: Handler
  readonly sent: Sent[]
}

export const fakeUpstream = (): FakeUpstream => {
  const sent: Sent[] = []
  const next: Handler = (exchange) =>
    new Promise((resolve, reject) => {
      let body: ProxyResponse['body'] | null = null
      exchange.setAbortListener((reason) => {
        if (body instanceof FedBody) body.fail(reason)
        reject(reason)
      })
      sent.push({
        exchange,
        respond: (response) => {
          body = response.body
          resolve(response)
          return settled()
        },
        fail: (error) => {
          reject(error)
          return settled()
        },
      })
    })
  return { next, sent }
}

/** Lets all that is settled be told. */
export const settled = async (): Promise<void> => {
  for (let i = 0; i < 10; i++) await Promise.resolve()
}

/** Is the layer before an upstream of a test, and its store. */
export const opened = (changed: Partial<CacheRules> = {}, maxBytes = 1024 * 1024) => {
  const upstream = fakeUpstream()
  const store = new CacheStore(maxBytes)
  const part: CachePartition = store.openPartition('market.insights')
  const broken: unknown[] = []
  const unrefreshed: GatewayError[] = []
  const events = {
    onError: (error: unknown) => void broken.push(error),
    onRevalidationFailed: (error: GatewayError) => void unrefreshed.push(error),
  }
  const layer: Layer = cacheLayer(rules({ maxEntry: 64 * 1024, ...changed }), part, events)
  return { handle: layer(upstream.next), sent: upstream.sent, store, part, broken, unrefreshed, layer, upstream }
}

/** Reads a body as a client does that takes all at once, or one that waits to be asked. */
export class Client implements BodySink {
  text = ''
  ended = false
  failure: GatewayError | null = null
  isSlow = false
  readonly #body: ResponseBody

  constructor(body: ResponseBody, isSlow = false) {
    this.#body = body
    this.isSlow = isSlow
    const whole = body.takeBuffered()
    this.text = whole?.toString() ?? ''
    this.ended = whole !== null
    if (whole === null) body.consume(this)
  }

  data(chunk: Buffer): boolean {
    this.text += chunk.toString()
    return !this.isSlow
  }

  end(): void {
    this.ended = true
  }

  fail(error: GatewayError): void {
    this.failure = error
  }

  /** Takes what there is, and all that comes after. */
  catchUp(): void {
    this.isSlow = false
    this.#body.resume()
  }
}

/** Tells what the cache said of an exchange. */
export const cacheStatusOf = ({ addedResponseFields: answerFields }: Exchange): string | undefined =>
  answerFields?.[answerFields.indexOf('Cache-Status') + 1]
