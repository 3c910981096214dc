import type { BodySink, ResponseBody } from '../../../src/core/exchange/body.ts'
import type { Exchange, Handler, Layer, ProxyResponse } from '../../../src/core/exchange/exchange.ts'
import type { GatewayError } from '../../../src/core/exchange/failures/errors.ts'
import { cacheLayer } from '../../../src/features/cache/cache.ts'
import { type CachePartition, createCachePartition } from '../../../src/features/cache/partition.ts'
import type { CacheRules } from '../../../src/features/cache/policy/cache-request.ts'
import { CacheStore } from '../../../src/features/cache/store/cache-store.ts'
import { fakeExchange } from '../../helpers/exchange.ts'
import { rules } from './policy/helper.ts'

/** The body of a response, fed by a test. */
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

/** Creates a response of the upstream. Its body has ended, unless it is a {@link FedBody} that has not. */
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

/** A request on its way upstream; the test responds when it likes. */
export interface Sent {
  readonly exchange: Exchange
  respond(response: ProxyResponse): Promise<void>
  fail(error: GatewayError): Promise<void>
}

/** The upstream of a test. An aborted request fails with the reason, as in sending. */
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

/** Lets all settled promises run their callbacks. */
export const settled = async (): Promise<void> => {
  for (let i = 0; i < 10; i++) await Promise.resolve()
}

/** Opens the cache layer before an upstream of a test, with its store. */
export const openCache = (options: Partial<CacheRules> = {}, maxBytes = 1024 * 1024) => {
  const upstream = fakeUpstream()
  const store = new CacheStore(maxBytes)
  const partition: CachePartition = createCachePartition(store, 'market.insights')
  const errors: unknown[] = []
  const revalidationErrors: GatewayError[] = []
  const events = {
    onError: (error: unknown) => void errors.push(error),
    onRevalidationFailed: (error: GatewayError) => void revalidationErrors.push(error),
  }
  const layer: Layer = cacheLayer(rules({ maxEntry: 64 * 1024, ...options }), partition, events)
  const handle = layer(upstream.next)
  return {
    handle,
    /** Sends a request. */
    get: (fields: string[] = [], query = '') => handle(fakeExchange({ fields, query })),
    /** Has the upstream respond to its nth request. */
    respond: (nth: number, ...response: Parameters<typeof createResponse>) =>
      upstream.sent[nth]?.respond(createResponse(...response)),
    sent: upstream.sent,
    ...{ store, partition, errors, revalidationErrors, layer },
  }
}

/** A client that reads a body: all of it at once, or when it catches up. */
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

/** Returns the Cache-Status that the cache gave an exchange. */
export const getCacheStatus = ({ addedResponseFields: fields }: Exchange): string | undefined =>
  fields?.[fields.indexOf('Cache-Status') + 1]
