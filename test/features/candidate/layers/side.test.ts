import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { Exchange, ProxyResponse } from '../../../../src/core/exchange/exchange.ts'
import { GatewayError } from '../../../../src/core/exchange/failures/errors.ts'
import { bucketsOfShare } from '../../../../src/core/exchange/sides.ts'
import { clientBucket, type SideOptions, sideLayer } from '../../../../src/features/candidate/layers/side.ts'
import { fakeExchange, fakeNext, fakeOutcome, fakeResponse } from '../../../helpers/exchange.ts'

const options: SideOptions = { group: 'market', share: 0.25, clients: [], ipv6Prefix: 64, expose: null }

const exchangeOf = (client: string | null, address = '203.0.113.7'): Exchange => {
  const exchange = fakeExchange({ client: address })
  if (client !== null) exchange.identity = { client, method: 'apiKey', keyId: null }
  return exchange
}

const sideOf = async (exchange: Exchange, more: Partial<SideOptions> = {}): Promise<Exchange['side']> => {
  await sideLayer({ ...options, ...more })(fakeNext())(exchange)
  return exchange.side
}

describe('the side of a request', () => {
  test('is that of the bucket of its client, whatever its address and its fields are', async () => {
    const client = fc.stringMatching(/^[\w.-]{1,64}$/)
    const given = fc.tuple(client, fc.ipV4(), fc.ipV6(), fc.array(fc.string()), fc.integer({ min: 0, max: 10_000 }))
    await fc.assert(
      fc.asyncProperty(given, async ([id, one, other, texts, buckets]) => {
        const share = buckets / 10_000
        const expected = clientBucket('market', { client: id }) < bucketsOfShare(share) ? 'candidate' : 'primary'
        const [first, second] = [exchangeOf(id, one), exchangeOf(id, other)]
        second.fields = texts.flatMap((text) => ['X-Upstream-Side', text])

        expect([await sideOf(first, { share }), await sideOf(second, { share })]).toEqual([expected, expected])
      }),
    )
  })

  test('is that of its address where no client is known: of the network in IPv6', async () => {
    const sides = await Promise.all(
      Array.from({ length: 64 }, (_, index) =>
        Promise.all([
          sideOf(exchangeOf(null, `2001:db8:0:${index}::1`), { share: 0.5 }),
          sideOf(exchangeOf(null, `2001:db8:0:${index}:ffff::2`), { share: 0.5 }),
        ]),
      ),
    )

    expect(sides.filter(([one, other]) => one !== other)).toEqual([])
    expect(new Set(sides.flat())).toEqual(new Set(['primary', 'candidate']))
  })

  test('is the candidate for a client that is named there, at any share', async () => {
    const named = { clients: ['bank-a'], share: 0 }

    expect(await sideOf(exchangeOf('bank-a'), named)).toBe('candidate')
    expect(await sideOf(exchangeOf('bank-b'), named)).toBe('primary')
    expect(await sideOf(exchangeOf(null, '203.0.113.7'), { clients: ['203.0.113.7'], share: 0 })).toBe('primary')
  })
})

describe('the response field', () => {
  const respond = (more: Partial<ProxyResponse> = {}, change: (exchange: Exchange) => void = () => {}) =>
    fakeNext((exchange) => {
      change(exchange)
      return Promise.resolve({ ...fakeResponse(), ...more })
    })

  const exposed = { ...options, share: 1, expose: 'X-Upstream-Side' }

  test('is there only if it is asked for', async () => {
    const exchange = exchangeOf('bank-a')

    const response = await sideLayer({ ...exposed, expose: null })(respond({ fields: ['ETag', '"1"'] }))(exchange)

    expect(response.fields).toEqual(['ETag', '"1"'])
    expect(exchange.addedResponseFields).toBe(null)
  })

  test('names the side that has served the request, beside what other layers add', async () => {
    const [stayed, fellBack] = [exchangeOf('bank-a'), exchangeOf('bank-a')]
    stayed.addedResponseFields = ['RateLimit', '1']
    const layer = sideLayer(exposed)

    await layer(respond())(stayed)
    await layer(
      respond({}, (exchange) => {
        exchange.attempts.fellBack = true
      }),
    )(fellBack)

    expect(stayed.addedResponseFields).toEqual(['RateLimit', '1', 'X-Upstream-Side', 'candidate'])
    expect(fellBack.addedResponseFields).toEqual(['X-Upstream-Side', 'primary'])
  })

  test('is on an error of the gateway too', async () => {
    const exchange = exchangeOf('bank-a')
    const next = fakeNext(() => Promise.reject(new GatewayError('headers-timeout')))

    await expect(sideLayer(exposed)(next)(exchange)).rejects.toThrow('headers-timeout')

    expect(exchange.addedResponseFields).toEqual(['X-Upstream-Side', 'candidate'])
  })

  test('cannot be forged by an upstream, in any spelling', async () => {
    const forged = ['x-upstream-side', 'primary', 'ETag', '"1"', 'X-UPSTREAM-SIDE', 'other']

    const response = await sideLayer(exposed)(respond({ fields: forged }))(exchangeOf('bank-a'))

    expect(response.fields).toEqual(['ETag', '"1"'])
  })

  test('is left out of a replayed response, and what its upstream said there as well', async () => {
    const exchange = exchangeOf('bank-a')
    const next = respond({ fields: ['X-Upstream-Side', 'primary'] }, (replayed) => {
      replayed.outcome = fakeOutcome('replayed', 'unknown-side')
    })

    const response = await sideLayer(exposed)(next)(exchange)

    expect(response.fields).toEqual([])
    expect(exchange.addedResponseFields).toBe(null)
  })

  test('names the own side of a stale response, which stands in for a failure of the other', async () => {
    const exchange = exchangeOf('bank-a')
    const next = respond({}, (stale) => {
      stale.attempts.fellBack = true
      stale.outcome = fakeOutcome('stale', 'side-of-client')
    })

    await sideLayer(exposed)(next)(exchange)

    expect(exchange.addedResponseFields).toEqual(['X-Upstream-Side', 'candidate'])
  })
})
