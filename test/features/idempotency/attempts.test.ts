/** What an attempt tells its store, and what it gives back when it ends in another way than by a response. */
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import type { BodySink } from '../../../src/core/exchange/body.ts'
import type { Exchange, Handler, ProxyResponse } from '../../../src/core/exchange/exchange.ts'
import { FailedAttempt, GatewayError } from '../../../src/core/exchange/failures/errors.ts'
import { FairQuota, usualBodyBytes } from '../../../src/core/lib/fair-quota.ts'
import { deadlineLayer } from '../../../src/core/runtime/pipeline/compose-layers.ts'
import { AbandonedAttempts, holdClaim } from '../../../src/features/idempotency/claimed-attempt.ts'
import type { OperationIdempotencyConfig } from '../../../src/features/idempotency/config.ts'
import { idempotencyLayer } from '../../../src/features/idempotency/idempotency.ts'
import type {
  ClaimResult,
  IdempotencyCall,
  IdempotencyStore,
} from '../../../src/features/idempotency/store/idempotency-store.ts'
import { fakeExchange, fakeResponse, untilAborted } from '../../helpers/exchange.ts'
import { createClaim } from './idempotency-claim.ts'

const rules: OperationIdempotencyConfig = {
  ...{ header: 'idempotency-key', required: false, ttl: 86_400_000, maxKey: 255 },
  ...{ maxBody: 65_536, maxResponse: 65_536, wait: 0, onUnknown: 'reject', onStoreFailure: 'reject' },
}

/** A store that says what the test says to a claim, and notes what it is told. */
const openStore = (claimed: () => Promise<ClaimResult | null> = async () => ({ state: 'claimed' })) => {
  const calls: IdempotencyCall[] = []
  const call = (next: IdempotencyCall): Promise<unknown> => {
    calls.push(next)
    return next.type === 'claim' ? claimed() : Promise.resolve(true)
  }
  return { calls, store: { call } as IdempotencyStore }
}

const settlementsOf = (calls: readonly IdempotencyCall[]) =>
  calls.flatMap((call) => (call.type === 'settle' ? [call.settlement] : []))

interface Deps {
  readonly abandoned?: AbandonedAttempts
  readonly responses?: FairQuota
  readonly maxClaimMs?: number
}

const serve = (next: Handler, store: IdempotencyStore, deps: Deps = {}) => {
  const { abandoned = new AbandonedAttempts(), responses = new FairQuota(usualBodyBytes), maxClaimMs = null } = deps
  const rooms = { requests: new FairQuota(usualBodyBytes), responses }
  const usual = { credentialFields: [], maxKeysPerClient: 10 }
  return idempotencyLayer(rules, { ...usual, store, rooms, abandoned, maxClaimMs })(next)
}

/** Counts how many attempts may still go on without their client. */
const roomOf = (abandoned: AbandonedAttempts): number => {
  const added = Array.from(
    { length: 1001 },
    (_, nth) => abandoned.add(fakeExchange({ client: `c ${nth}` })) ?? [],
  ).flat()
  for (const release of added) release()
  return added.length
}

const post = (): Exchange => fakeExchange({ operation: 'valuation.score', fields: ['Idempotency-Key', 'k'] })
const gone = new GatewayError('client-gone')
const cut = new GatewayError('client-gone', { reason: 'shutdown-deadline' })

/** Serves a request until it is sent; its attempt ends with `responded`, or when it is aborted. */
const serveUntilSent = async (
  store: IdempotencyStore,
  abandoned = new AbandonedAttempts(),
  responded: Promise<ProxyResponse> | null = null,
) => {
  const sent = Promise.withResolvers<void>()
  const exchange = post()
  const send: Handler = (own) => {
    own.attempts.count++
    own.attempts.wasSent = true
    sent.resolve()
    return responded ?? untilAborted(own)
  }
  const served = serve(send, store, { abandoned })(exchange)
  await sent.promise
  return { exchange, served }
}

test('a claim waits no longer than the deadline of its operation, and is given back', async () => {
  const { store, calls } = openStore(() => new Promise(() => {}))
  const next = vi.fn()

  const served = serve(next, store, { maxClaimMs: 300 })(post())
  const rejected = expect(served).rejects.toMatchObject({ kind: 'idempotency-unavailable' })
  await vi.advanceTimersByTimeAsync(300)

  await rejected
  expect(settlementsOf(calls)).toEqual([{ state: 'free' }])
  expect(next).not.toHaveBeenCalled()
})

test.each([
  ['free, where the one before was denied', [], 'connect-failed', 'free'],
  ['unknown, where the one before was cut off', ['reset-before-headers'], 'connect-failed', 'unknown'],
  ['unknown, where the last one was cut off itself', [], 'truncated', 'unknown'],
] as const)('a key whose last attempt fails is %s', async (_, before, last, state) => {
  const { store, calls } = openStore()
  const handler = serve(async (own) => {
    own.attempts.wasSent = true
    const failure = new GatewayError(last)
    own.attempts.failed = [...before.map((kind) => new GatewayError(kind)), failure].map(
      (error) => new FailedAttempt('http://a', error, 0),
    )
    throw failure
  }, store)

  await expect(handler(post())).rejects.toMatchObject({ kind: last })

  expect(settlementsOf(calls)).toMatchObject([{ state }])
})

test.each([
  ...[401, 403, 408, 409, 425, 429].map((status) => [status, 'free'] as const),
  ...[200, 303, 404, 422].map((status) => [status, 'done'] as const),
  ...[500, 503].map((status) => [status, 'unknown'] as const),
])('a key whose attempt gets %i is %s', async (status, state) => {
  const { store, calls } = openStore()

  await serve(async () => fakeResponse(status), store)(post())

  expect(settlementsOf(calls)).toMatchObject([{ state }])
})

test('a response for which there is no room was processed all the same, and is not kept', async () => {
  const { store, calls } = openStore()
  const body = { ...fakeResponse().body, takeBuffered: () => Buffer.from('response') }
  const handler = serve(async () => ({ ...fakeResponse(), body }), store, { responses: new FairQuota(0) })

  await expect(handler(post())).rejects.toMatchObject({ kind: 'overloaded' })

  expect(settlementsOf(calls)).toMatchObject([{ state: 'done', response: null }])
})

/** Responds with a body of which `begin` gives the beginning; the end does not come. */
const unfinished =
  (begin: (sink: BodySink) => void): Handler =>
  async (own) => {
    const consume = (sink: BodySink): void => {
      own.setAbortListener((reason) => sink.fail(reason))
      begin(sink)
    }
    return { ...fakeResponse(), body: { ...fakeResponse().body, takeBuffered: () => null, consume } }
  }

test('the deadline lasts until the body was read, and leaves the outcome unknown', async () => {
  const { store, calls } = openStore()
  const failed = vi.fn()
  const dripping = unfinished((sink) => sink.data(Buffer.from('a')))

  serve(deadlineLayer(1000)(dripping), store)(post()).catch(failed)
  await vi.advanceTimersByTimeAsync(1001)

  expect(failed).toHaveBeenCalledWith(expect.objectContaining({ kind: 'deadline-exceeded' }))
  expect(settlementsOf(calls)).toMatchObject([{ state: 'unknown' }])
})

test('the deadline does not end a response that is too long to be kept, once its head goes on', async () => {
  const { store, calls } = openStore()
  const ended = vi.fn()
  const long = unfinished((sink) => sink.data(Buffer.alloc(rules.maxResponse + 1)))

  const response = await serve(deadlineLayer(1000)(long), store)(post())
  response.body.consume({ data: () => true, end() {}, fail: ended })
  await vi.advanceTimersByTimeAsync(10_000)

  expect(response.status).toBe(200)
  expect(settlementsOf(calls)).toMatchObject([{ state: 'done', response: null }])
  expect(ended).not.toHaveBeenCalled()
})

test.each([
  ['', [true]],
  ['again when the store cannot be told at first', [null, null, true]],
])('a claim that comes after its client has left is given back %s, and nothing is forwarded', async (_, settled) => {
  const claimed = Promise.withResolvers<ClaimResult>()
  const calls: IdempotencyCall[] = []
  const replies = [...settled]
  const call = async (query: IdempotencyCall): Promise<unknown> => {
    calls.push(query)
    return query.type === 'claim' ? claimed.promise : replies.shift()
  }
  const [next, exchange] = [vi.fn(), post()]
  const served = serve(next, { call } as IdempotencyStore)(exchange)
  await vi.waitFor(() => expect(calls).toHaveLength(1))

  exchange.abort(gone)
  claimed.resolve({ state: 'claimed' })
  await expect(served).rejects.toBe(gone)
  await vi.advanceTimersByTimeAsync(60_000)

  expect(settlementsOf(calls)).toEqual(settled.map(() => ({ state: 'free' })))
  expect(next).not.toHaveBeenCalled()
})

test('an attempt that went on without its client makes room for another when it ends', async () => {
  const { store, calls } = openStore()
  const responded = Promise.withResolvers<ProxyResponse>()
  const abandoned = new AbandonedAttempts()
  const { exchange, served } = await serveUntilSent(store, abandoned, responded.promise)
  exchange.abort(gone)
  await expect(served).rejects.toBe(gone)
  const roomMeanwhile = roomOf(abandoned)

  responded.resolve(fakeResponse())
  await vi.waitFor(() => expect(settlementsOf(calls)).toMatchObject([{ state: 'done' }]))

  expect(roomMeanwhile).toBe(998)
  await vi.waitFor(() => expect(roomOf(abandoned)).toBe(999))
})

test.each([
  ['leaves where no more attempts may go on', 0, gone],
  ['the gateway cuts off', 1, cut],
])('the record of a client that %s has the attempt that ends with it', async (_, room, reason) => {
  const { store, calls } = openStore()
  const abandoned = new AbandonedAttempts()
  for (let nth = roomOf(abandoned); nth > room; nth--) abandoned.add(fakeExchange({ client: `c ${nth}` }))
  const { exchange, served } = await serveUntilSent(store, abandoned)

  exchange.abort(reason)

  expect([exchange.attempts.count, exchange.outcome?.outcome]).toEqual([1, 'unknown'])
  await expect(served).rejects.toBe(reason)
  expect([exchange.attempts.count, settlementsOf(calls)]).toMatchObject([1, [{ state: 'unknown' }]])
})

test('attempts that go on without their client are cut off at the end of the gateway, and settled', async () => {
  const { store, calls } = openStore()
  const abandoned = new AbandonedAttempts()
  const { exchange, served } = await serveUntilSent(store, abandoned)
  exchange.abort(gone)
  await expect(served).rejects.toBe(gone)
  const roomMeanwhile = roomOf(abandoned)

  abandoned.cut()

  await vi.waitFor(() => expect(roomOf(abandoned)).toBe(roomMeanwhile + 1))
  expect(settlementsOf(calls)).toMatchObject([{ state: 'unknown' }])
})

const renewalMs = 5000

beforeEach(() => vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] }))
afterEach(() => vi.useRealTimers())

test.each<[string, boolean | null, number]>([
  ['that does not reply is asked again, since the attempt may still be held', null, 3],
  ['that says that the attempt is no longer held is not asked again', false, 1],
])('of renewals, a store %s', async (_, reply, times) => {
  const calls: string[] = []
  const call = async ({ type }: IdempotencyCall): Promise<boolean | null> => {
    calls.push(type)
    return type === 'renew' ? reply : true
  }
  const settle = holdClaim({ call } as unknown as IdempotencyStore, createClaim())

  await vi.advanceTimersByTimeAsync(3 * renewalMs)
  const renewed = calls.length
  await settle({ state: 'free' })
  await vi.advanceTimersByTimeAsync(3 * renewalMs)

  expect(renewed).toBe(times)
  expect(calls).toEqual([...Array(times).fill('renew'), 'settle'])
})
