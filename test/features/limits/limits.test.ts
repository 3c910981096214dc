import fc from 'fast-check'
import { parseList, serializeList } from 'structured-headers'
import { describe, expect, test } from 'vitest'
import type { Exchange } from '../../../src/core/exchange/exchange.ts'
import { GatewayError } from '../../../src/core/exchange/failures/errors.ts'
import { type RateLimiter, remainingTokens } from '../../../src/core/lib/token-bucket.ts'
import {
  addressRateLimitLayer,
  clientConcurrencyLimitLayer,
  clientRateLimitLayer,
  concurrencyLimitLayer,
  rateLimitFields,
} from '../../../src/features/limits/limits.ts'
import { memoryLimiter } from '../../../src/features/limits/rate-limiters.ts'
import { fakeExchange, fakeNext } from '../../helpers/exchange.ts'

describe('the rate of an address', () => {
  const limit = { policy: 'address', perMs: 1 / 60_000, burst: 2 }

  /** Sends requests from these addresses, one after another, and returns how each ended. */
  const sendFrom = async (limiter: RateLimiter, clients: readonly string[]) => {
    const next = fakeNext()
    const handle = addressRateLimitLayer(limiter, 64)(next)
    const ended: { readonly outcome: number | readonly string[]; readonly fields: readonly string[] | null }[] = []
    for (const client of clients) {
      const exchange = fakeExchange({ client })
      const outcome = await handle(exchange).then(
        ({ status }) => status,
        (error: GatewayError) => [error.kind, ...error.fields],
      )
      ended.push({ outcome, fields: exchange.addedResponseFields })
    }
    return { ended, calls: next.calls }
  }

  test('a request over the limit is rejected, and never sent', async () => {
    const { ended, calls } = await sendFrom(memoryLimiter(limit), ['192.0.2.1', '192.0.2.1', '192.0.2.1', '192.0.2.2'])

    expect(ended.map(({ outcome }) => outcome)).toEqual([200, 200, ['rate-limited', 'Retry-After', '60'], 200])
    expect(calls).toBe(3)
  })

  test('every response names the remaining quota, a rejection too', async () => {
    const { ended } = await sendFrom(memoryLimiter(limit), ['192.0.2.1', '192.0.2.1', '192.0.2.1'])

    const policy = ['RateLimit-Policy', '"address";q=2;w=120', 'RateLimit']
    expect(ended.map(({ fields }) => fields)).toEqual([
      [...policy, '"address";r=1;t=60'],
      [...policy, '"address";r=0;t=60'],
      [...policy, '"address";r=0;t=60'],
    ])
  })

  test('the addresses of one IPv6 network share a bucket', async () => {
    const { ended } = await sendFrom(memoryLimiter(limit), [
      '2001:db8::1',
      '2001:db8::2',
      '2001:db8::3',
      '2001:db8:0:1::1',
    ])

    expect(ended.map(({ outcome }) => typeof outcome)).toEqual(['number', 'number', 'object', 'number'])
  })

  test('a limiter may be asynchronous', async () => {
    const limiter: RateLimiter = { limit, consume: async (key) => (key === '192.0.2.1' ? 1 : -2) }

    const { ended } = await sendFrom(limiter, ['192.0.2.1', '192.0.2.2'])

    expect(ended.map(({ outcome }) => outcome)).toEqual([200, ['rate-limited', 'Retry-After', '60']])
  })
})

describe('the limits of a client', () => {
  const limit = { policy: 'client', perMs: 1 / 60_000, burst: 2 }

  const createExchange = (client: string | null): Exchange => {
    const exchange = fakeExchange()
    exchange.identity = client === null ? null : { client, method: 'apiKey', keyId: null }
    return exchange
  }

  const toOutcome = (error: GatewayError): readonly string[] => [error.kind, ...error.fields]

  test('each client is counted by itself, and one without a rate not at all', async () => {
    const limiter = memoryLimiter(limit)
    const handle = clientRateLimitLayer((client) => (client === 'free' ? undefined : limiter))(fakeNext())
    const outcomes: unknown[] = []

    for (const client of ['a', 'a', 'a', 'b', 'free', 'free', 'free', null])
      outcomes.push(await handle(createExchange(client)).then(({ status }) => status, toOutcome))

    expect(outcomes).toEqual([200, 200, ['rate-limited', 'Retry-After', '60'], 200, 200, 200, 200, 200])
  })

  test('the fields of the client limit stand behind those of the address limit', async () => {
    const exchange = createExchange('a')
    exchange.addedResponseFields = ['RateLimit', '"address";r=1;t=1']
    const slow: RateLimiter = { limit, consume: async () => 1 }

    await clientRateLimitLayer(() => slow)(fakeNext())(exchange)

    expect(exchange.addedResponseFields.filter((_, at) => at % 2 === 0)).toEqual([
      'RateLimit',
      'RateLimit-Policy',
      'RateLimit',
    ])
    expect(exchange.addedResponseFields.slice(2)).toEqual([
      'RateLimit-Policy',
      '"client";q=2;w=120',
      'RateLimit',
      '"client";r=1;t=60',
    ])
  })

  test('a client has so many in flight and no more, until one ends; others are unaffected', async () => {
    const inFlight = new Map<string, number>()
    const handle = clientConcurrencyLimitLayer((client) => (client === 'free' ? null : 2), inFlight)(fakeNext())
    const first = createExchange('a')
    await handle(first)
    await handle(createExchange('a'))

    await expect(handle(createExchange('a')).catch(toOutcome)).resolves.toEqual(['rate-limited', 'Retry-After', '1'])
    expect([...inFlight]).toEqual([['a', 2]])
    await expect(handle(createExchange('b'))).resolves.toMatchObject({ status: 200 })
    await expect(handle(createExchange('free'))).resolves.toMatchObject({ status: 200 })
    first.finish()
    await expect(handle(createExchange('a'))).resolves.toMatchObject({ status: 200 })
  })

  test('a client with nothing in flight has no entry', async () => {
    const inFlight = new Map<string, number>()
    const exchange = createExchange('a')
    await clientConcurrencyLimitLayer(() => 2, inFlight)(fakeNext())(exchange)

    exchange.finish()

    expect(inFlight.size).toBe(0)
  })

  test('a request of a client that was rejected gives its place back at once, and only once', async () => {
    const inFlight = new Map<string, number>()
    const handle = clientConcurrencyLimitLayer(() => 2, inFlight)
    await handle(fakeNext())(createExchange('a'))
    const exchange = createExchange('a')

    await handle(fakeNext(() => Promise.reject(new GatewayError('connect-failed'))))(exchange).catch(() => {})
    exchange.releaseSlots()
    const whileItsErrorIsSent = inFlight.get('a')
    exchange.finish()

    expect([whileItsErrorIsSent, inFlight.get('a')]).toEqual([1, 1])
  })
})

describe('what is in flight', () => {
  /** Sends so many exchanges, and returns those that are let in. */
  const send = async (
    handle: ReturnType<ReturnType<typeof concurrencyLimitLayer>>,
    many: number,
  ): Promise<readonly Exchange[]> => {
    const exchanges = Array.from({ length: many }, () => fakeExchange())
    const served = await Promise.all(
      exchanges.map((exchange) =>
        handle(exchange).then(
          () => [exchange],
          (error) => {
            expect(error).toMatchObject({ kind: 'overloaded', status: 503, fields: ['Retry-After', '1'] })
            return []
          },
        ),
      ),
    )
    return served.flat()
  }

  test('the excess is rejected, and never sent', async () => {
    const next = fakeNext()

    const served = await send(concurrencyLimitLayer(3, { inFlight: 0 }, 'limits-concurrency')(next), 5)

    expect([served.length, next.calls]).toEqual([3, 3])
  })

  test('a response whose end has not been taken still counts; when it has, there is room for one more', async () => {
    const handle = concurrencyLimitLayer(1, { inFlight: 0 }, 'limits-concurrency')(fakeNext())
    const [first] = await send(handle, 1)

    const before = await send(handle, 2)
    first?.finish()
    const after = await send(handle, 2)

    expect([before.length, after.length]).toEqual([0, 1])
  })

  test('a failed exchange gives its place back at once, and only once', async () => {
    const count = { inFlight: 0 }
    const handle = concurrencyLimitLayer(2, count, 'limits-concurrency')
    await handle(fakeNext())(fakeExchange())
    const exchange = fakeExchange()

    const failed = handle(fakeNext(() => Promise.reject(new GatewayError('connect-failed'))))(exchange)
    await expect(failed).rejects.toMatchObject({ kind: 'connect-failed' })
    exchange.releaseSlots()
    const whileItsErrorIsSent = count.inFlight
    exchange.finish()

    expect([whileItsErrorIsSent, count.inFlight]).toEqual([1, 1])
  })

  test('an exchange whose client left before it came this far does not count', async () => {
    const count = { inFlight: 0 }
    const exchange = fakeExchange()
    exchange.finish()

    await concurrencyLimitLayer(1, count, 'limits-concurrency')(fakeNext())(exchange)

    expect(count.inFlight).toBe(0)
  })

  test('a new limit on the same count holds at once, also for what began before it', async () => {
    const count = { inFlight: 0 }
    const began = await send(concurrencyLimitLayer(5, count, 'limits-concurrency')(fakeNext()), 5)
    const narrower = concurrencyLimitLayer(2, count, 'limits-concurrency')(fakeNext())

    const none = await send(narrower, 1)
    for (const exchange of began.slice(0, 4)) exchange.finish()
    const one = await send(narrower, 3)

    expect([none.length, one.length]).toEqual([0, 1])
  })

  test('in whatever order exchanges come and go, never more than the limit are in flight, and none below it is rejected', async () => {
    await fc.assert(
      fc.asyncProperty(fc.nat(5), fc.array(fc.nat(9), { maxLength: 60 }), async (limit, moves) => {
        const max = limit + 1
        const handle = concurrencyLimitLayer(max, { inFlight: 0 }, 'limits-concurrency')(fakeNext())
        const running: Exchange[] = []
        for (const move of moves) {
          const ending = move < 4 ? running.splice(move % Math.max(1, running.length), 1)[0] : undefined
          if (ending !== undefined) {
            ending.finish()
            continue
          }
          const before = running.length
          running.push(...(await send(handle, 1)))
          expect(running.length).toBe(Math.min(max, before + 1))
        }
      }),
    )
  })
})

describe('the fields of a rate', () => {
  const limit = { policy: 'address', perMs: 100 / 1000, burst: 250 }

  test('the policy states the burst and the time in which it is there again', () => {
    const [name, value] = rateLimitFields(limit).render(1)

    expect(name).toBe('RateLimit-Policy')
    expect(value).toBe('"address";q=250;w=3')
  })

  test('the limit states what is left and when there is one more, to a rejected request the same as Retry-After', () => {
    const slow = rateLimitFields({ policy: 'address', perMs: 1 / 60_000, burst: 3 })

    expect(rateLimitFields(limit).render(101.5).slice(2)).toEqual(['RateLimit', '"address";r=148;t=1'])
    expect(slow.render(1.25).at(-1)).toBe('"address";r=1;t=15')
    expect(slow.render(3).at(-1)).toBe('"address";r=0;t=60')
    expect([slow.render(-2.5).at(-1), slow.retryAfter(-2.5).at(-1)]).toEqual(['"address";r=0;t=30', '30'])
  })

  test('a rejection says when to retry: whole seconds, rounded up, at least one', () => {
    const slow = { policy: 'address', perMs: 1 / 60_000, burst: 2 }

    expect(rateLimitFields(limit).retryAfter(-250)).toEqual(['Retry-After', '1'])
    expect(rateLimitFields(slow).retryAfter(-1.51)).toEqual(['Retry-After', '31'])
  })

  test('the fields are what a library for structured fields writes', () => {
    const fields = rateLimitFields(limit)
    fc.assert(
      fc.property(fc.double({ min: 0.001, max: 250, noNaN: true }), fc.boolean(), (used, isAllowed) => {
        const outcome = isAllowed ? used : -used
        const [, policy = '', , state = ''] = fields.render(outcome)
        const [[name, parameters] = [], ...more] = parseList(state)

        expect(more).toEqual([])
        expect(name).toBe('address')
        expect((parameters as Map<string, unknown>).get('r')).toBe(remainingTokens(outcome, limit))
        expect(serializeList(parseList(state))).toBe(state)
        expect(serializeList(parseList(policy))).toBe(policy)
      }),
    )
  })
})
