import { execFileSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { RequestOwner } from '../../../../src/core/exchange/request-owner.ts'
import { bucketCount, bucketsOfShare } from '../../../../src/core/exchange/sides.ts'
import { clientBucket, getBucketMemory } from '../../../../src/features/candidate/layers/side.ts'
import { type Group, groups } from '../../../../src/operations.ts'

const clientCount = 10_000

/** Ten thousand clients of one kind, as a file may name them or as addresses come. */
const populations: Readonly<Record<string, (index: number) => RequestOwner>> = {
  ids: (index) => ({ client: `bank-${index}` }),
  'padded ids': (index) => ({ client: `client-${String(index).padStart(5, '0')}` }),
  'IPv4 addresses': (index) => ({ address: `10.${(index >> 8) & 255}.${index & 255}.7` }),
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
    { numRuns: 2000 },
  )
})

test('a share of 0 takes no client, and one of 100 % takes each', () => {
  fc.assert(
    fc.property(anyOwner, anyGroup, (owner, group) => {
      const bucket = clientBucket(group, owner)

      expect(bucket).toBeGreaterThanOrEqual(bucketsOfShare(0))
      expect(bucket).toBeLessThan(bucketsOfShare(1))
    }),
    { numRuns: 2000 },
  )
})

test('each share of a hundredth of a percent is so many buckets, whatever its fraction is in binary', () => {
  const counts = Array.from({ length: bucketCount + 1 }, (_, count) => bucketsOfShare(count / 100 / 100))

  expect(counts).toEqual(counts.map((_, index) => index))
})

test('10,000 clients go over in 20 steps: none goes back, and each step has its share within a point', () => {
  const owners = Array.from({ length: clientCount }, (_, index) => ({ client: `bank-${index}` }))
  const buckets = bucketsOf(owners, 'risk')
  let earlier: ReadonlySet<number> = new Set()

  for (const share of steps) {
    const now = new Set(buckets.flatMap((bucket, index) => (bucket < bucketsOfShare(share) ? [index] : [])))

    expect([...earlier].filter((index) => !now.has(index))).toEqual([])
    expect(Math.abs(now.size / clientCount - share)).toBeLessThanOrEqual(0.01)
    earlier = now
  }
  expect(earlier.size).toBe(clientCount)
})

describe.each(Object.entries(populations))('10,000 %s', (_, ownerAt) => {
  // A toss for each client: half of 10,000 have a standard deviation of half a point. The worst step of all 32
  // populations would be beyond 2.6 points by chance with one salt in 10,000 (Kolmogorov).
  test('have every share within what chance allows, in each group', () => {
    const owners = Array.from({ length: clientCount }, (__, index) => ownerAt(index))
    const deviations = groups.map((group) => largestDeviation(bucketsOf(owners, group)))

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

test('a client whose id looks like an address is not the client of that address', () => {
  const isDifferent = ['10.0.0.1', '192.0.2.7', '198.51.100.9'].map(
    (text) => clientBucket('risk', { client: text }) !== clientBucket('risk', { address: text }),
  )

  expect(isDifferent).toEqual([true, true, true])
})

// Another number would move the clients of gateways that run. So does OpenSSL count them:
// printf 'id bank-a' | openssl dgst -sha256 -hmac 'lender-gateway: the side of a client of risk'
test('the bucket of a client is a constant of the program', () => {
  const ofBankA = groups.map((group) => clientBucket(group, { client: 'bank-a' }))

  expect(ofBankA).toEqual([6725, 8203, 409, 5657, 5957, 6369, 9914, 8256])
  expect(clientBucket('risk', { address: '203.0.113.7' })).toBe(5091)
  expect(clientBucket('risk', { address: '2001:db8:0:1:/64' })).toBe(6269)
})

test('another process has the same buckets', () => {
  const owners = Array.from({ length: 100 }, (_, index) => ({ client: `bank-${index}` }))
  const file = fileURLToPath(new URL('../../../../src/features/candidate/layers/side.ts', import.meta.url))
  const program = `
    import { clientBucket } from ${JSON.stringify(file)}
    console.log(JSON.stringify(${JSON.stringify(owners)}.map((owner) => clientBucket('market', owner))))`

  const printed = execFileSync(process.execPath, ['--input-type=module', '--eval', program], { encoding: 'utf8' })

  expect(JSON.parse(printed)).toEqual(bucketsOf(owners, 'market'))
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
