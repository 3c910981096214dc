import { describe, expect, test } from 'vitest'
import type { Exchange } from '../../../src/core/exchange/exchange.ts'
import { GatewayError } from '../../../src/core/exchange/failures/errors.ts'
import type { RateLimiter } from '../../../src/core/lib/token-bucket.ts'
import {
  addressRateLimitLayer,
  clientConcurrencyLimitLayer,
  clientRateLimitLayer,
  concurrencyLimitLayer,
  rateLimitFields,
} from '../../../src/features/limits/limits.ts'
import { memoryLimiter } from '../../../src/features/limits/rate-limiters.ts'
import { fakeExchange, fakeNext } from '../../helpers/exchange.ts'

type Handle = (exchange: Exchange) => Promise<{ readonly status: number }>

/** Sends exchanges, one after another, and returns how each ended: its status, or the error and its fields. */
const send = async (handle: Handle, exchanges: readonly Exchange[]): Promise<unknown[]> => {
  const outcomes: unknown[] = []
  for (const exchange of exchanges)
    outcomes.push(
      await handle(exchange).then(
        ({ status }) => status,
        ({ kind, fields }: GatewayError) => [kind, ...fields],
      ),
    )
  return outcomes
}

const rejected = ['rate-limited', 'Retry-After', '60']

describe('the rate of an address', () => {
  const limit = { policy: 'address', perMs: 1 / 60_000, burst: 2 }
  const from = (...clients: readonly string[]) => clients.map((client) => fakeExchange({ client }))

  test('a request over the limit is rejected, and never sent; every response names the remaining quota', async () => {
    const next = fakeNext()
    const exchanges = from('192.0.2.1', '192.0.2.1', '192.0.2.1', '192.0.2.2')

    const outcomes = await send(addressRateLimitLayer(memoryLimiter(limit), 64)(next), exchanges)

    expect(outcomes).toEqual([200, 200, rejected, 200])
    expect(next.calls).toBe(3)
    const policy = ['RateLimit-Policy', '"address";q=2;w=120', 'RateLimit']
    expect(exchanges.map(({ addedResponseFields }) => addedResponseFields)).toEqual(
      [1, 0, 0, 1].map((left) => [...policy, `"address";r=${left};t=60`]),
    )
  })

  test('the addresses of one IPv6 network share a bucket', async () => {
    const exchanges = from('2001:db8::1', '2001:db8::2', '2001:db8::3', '2001:db8:0:1::1')

    const outcomes = await send(addressRateLimitLayer(memoryLimiter(limit), 64)(fakeNext()), exchanges)

    expect(outcomes).toEqual([200, 200, rejected, 200])
  })

  test('a limiter may be asynchronous', async () => {
    const limiter: RateLimiter = { limit, consume: async (key) => (key === '192.0.2.1' ? 1 : -2) }

    const outcomes = await send(addressRateLimitLayer(limiter, 64)(fakeNext()), from('192.0.2.1', '192.0.2.2'))

    expect(outcomes).toEqual([200, rejected])
  })
})

const exchangeOf = (client: string | null): Exchange => {
  const exchange = fakeExchange()
  exchange.identity = client === null ? null : { client, method: 'apiKey', keyId: null }
  return exchange
}

describe('the limits of a client', () => {
  const limit = { policy: 'client', perMs: 1 / 60_000, burst: 2 }

  test('each client is counted by itself, and one without a rate not at all', async () => {
    const limiter = memoryLimiter(limit)
    const handle = clientRateLimitLayer((client) => (client === 'free' ? undefined : limiter))(fakeNext())

    const outcomes = await send(handle, ['a', 'a', 'a', 'b', 'free', 'free', 'free', null].map(exchangeOf))

    expect(outcomes).toEqual([200, 200, rejected, 200, 200, 200, 200, 200])
  })

  test('the fields of the client limit stand behind those of the address limit', async () => {
    const exchange = exchangeOf('a')
    const before = ['RateLimit', '"address";r=1;t=1']
    exchange.addedResponseFields = before
    const slow: RateLimiter = { limit, consume: async () => 1 }

    await clientRateLimitLayer(() => slow)(fakeNext())(exchange)

    expect(exchange.addedResponseFields).toEqual([
      ...before,
      ...['RateLimit-Policy', '"client";q=2;w=120', 'RateLimit', '"client";r=1;t=60'],
    ])
  })

  test('a client has so many in flight and no more, until one ends; others are unaffected', async () => {
    const inFlight = new Map<string, number>()
    const handle = clientConcurrencyLimitLayer((client) => (client === 'free' ? null : 2), inFlight)(fakeNext())
    const exchanges = ['a', 'a', 'a', 'b', 'free'].map(exchangeOf)

    const outcomes = await send(handle, exchanges)
    exchanges[0]?.finish()
    exchanges[3]?.finish()

    expect(outcomes).toEqual([200, 200, ['rate-limited', 'Retry-After', '1'], 200, 200])
    expect([...inFlight]).toEqual([['a', 1]])
    expect(await send(handle, [exchangeOf('a')])).toEqual([200])
  })
})

test.each([
  [
    'in all',
    () => {
      const count = { inFlight: 0 }
      return { layer: concurrencyLimitLayer(2, count, 'limits-concurrency'), running: () => count.inFlight }
    },
  ],
  [
    'of a client',
    () => {
      const inFlight = new Map<string, number>()
      return { layer: clientConcurrencyLimitLayer(() => 2, inFlight), running: () => inFlight.get('a') }
    },
  ],
])('a failed exchange gives its place %s back at once, and only once', async (_, open) => {
  const { layer, running } = open()
  await layer(fakeNext())(exchangeOf('a'))
  const exchange = exchangeOf('a')

  const failed = layer(fakeNext(() => Promise.reject(new GatewayError('connect-failed'))))(exchange)
  await expect(failed).rejects.toMatchObject({ kind: 'connect-failed' })
  exchange.releaseSlots()
  const whileItsErrorIsSent = running()
  exchange.finish()

  expect([whileItsErrorIsSent, running()]).toEqual([1, 1])
})

describe('what is in flight', () => {
  const handlerOf = (max: number, count = { inFlight: 0 }, next = fakeNext()) =>
    concurrencyLimitLayer(max, count, 'limits-concurrency')(next)

  /** Sends so many exchanges, and returns those that are let in; the others are told to come again. */
  const letIn = async (handle: Handle, many: number): Promise<readonly Exchange[]> => {
    const exchanges = Array.from({ length: many }, () => fakeExchange())
    const outcomes = await send(handle, exchanges)
    for (const outcome of outcomes) expect([200, ['overloaded', 'Retry-After', '1']]).toContainEqual(outcome)
    return exchanges.filter((_, nth) => outcomes[nth] === 200)
  }

  test('the excess is rejected, and never sent; a response whose end has not been taken still counts', async () => {
    const next = fakeNext()
    const handle = handlerOf(3, undefined, next)

    const served = await letIn(handle, 5)
    const calls = next.calls
    served[0]?.finish()

    expect([served.length, calls, (await letIn(handle, 2)).length]).toEqual([3, 3, 1])
  })

  test('an exchange whose client left before it came this far does not count', async () => {
    const count = { inFlight: 0 }
    const exchange = fakeExchange()
    exchange.finish()

    await handlerOf(1, count)(exchange)

    expect(count.inFlight).toBe(0)
  })

  test('a new limit on the same count holds at once, also for what began before it', async () => {
    const count = { inFlight: 0 }
    const began = await letIn(handlerOf(5, count), 5)
    const narrower = handlerOf(2, count)

    const none = await letIn(narrower, 1)
    for (const exchange of began.slice(0, 4)) exchange.finish()

    expect([none.length, (await letIn(narrower, 3)).length]).toEqual([0, 1])
  })
})

describe('the fields of a rate', () => {
  const fast = { policy: 'address', perMs: 100 / 1000, burst: 250 }
  const slow = { policy: 'address', perMs: 1 / 60_000, burst: 3 }

  test('the policy states the burst and the time in which it is there again', () => {
    expect(rateLimitFields(fast).render(1).slice(0, 2)).toEqual(['RateLimit-Policy', '"address";q=250;w=3'])
  })

  test.each([
    [fast, 101.5, '"address";r=148;t=1'],
    [slow, 1.25, '"address";r=1;t=15'],
    [slow, 3, '"address";r=0;t=60'],
    [slow, -2.5, '"address";r=0;t=30'],
  ])('the limit states what is left and when there is one more: of %j after %d, %s', (limit, used, field) => {
    expect(rateLimitFields(limit).render(used).slice(2)).toEqual(['RateLimit', field])
  })

  test.each([
    [fast, -250, '1'],
    [slow, -2.5, '30'],
    [{ ...slow, burst: 2 }, -1.51, '31'],
  ])(
    'a rejection says when to retry, whole seconds, rounded up, at least one: of %j after %d, %s',
    (limit, used, after) => {
      expect(rateLimitFields(limit).retryAfter(used)).toEqual(['Retry-After', after])
    },
  )
})
