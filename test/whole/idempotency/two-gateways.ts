/** Two gateways with one store, which can fail, and clients that repeat themselves. */

import type { RequestBody } from '../../../src/core/exchange/body.ts'
import { compose, type Exchange, type Handler, type ProxyResponse } from '../../../src/core/exchange/exchange.ts'
import { GatewayError } from '../../../src/core/exchange/failures/errors.ts'
import type { FailureKind } from '../../../src/core/exchange/failures/failure-table.ts'
import { now, sleep } from '../../../src/core/lib/clock.ts'
import { FairQuota, usualBodyBytes } from '../../../src/core/lib/fair-quota.ts'
import { deadlineLayer } from '../../../src/core/runtime/pipeline/compose-layers.ts'
import { AbandonedAttempts } from '../../../src/features/idempotency/claimed-attempt.ts'
import { idempotencyLayer } from '../../../src/features/idempotency/idempotency.ts'
import type { IdempotencyStore } from '../../../src/features/idempotency/store/idempotency-store.ts'
import { MemoryIdempotencyStore } from '../../../src/features/idempotency/store/memory-idempotency-store.ts'
import { retryLayer } from '../../../src/features/retry/layer.ts'
import { createRetryBudget } from '../../../src/features/retry/runtime.ts'
import type { OperationId } from '../../../src/operations.ts'
import { ScriptedUpstream } from '../../features/idempotency/scripted-upstream.ts'
import { retryConfig } from '../../features/retry/helper.ts'
import { type FakeBody, fakeBody, fakeExchange } from '../../helpers/exchange.ts'

export const ttlMs = 120_000

/** How a call of the store fails. Lost: it took effect. Late: it takes effect 3 s later. Slow: its reply takes 1 s. */
export type StoreFault = 'unsent' | 'lost' | 'late' | 'slow'

/** What a client sends. */
export interface Wanted {
  readonly client: string
  readonly operation: OperationId
  readonly key: string
  readonly body: string
  readonly size: 'small' | 'long' | 'endless'
}

/** What a client got. */
export type Got =
  | { readonly status: number; readonly reason: string; readonly fields: readonly string[]; readonly text: string }
  | { readonly failure: FailureKind }

/** One request of a client, and what came of it. */
export interface Sent {
  readonly requestId: string
  readonly wanted: Wanted
  readonly startedAt: number
  /** Whether a call of the store failed, or its gateway stood still, since it began. */
  isDisturbed: boolean
  readonly gateway: ModelGateway
  readonly exchange: Exchange
  /** Ends the body when the client leaves. */
  readonly stopBody: () => void
  got: Got | null
  endedAt: number
}

/** One gateway. While it stands still, it does nothing, and hears nothing. */
export class ModelGateway {
  readonly faults: StoreFault[] = []
  readonly abandoned = new AbandonedAttempts()
  readonly room = new FairQuota(usualBodyBytes)
  readonly handlers: Readonly<Record<string, Handler>>
  #stopped: PromiseWithResolvers<void> | null = null

  constructor(memory: MemoryIdempotencyStore, upstream: ScriptedUpstream, onDisturbed: () => void) {
    const call = async (query: Parameters<IdempotencyStore['call']>[0]): Promise<unknown> => {
      await this.running
      const fault = this.faults.shift()
      if (fault !== undefined) onDisturbed()
      if (fault === 'late') setTimeout(() => void memory.reply(query), 3000)
      const reply = fault === 'unsent' || fault === 'late' ? null : memory.reply(query)
      if (fault === 'slow') await sleep(1000)
      await this.running
      return fault === 'lost' ? null : reply
    }
    const store: IdempotencyStore = { call: call as IdempotencyStore['call'] }
    const handle = (operation: OperationId, wait: number): Handler => {
      const rules = {
        ...{ header: 'idempotency-key', required: true, ttl: ttlMs, maxKey: 255, maxBody: 1024, maxResponse: 1024 },
        ...({ wait, onUnknown: 'reject', onStoreFailure: 'reject' } as const),
      }
      const deps = {
        ...{ store, rooms: { requests: this.room, responses: this.room }, abandoned: this.abandoned },
        ...{ credentialFields: ['authorization'], maxKeysPerClient: 100, maxClaimMs: null },
      }
      const send = upstream.send(
        (exchange) => nameOf(exchange.client, operation, keyOf(exchange)),
        () => this.running,
      )
      const budget = createRetryBudget({ share: 1, floor: 1000 })
      const retries = retryLayer(retryConfig(), budget, { safe: false, keyField: null })
      return compose([idempotencyLayer(rules, deps), deadlineLayer(4000), retries], send)
    }
    this.handlers = {
      'valuation.score': handle('valuation.score', 0),
      'inventory.sync': handle('inventory.sync', 2000),
    }
  }

  /** Resolves once the gateway runs. */
  get running(): Promise<void> | undefined {
    return this.#stopped?.promise
  }

  stop(): void {
    this.#stopped ??= Promise.withResolvers<void>()
  }

  resume(): void {
    this.#stopped?.resolve()
    this.#stopped = null
  }
}

/** Two gateways, one store, one upstream. */
export class World {
  readonly memory = new MemoryIdempotencyStore({ maxEntries: 1000, maxBytes: 1024 ** 2 })
  readonly upstream = new ScriptedUpstream()
  readonly sent: Sent[] = []
  readonly gateways: readonly ModelGateway[] = [0, 1].map(
    () => new ModelGateway(this.memory, this.upstream, () => this.disturb()),
  )

  /** Notes that what happens now is no longer what a client may rely on. */
  disturb(): void {
    for (const each of this.sent) if (each.got === null) each.isDisturbed = true
  }

  send(gateway: ModelGateway, wanted: Wanted): Sent {
    const requestId = `r-${this.sent.length}`
    const { body, stopBody } = bodyOf(wanted)
    const { client, operation, key } = wanted
    const exchange = fakeExchange({ requestId, operation, client, fields: ['Idempotency-Key', key], body })
    const isDisturbed = gateway.running !== undefined
    const known = { requestId, wanted, startedAt: now(), gateway, exchange, stopBody }
    const sent: Sent = { ...known, isDisturbed, got: null, endedAt: 0 }
    this.sent.push(sent)
    const end = (got: Got): void => {
      sent.got = got
      sent.endedAt = now()
      exchange.finish()
    }
    void (async () => {
      try {
        await gateway.running
        const got = await readResponse(await (gateway.handlers[wanted.operation] as Handler)(exchange))
        end(exchange.aborted === null ? got : { failure: exchange.aborted.kind })
      } catch (error) {
        end({ failure: GatewayError.from(error).kind })
      }
    })()
    return sent
  }

  /** Lets a client go: its gateway hears of it when it runs. */
  async leave({ gateway, exchange, stopBody }: Sent): Promise<void> {
    await gateway.running
    exchange.abort(new GatewayError('client-gone'))
    stopBody()
  }
}

/** Names what is to happen once. */
export const nameOf = (client: string, operation: string, key: string): string => [client, operation, key].join(' ')

const keyOf = ({ fields }: Exchange): string => fields[fields.indexOf('Idempotency-Key') + 1] as string

const readResponse = async ({ status, reason, fields, body }: ProxyResponse): Promise<Got> => {
  const whole = body.takeBuffered()
  if (whole !== null) return { status, reason, fields, text: whole.toString() }
  const chunks: Buffer[] = []
  await new Promise<void>((resolve, reject) =>
    body.consume({ data: (chunk) => chunks.push(chunk) > 0, end: resolve, fail: reject }),
  )
  return { status, reason, fields, text: Buffer.concat(chunks).toString() }
}

const bodyOf = ({ body, size }: Wanted): { readonly body: RequestBody; readonly stopBody: () => void } => {
  const bytes = Buffer.from(body)
  if (size !== 'small') return longBody(bytes, size === 'endless')
  const small = { ...fakeBody(bytes.length), received: true, read: () => Promise.resolve([bytes]) }
  return { body: small, stopBody: () => {} }
}

/** A body over maxBody, in two pieces; the second of an endless one never comes. */
const longBody = (bytes: Buffer, isEndless: boolean): ReturnType<typeof bodyOf> => {
  const stopped = Promise.withResolvers<never>()
  stopped.promise.catch(() => {})
  const stop = (): void => stopped.reject(new GatewayError('client-gone'))
  const body: FakeBody = {
    ...fakeBody(null),
    read: () => Promise.reject(new Error('a long body streams')),
    stream: () => ({
      stop,
      async *[Symbol.asyncIterator]() {
        body.started = true
        body.onStarted?.()
        const first = Buffer.alloc(1500, bytes)
        body.onData?.(first)
        yield first
        if (isEndless) await stopped.promise
        body.received = true
        body.onReceived?.()
        body.onData?.(bytes)
        yield bytes
        body.onData?.(null)
      },
    }),
  }
  return { body, stopBody: stop }
}
