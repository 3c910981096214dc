import { expect, test } from 'vitest'
import type { Exchange } from '../../../src/core/exchange/exchange.ts'
import { GatewayError } from '../../../src/core/exchange/failures/errors.ts'
import type { RateLimiter } from '../../../src/core/lib/token-bucket.ts'
import { clientConcurrencyLimitLayer, clientRateLimitLayer } from '../../../src/features/limits/limits.ts'
import { memoryLimiter } from '../../../src/features/limits/rate-limiters.ts'
import { fakeExchange, fakeNext } from '../../helpers/exchange.ts'

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
