import { vi } from 'vitest'
import type { ResponseBody } from '../../../../src/core/exchange/body.ts'
import type { Exchange, Handler, ProxyResponse } from '../../../../src/core/exchange/exchange.ts'
import { GatewayError } from '../../../../src/core/exchange/failures/errors.ts'
import { cacheLayer } from '../../../../src/features/cache/cache.ts'
import { cacheInvalidationLayer, type InvalidationTarget } from '../../../../src/features/cache/invalidation.ts'
import { type CachePartition, createCachePartition } from '../../../../src/features/cache/partition.ts'
import { CacheStore } from '../../../../src/features/cache/store/cache-store.ts'
import type { OperationId } from '../../../../src/operations.ts'
import { fakeBody, fakeExchange } from '../../../helpers/exchange.ts'
import { rules } from '../policy/helper.ts'
import type { Clock, Origin } from './origin.ts'
import type { Bench, ClientRequest, ClientResponse, Session } from './play.ts'
import type { Row } from './script.ts'

/** Moves the faked time of day and the monotonic clock together, but for the way back to the begin of a row. */
const clock: Clock = {
  now: () => Date.now(),
  set: (ms) => void (ms > Date.now() ? vi.advanceTimersByTime(ms - Date.now()) : vi.setSystemTime(ms)),
}

/** Creates a body that is whole. */
export const completeBody = (bytes: Buffer): ResponseBody => ({
  isShared: false,
  takeBuffered: () => bytes,
  consume: (sink) => {
    sink.data(bytes)
    sink.end()
  },
  resume: () => {},
  discard: () => {},
})

/** Creates a body that ends in the middle. */
export const truncatedBody = (): ResponseBody => ({
  isShared: false,
  takeBuffered: () => null,
  consume: (sink) => {
    sink.data(Buffer.from('cut'))
    sink.fail(new GatewayError('truncated'))
  },
  resume: () => {},
  discard: () => {},
})

/**
 * Creates a handler that sends to the upstream of a row, as the innermost one does: values come without surrounding
 * blanks.
 */
const originHandler =
  (origin: Origin): Handler =>
  async ({ fields }) => {
    if (origin.isDown) throw new GatewayError('connect-failed')
    const given = origin.receive(fields)
    if (given === 'reset') throw new GatewayError('reset-before-headers')
    if (given === 'truncated')
      return { status: 200, reason: '', fields: ['Cache-Control', 'max-age=60'], body: truncatedBody() }
    const body = Buffer.from(given.body, 'latin1')
    return {
      status: given.status,
      reason: '',
      fields: given.fields.map((text) => text.trim()),
      body: completeBody(body),
    }
  }

/** Replaces the time of day and the monotonic clock, but no timer. */
export const fakeTime = (): void => void vi.useFakeTimers({ toFake: ['Date', 'performance'] })

/** Plays rows on the layer before a scripted handler. Time is `Date`, and no timer waits by it. */
export const layerBench = (): Bench & { close(): void } => {
  fakeTime()
  return {
    clock,
    open: (row, origin) => new LayerSession(row, origin),
    close: () => void vi.useRealTimers(),
  }
}

const site = { publicUrl: null, basePath: '' }

class LayerSession implements Session {
  readonly #row: Row
  readonly #store = new CacheStore(1024 ** 2)
  readonly #parts = new Map<OperationId, CachePartition>()
  readonly #handles = new Map<OperationId, Handler>()
  readonly #next: Handler

  constructor(row: Row, origin: Origin) {
    this.#row = row
    this.#next = originHandler(origin)
  }

  send(request: ClientRequest): Promise<ClientResponse> {
    return sendTo(this.#handle(request.operation), request)
  }

  #handle(operation: ClientRequest['operation']): Handler {
    if (operation === 'inventory.sync')
      return cacheInvalidationLayer(site, (targets) => this.#remove(targets))(this.#next)
    const existing = this.#handles.get(operation)
    if (existing !== undefined) return existing
    const partition = createCachePartition(this.#store, operation)
    this.#parts.set(operation, partition)
    const handle = cacheLayer(rules(this.#row.cache), partition, cacheEvents)(this.#next)
    this.#handles.set(operation, handle)
    return handle
  }

  #remove(targets: readonly InvalidationTarget[]): null {
    for (const { operation, query } of targets) this.#parts.get(operation)?.invalidate(query)
    return null
  }

  async settle(): Promise<void> {
    for (let n = 0; n < 5; n++) await new Promise((resolve) => setImmediate(resolve))
  }
}

/** Sends a request to a handler as a client does, and takes the response as relaying does. */
export const sendTo = async (
  handle: Handler,
  { client, operation, query, fields, body }: ClientRequest,
): Promise<ClientResponse> => {
  const exchange = fakeExchange({
    operation,
    query,
    fields: fields.map((text) => text.trim()),
    authority: 'gateway.test',
    body: fakeBody(body?.length ?? 0),
  })
  if (client !== null) exchange.identity = { client, method: 'apiKey', keyId: null }
  try {
    return await read(await handle(exchange), exchange)
  } catch (error) {
    const { status, fields: own } = GatewayError.from(error)
    return { status, fields: [...own, ...(exchange.addedResponseFields ?? [])], body: '' }
  } finally {
    exchange.finish()
  }
}

/** Events that only operators see; an error of the policy fails the test. */
export const cacheEvents = {
  onError: (error: unknown): void => {
    throw new Error('the policy has thrown', { cause: error })
  },
  onRevalidationFailed: (): void => {},
}

/** Reads a response to its end, as relaying does. */
const read = async (
  { status, fields, body }: ProxyResponse,
  { addedResponseFields: added }: Exchange,
): Promise<ClientResponse> => {
  const whole = body.takeBuffered() ?? (await collected(body))
  return { status, fields: [...fields, ...(added ?? [])], body: whole.toString('latin1') }
}

const collected = (body: ResponseBody): Promise<Buffer> =>
  new Promise((resolve) => {
    const chunks: Buffer[] = []
    const done = (): void => resolve(Buffer.concat(chunks))
    body.consume({ data: (chunk) => chunks.push(chunk) > 0, end: done, fail: done })
  })
