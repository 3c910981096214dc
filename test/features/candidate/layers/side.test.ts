import { describe, expect, test } from 'vitest'
import type { Exchange } from '../../../../src/core/exchange/exchange.ts'
import { GatewayError } from '../../../../src/core/exchange/failures/errors.ts'
import type { RequestOwner } from '../../../../src/core/exchange/request-owner.ts'
import { bucketCount, bucketsOfShare } from '../../../../src/core/exchange/sides.ts'
import {
  clientBucket,
  getBucketMemory,
  type SideOptions,
  sideLayer,
} from '../../../../src/features/candidate/layers/side.ts'
import { type Group, groups } from '../../../../src/operations.ts'
import { fakeAttempts, fakeExchange, fakeNext, fakeOutcome, fakeResponse } from '../../../helpers/exchange.ts'

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
  test('the bucket of the client decides the side, whatever its address and its fields are', async () => {
    for (const id of Array.from({ length: 50 }, (_, index) => `bank-${index}`)) {
      const [one, other] = [exchangeOf(id, '192.0.2.1'), exchangeOf(id, '2001:db8::1')]
      other.fields = ['X-Upstream-Side', 'candidate', 'X-Upstream-Side', 'primary']
      const expected = clientBucket('market', { client: id }) < bucketsOfShare(0.3) ? 'candidate' : 'primary'

      expect([await sideOf(one, { share: 0.3 }), await sideOf(other, { share: 0.3 })]).toEqual([expected, expected])
    }
  })

  test('without a client, the address decides the side, in IPv6 the network', async () => {
    const sideOfAddress = (address: string) => sideOf(exchangeOf(null, address), { share: 0.5 })
    const sides = await Promise.all(
      Array.from({ length: 64 }, (_, index) =>
        Promise.all([`2001:db8:0:${index}::1`, `2001:db8:0:${index}:ffff::2`].map(sideOfAddress)),
      ),
    )

    expect(sides.filter(([one, other]) => one !== other)).toEqual([])
    expect(new Set(sides.flat())).toEqual(new Set(['primary', 'candidate']))
  })

  test.each([
    ['bank-a', 'bank-a', 'candidate'],
    ['bank-b', 'bank-a', 'primary'],
    [null, '203.0.113.7', 'primary'],
  ])('of %s is decided by its name alone at a share of 0: %s is named', async (client, named, side) => {
    expect(await sideOf(exchangeOf(client, '203.0.113.7'), { clients: [named], share: 0 })).toBe(side)
  })
})

describe('the response field', () => {
  const exposing = sideLayer({ ...options, share: 1, expose: 'X-Upstream-Side' })
  const other = ['X-Upstream-Side', 'candidate']
  const own = ['X-Upstream-Side', 'primary']
  const stale = { attempts: fakeAttempts({ fellBack: true }), outcome: fakeOutcome('stale', 'side-of-client') }
  const limited = { addedResponseFields: ['RateLimit', '1'] }

  test.each<[string, Partial<Exchange>, readonly string[] | null]>([
    ['names the side that has served the request', {}, other],
    ['stands beside what other layers add', limited, ['RateLimit', '1', ...other]],
    ['names the primary where that has helped out', { attempts: fakeAttempts({ fellBack: true }) }, own],
    ['is left out of a replayed response', { outcome: fakeOutcome('replayed', 'unknown-side') }, null],
    ['names the own side of a stale response, which stands in for a failure of the other', stale, other],
  ])('%s', async (_, change, added) => {
    const exchange = exchangeOf('bank-a')
    const next = fakeNext(async (handled) => {
      Object.assign(handled, change)
      return fakeResponse()
    })

    await exposing(next)(exchange)

    expect(exchange.addedResponseFields).toEqual(added)
  })

  test('the field of the side is added only with expose', async () => {
    const exchange = exchangeOf('bank-a')
    const response = { ...fakeResponse(), fields: ['ETag', '"1"'] }

    expect(await sideLayer({ ...options, share: 1 })(fakeNext(async () => response))(exchange)).toBe(response)
    expect(exchange.addedResponseFields).toBeNull()
  })

  test('the field of the side is on errors of the gateway too', async () => {
    const exchange = exchangeOf('bank-a')
    const next = fakeNext(() => Promise.reject(new GatewayError('headers-timeout')))
    await expect(exposing(next)(exchange)).rejects.toThrow('headers-timeout')

    expect(exchange.addedResponseFields).toEqual(other)
  })

  test.each([undefined, fakeOutcome('replayed', 'unknown-side')])(
    'cannot be forged by an upstream, in any spelling, nor in what was stored: %o',
    async (outcome) => {
      const fields = ['x-upstream-side', 'primary', 'ETag', '"1"', 'X-UPSTREAM-SIDE', 'other']
      const next = fakeNext((handled) => {
        if (outcome !== undefined) handled.outcome = outcome
        return Promise.resolve({ ...fakeResponse(), fields })
      })

      expect((await exposing(next)(exchangeOf('bank-a'))).fields).toEqual(['ETag', '"1"'])
    },
  )
})

describe('the bucket of a client', () => {
  const owners = Array.from({ length: 10_000 }, (_, index): readonly RequestOwner[] => [
    { client: `bank-${index}` },
    { address: `2001:db8:${index.toString(16)}:0:/64` },
  ])
  const bucketsOf = (owners: readonly RequestOwner[], group: Group): readonly number[] =>
    owners.map((owner) => clientBucket(group, owner))
  const steps = Array.from({ length: 21 }, (_, step) => step / 20)

  test('each hundredth of a percent is one bucket, despite binary fractions', () => {
    const counts = Array.from({ length: bucketCount + 1 }, (_, count) => bucketsOfShare(count / 100 / 100))

    expect(counts).toEqual(counts.map((_, index) => index))
  })

  // A toss for each client: half of 10,000 have a standard deviation of half a point. The worst step of all 32
  // populations would be beyond 2.6 points by chance with one salt in 10,000 (Kolmogorov).
  test.each([
    ['ids', 0],
    ['IPv6 networks', 1],
  ])('10,000 %s have every share within what chance allows, in each group', (_, kind) => {
    for (const group of ['risk', 'market'] as const) {
      const of = owners.map((each) => each[kind] as RequestOwner)
      const buckets = bucketsOf(of, group)
      const below = (share: number) => buckets.filter((bucket) => bucket < bucketsOfShare(share)).length
      const deviations = steps.map((share) => Math.abs(below(share) / owners.length - share) * 100)

      expect(Math.max(...deviations)).toBeLessThan(2.6)
      expect([below(0), below(1)]).toEqual([0, owners.length])
    }
  })

  test('buckets of groups are independent: a tenth of the first tenth is in that of another group', () => {
    const ids = owners.map(([id]) => id as RequestOwner)
    const [risk, market] = [bucketsOf(ids, 'risk'), bucketsOf(ids, 'market')]
    const inBoth = risk.filter((bucket, index) => bucket < 1000 && (market[index] ?? 0) < 1000).length

    expect(inBoth).toBeGreaterThan(50)
    expect(inBoth).toBeLessThan(150)
  })

  // Another number would move the clients of gateways that run. So does OpenSSL count them:
  // printf 'id bank-a' | openssl dgst -sha256 -hmac 'lender-gateway: the side of a client of risk'
  test('the bucket of a client is a constant of the program', () => {
    const ofBankA = groups.map((group) => clientBucket(group, { client: 'bank-a' }))

    expect(ofBankA).toEqual([6725, 8203, 409, 5657, 5957, 6369, 9914, 8256])
    expect(clientBucket('risk', { address: '203.0.113.7' })).toBe(5091)
    expect(clientBucket('risk', { address: '2001:db8:0:1:/64' })).toBe(6269)
  })

  test('buckets stay correct with more owners than the memory holds, and names like addresses', () => {
    const findBucket = getBucketMemory('leads')
    const addresses = Array.from({ length: 6000 }, (_, index) => `10.0.${index >> 8}.${index & 255}`)
    const named = addresses.map((text, index) => (index % 2 === 0 ? { client: text } : { address: text }))
    const owners = [...named, ...named, ...named, { client: '192.0.2.77' }, { address: '192.0.2.77' }]

    const found = owners.map((owner) => findBucket(owner))

    expect(found).toEqual(bucketsOf(owners, 'leads'))
    expect(found.at(-1)).not.toBe(found.at(-2))
  })
})
