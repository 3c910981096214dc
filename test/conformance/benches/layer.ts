import { vi } from 'vitest'
import type { Exchange, Handler, ProxyResponse, ResponseBody } from '../../../src/exchange.ts'
import { GatewayError } from '../../../src/failures/errors.ts'
import { cacheLayer } from '../../../src/layers/cache/cache.ts'
import { CacheStore } from '../../../src/layers/cache/cache-store.ts'
import { cacheInvalidationLayer, type InvalidationTarget } from '../../../src/layers/cache/invalidation.ts'
import type { CachePartition } from '../../../src/layers/cache/partition.ts'
import type { OperationId } from '../../../src/operations.ts'
import { fakeBody, fakeExchange } from '../../helpers/exchange.ts'
import type { Origin } from '../origin.ts'
import type { Asked, Bench, Got, Session } from '../play.ts'
import type { Row } from '../row.ts'
import { arrived, cut } from './bodies.ts'
import { rulesOf } from './rules.ts'

/** Sends to the upstream of a row, as the innermost handle does: values come without the blanks around them. */
const sending =
  (origin: Origin): Handler =>
  async ({ fields }) => {
    if (origin.gone) throw new GatewayError('connect-failed')
    const given = origin.receive(fields)
    if (given === 'reset') throw new GatewayError('reset-before-headers')
    if (given === 'truncated') return { status: 200, reason: '', fields: ['Cache-Control', 'max-age=60'], body: cut() }
    const body = Buffer.from(given.body, 'latin1')
    return { status: given.status, reason: '', fields: given.fields.map((text) => text.trim()), body: arrived(body) }
  }

/** Plays rows on the layer before an innermost handle that is a script. Time is `Date`, which nothing waits by. */
export const layerBench = (): Bench & { close(): void } => {
  vi.useFakeTimers({ toFake: ['Date'] })
  return {
    name: 'layer',
    clock: { now: () => Date.now(), set: (ms) => void vi.setSystemTime(ms) },
    eventual: false,
    open: async (row, origin) => new Layered(row, origin),
    close: () => void vi.useRealTimers(),
  }
}

const site = { publicUrl: null, basePath: '' }

class Layered implements Session {
  readonly #row: Row
  readonly #store = new CacheStore(1024 ** 2)
  readonly #parts = new Map<OperationId, CachePartition>()
  readonly #handles = new Map<OperationId, Handler>()
  readonly #next: Handler

  constructor(row: Row, origin: Origin) {
    this.#row = row
    this.#next = sending(origin)
  }

  ask(asked: Asked): Promise<Got> {
    return askOf(this.#handle(asked.operation), asked)
  }

  #handle(operation: Asked['operation']): Handler {
    if (operation === 'inventory.sync')
      return cacheInvalidationLayer(site, (targets) => this.#remove(targets))(this.#next)
    const made = this.#handles.get(operation)
    if (made !== undefined) return made
    const part = this.#store.openPartition(operation)
    this.#parts.set(operation, part)
    const handle = cacheLayer(rulesOf(this.#row.cache), part, notices)(this.#next)
    this.#handles.set(operation, handle)
    return handle
  }

  #remove(targets: readonly InvalidationTarget[]): void {
    for (const { operation, query } of targets) this.#parts.get(operation)?.invalidate(query)
  }

  async settle(): Promise<void> {
    for (let n = 0; n < 5; n++) await new Promise((resolve) => setImmediate(resolve))
  }
}

/** Asks a handle as a client does, and takes what comes of it as relaying does. */
export const askOf = async (handle: Handler, { client, operation, query, fields, body }: Asked): Promise<Got> => {
  const exchange = fakeExchange({
    operation,
    query,
    fields: fields.map((text) => text.trim()),
    authority: 'gateway.test',
    body: fakeBody(body?.length ?? 0),
  })
  if (client !== null) exchange.identity = { client, method: 'apiKey' }
  try {
    return await read(await handle(exchange), exchange)
  } catch (error) {
    const { status, fields: own } = GatewayError.from(error)
    return { status, fields: [...own, ...(exchange.addedResponseFields ?? [])], body: '' }
  } finally {
    exchange.finish()
  }
}

/** Hears what no client is told, and lets nothing of it pass. */
export const notices = {
  onError: (error: unknown): void => {
    throw new Error('the policy has thrown', { cause: error })
  },
  onRevalidationFailed: (): void => {},
}

/** Reads an answer to its end, as relaying does. */
const read = async (
  { status, fields, body }: ProxyResponse,
  { addedResponseFields: answerFields }: Exchange,
): Promise<Got> => {
  const whole = body.takeBuffered() ?? (await collected(body))
  return { status, fields: [...fields, ...(answerFields ?? [])], body: whole.toString('latin1') }
}

const collected = (body: ResponseBody): Promise<Buffer> =>
  new Promise((resolve) => {
    const chunks: Buffer[] = []
    const done = (): void => resolve(Buffer.concat(chunks))
    body.consume({ data: (chunk) => chunks.push(chunk) > 0, end: done, fail: done })
  })
