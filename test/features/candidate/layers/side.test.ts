import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { Exchange, ProxyResponse } from '../../../../src/core/exchange/exchange.ts'
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

describe('the bucket of a client', () => {
  const clientCount = 10_000

  /** Ten thousand clients of one kind, as a file may name them or as addresses come. */
  const populations: Readonly<Record<string, (index: number) => RequestOwner>> = {
    ids: (index) => ({ client: `bank-${index}` }),
    'IPv6 networks': (index) => ({ address: `2001:db8:${index.toString(16)}:0:/64` }),
  }

  const steps = Array.from({ length: 21 }, (_, step) => step / 20)

  const bucketsOf = (owners: readonly RequestOwner[], group: Group): readonly number[] =>
    owners.map((owner) => clientBucket(group, owner))

  /** Returns the largest deviation of the clients below a share from that share, over all steps, in points. */
  const largestDeviation = (buckets: readonly number[]): number =>
    Math.max(
      ...steps.map((share) => {
        const below = buckets.filter((bucket) => bucket < bucketsOfShare(share)).length
        return Math.abs(below / buckets.length - share) * 100
      }),
    )

  const anyOwner: fc.Arbitrary<RequestOwner> = fc.oneof(
    fc.record({ client: fc.stringMatching(/^[\w.-]{1,64}$/) }),
    fc.record({ address: fc.ipV4() }),
    fc.record({ address: fc.ipV6() }),
  )
  const anyGroup = fc.constantFrom(...groups)
  const anyShare = fc.integer({ min: 0, max: bucketCount }).map((count) => count / bucketCount)

  test('a client below a share stays below every larger one', () => {
    fc.assert(
      fc.property(anyOwner, anyGroup, anyShare, anyShare, (owner, group, one, other) => {
        const bucket = clientBucket(group, owner)
        const [smaller, larger] = [Math.min(one, other), Math.max(one, other)]

        expect(bucket < bucketsOfShare(smaller) && bucket >= bucketsOfShare(larger)).toBe(false)
      }),
      { numRuns: 200 },
    )
  })

  test('a share of 0 takes no client, and one of 100 % takes each', () => {
    fc.assert(
      fc.property(anyOwner, anyGroup, (owner, group) => {
        const bucket = clientBucket(group, owner)

        expect(bucket).toBeGreaterThanOrEqual(bucketsOfShare(0))
        expect(bucket).toBeLessThan(bucketsOfShare(1))
      }),
      { numRuns: 200 },
    )
  })

  test('each share of a hundredth of a percent is so many buckets, whatever its fraction is in binary', () => {
    const counts = Array.from({ length: bucketCount + 1 }, (_, count) => bucketsOfShare(count / 100 / 100))

    expect(counts).toEqual(counts.map((_, index) => index))
  })

  describe.each(Object.entries(populations))('10,000 %s', (_, ownerAt) => {
    // A toss for each client: half of 10,000 have a standard deviation of half a point. The worst step of all 32
    // populations would be beyond 2.6 points by chance with one salt in 10,000 (Kolmogorov).
    test('have every share within what chance allows, in each group', () => {
      const owners = Array.from({ length: clientCount }, (__, index) => ownerAt(index))
      const deviations = (['risk', 'market'] as const).map((group) => largestDeviation(bucketsOf(owners, group)))

      expect(Math.max(...deviations)).toBeLessThan(2.6)
    })
  })

  test('groups are told apart: of the first tenth in one, about a tenth is in that of another', () => {
    const owners = Array.from({ length: clientCount }, (_, index) => ({ client: `bank-${index}` }))
    const [risk, market] = [bucketsOf(owners, 'risk'), bucketsOf(owners, 'market')]
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

  test('what is remembered of the buckets of a group is remembered once', () => {
    expect(getBucketMemory('risk')).toBe(getBucketMemory('risk'))
    expect(getBucketMemory('risk')).not.toBe(getBucketMemory('leads'))
  })

  test('what is remembered of buckets changes none, with more owners than there is room for', () => {
    const findBucket = getBucketMemory('leads')
    const owners = [0, 1, 2].flatMap(() =>
      Array.from({ length: 6000 }, (_, index) =>
        index % 2 === 0
          ? { client: `10.0.${index >> 8}.${index & 255}` }
          : { address: `10.0.${index >> 8}.${index & 255}` },
      ),
    )

    expect(owners.map((owner) => findBucket(owner))).toEqual(bucketsOf(owners, 'leads'))
  })

  test('a client that is named like an address has a bucket of its own', () => {
    const findBucket = getBucketMemory('valuation')
    const owners = [{ client: '192.0.2.77' }, { address: '192.0.2.77' }]

    expect(owners.map(findBucket)).toEqual(bucketsOf(owners, 'valuation'))
    expect(new Set(owners.map(findBucket)).size).toBe(2)
  })
})
