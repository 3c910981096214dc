import { setImmediate } from 'node:timers/promises'
import { vi } from 'vitest'
import { ResponseBodyQueue } from '../../../../src/core/exchange/bodies/response-bodies.ts'
import type { RequestBody } from '../../../../src/core/exchange/body.ts'
import type { Exchange, Handler, Layer, ProxyResponse } from '../../../../src/core/exchange/exchange.ts'
import { GatewayError } from '../../../../src/core/exchange/failures/errors.ts'
import type { FailureKind } from '../../../../src/core/exchange/failures/failure-table.ts'
import { type ShadowOptions, shadowLayer } from '../../../../src/features/candidate/layers/shadow.ts'
import { createShadowCopies } from '../../../../src/features/candidate/layers/shadow-copies.ts'
import type {
  OnShadowPair,
  ShadowedRequest,
  ShadowResponse,
} from '../../../../src/features/candidate/observe/compare/comparison.ts'
import { createDeferredWork } from '../../../../src/features/contract/check-queue.ts'
import { fakeBody, fakeExchange } from '../../../helpers/exchange.ts'

export const kib = 1024

/** A response of which the whole body has come. */
export const sendResponse = (text = 'ok', status = 200, fields: readonly string[] = []): ProxyResponse => {
  const body = new ResponseBodyQueue({ pause: () => {}, resume: () => {}, cancel: () => {} })
  if (text !== '') body.push(Buffer.from(text))
  body.end()
  return { status, reason: '', fields, body }
}

/** A body of a response that a test moves along by hand. */
export const streamed = () => {
  const [pause, resume, cancel] = [vi.fn(), vi.fn(), vi.fn()]
  const body = new ResponseBodyQueue({ pause, resume, cancel })
  return {
    body,
    pause,
    resume,
    cancel,
    push(count: number): void {
      for (let i = 0; i < count; i++) body.push(Buffer.alloc(kib, 'x'))
    },
    response: (status = 200): ProxyResponse => ({ status, reason: '', fields: [], body }),
  }
}

export const sending =
  (respond: (exchange: Exchange) => ProxyResponse | Promise<ProxyResponse> = () => sendResponse()): Handler =>
  async (exchange) => {
    exchange.onSent?.()
    return respond(exchange)
  }

export const responding = (...of: Parameters<typeof sendResponse>): Handler => sending(() => sendResponse(...of))

export const failing = (kind: FailureKind): Handler =>
  sending(() => {
    throw new GatewayError(kind)
  })

interface Pair {
  /** The bytes are copied: they are freed when the callback returns. */
  readonly primary: ShadowResponse
  readonly candidate: ShadowResponse
  readonly request: ShadowedRequest
}

export interface Shadowing extends Partial<Omit<ShadowOptions, 'onPair' | 'copies'>> {
  readonly concurrency?: number
  readonly maxBytes?: number
  /** Null: responses are not compared. */
  readonly onPair?: OnShadowPair | null
}

/** Creates the layer with a candidate that notes what it gets. */
export const shadowing = ({
  concurrency = 10,
  maxBytes = 1024 * kib,
  onPair,
  send = sending(),
  ...more
}: Shadowing = {}) => {
  const pairs: Pair[] = []
  const copied: Exchange[] = []
  const errors: unknown[] = []
  const deferred = () => createDeferredWork((error) => errors.push(error))
  const copies = createShadowCopies(deferred(), deferred())
  copies.applyBounds({ concurrency, maxBytes })
  const keep = ({ body, ...rest }: ShadowResponse): ShadowResponse => ({
    ...rest,
    body: { ...body, bytes: body.bytes && Buffer.from(body.bytes) },
  })
  const note: OnShadowPair = (primary, candidate, request) => {
    pairs.push({ primary: keep(primary), candidate: keep(candidate), request })
  }
  const layer = shadowLayer({
    ...{ sample: 1, timeout: 30_000, maxBody: 100 * kib, requestIdField: 'x-request-id' },
    ...{ marker: 'X-Shadow', credentials: 'remove' as const, credentialFields: [], keptFields: [], repeats: null },
    isUp: () => true,
    ...more,
    copies,
    send: noting(copied, send),
    onPair: onPair === undefined ? note : onPair,
  })
  /** The copies under way, and the memory that they take. */
  const held = () => [copies.report().underWay, copies.room.used]
  return { layer, copies, pairs, copied, errors, held, counts: copies.counts }
}

export const noting =
  (list: Exchange[], send: Handler): Handler =>
  (exchange) => {
    list.push(exchange)
    return send(exchange)
  }

/** Takes a response as a client does; resolves to the body, or to how it failed. */
export const take = ({ body }: ProxyResponse): Promise<string> =>
  new Promise((resolve) => {
    const whole = body.takeBuffered()
    if (whole !== null) return resolve(whole.toString())
    let text = ''
    body.consume({
      data: (chunk) => {
        text += chunk.toString()
        return true
      },
      end: () => resolve(text),
      fail: ({ kind }) => resolve(kind),
    })
  })

/** Sends one request to a slow primary and a fast candidate, each of which the test moves along. */
export const openStreams = async (options: Shadowing = {}) => {
  const [primary, candidate] = [streamed(), streamed()]
  const own = shadowing({ ...options, send: sending(() => candidate.response()) })
  const text = take(await own.layer(sending(() => primary.response()))(fakeExchange()))
  await settled()
  return { ...own, primary, candidate, text }
}

/** Waits until everything is over that needs no more than turns of the event loop. */
export const settled = async (): Promise<void> => {
  for (let i = 0; i < 20; i++) await setImmediate()
}

/** Sends one request, takes the response as a client does, and waits until all is over; returns the body. */
export const serve = async (layer: Layer, primary: Handler = sending(), request = fakeExchange()): Promise<string> => {
  const text = await take(await layer(primary)(request))
  await settled()
  return text
}

export const post = (body: RequestBody) => fakeExchange({ operation: 'valuation.score', body })

export const bodyOf = async ({ body }: Exchange): Promise<string> => Buffer.concat([...(await body.read())]).toString()

export const streaming = (length: number | null = null) => ({ ...fakeBody(length), replayable: false })
