import { expect, test } from 'vitest'
import type { GatewayError } from '../../../src/core/exchange/failures/errors.ts'
import type { RateLimiter } from '../../../src/core/lib/token-bucket.ts'
import { addressRateLimitLayer } from '../../../src/features/limits/limits.ts'
import { memoryLimiter } from '../../../src/features/limits/rate-limiters.ts'
import { fakeExchange, fakeNext } from '../../helpers/exchange.ts'

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

test('the fields that other layers add stay', async () => {
  const exchange = fakeExchange()
  exchange.addedResponseFields = ['X-Other', '1']

  await addressRateLimitLayer(memoryLimiter(limit), 64)(fakeNext())(exchange)

  expect(exchange.addedResponseFields.slice(0, 3)).toEqual(['X-Other', '1', 'RateLimit-Policy'])
})

test('a limiter may be asynchronous', async () => {
  const limiter: RateLimiter = { limit, consume: async (key) => (key === '192.0.2.1' ? 1 : -2) }

  const { ended } = await sendFrom(limiter, ['192.0.2.1', '192.0.2.2'])

  expect(ended.map(({ outcome }) => outcome)).toEqual([200, ['rate-limited', 'Retry-After', '60']])
})
