import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { BodyCopy } from '../../../src/core/exchange/bodies/body-copy.ts'
import { FairQuota, type QuotaShare } from '../../../src/core/lib/fair-quota.ts'
import {
  consumeToken,
  isAllowed,
  msUntilNextToken,
  type RateLimit,
  remainingTokens,
  type TokenBucket,
} from '../../../src/core/lib/token-bucket.ts'

describe('a bucket of tokens', () => {
  const tenASecond: RateLimit = { policy: 'address', perMs: 10 / 1000, burst: 3 }

  const about = (value: number) => expect.closeTo(value)

  const fresh = (): TokenBucket => ({ used: 0, at: 0 })

  test('the burst is available at once, then one token at a time at the rate', () => {
    const bucket = fresh()
    const allowed = [0, 0, 0, 0, 99, 100, 100, 250, 300, 300].map((at) =>
      isAllowed(consumeToken(bucket, tenASecond, at)),
    )

    expect(allowed).toEqual([true, true, true, false, false, true, false, true, true, false])
  })

  test('a result says how many tokens are left, and when the next one comes', () => {
    const bucket = fresh()
    const results = [0, 0, 0, 50].map((at) => consumeToken(bucket, tenASecond, at))

    expect(results.map((result) => remainingTokens(result, tenASecond))).toEqual([2, 1, 0, 0])
    expect(results.map((result) => msUntilNextToken(result, tenASecond))).toEqual([100, 100, 100, 50].map(about))
  })

  test('a clock that is set back delays nothing', () => {
    const bucket = fresh()
    for (let n = 0; n < 3; n++) consumeToken(bucket, tenASecond, 1_000_000)

    expect(isAllowed(consumeToken(bucket, tenASecond, 0))).toBe(false)
    bucket.used = 2
    expect(isAllowed(consumeToken(bucket, tenASecond, 0))).toBe(true)
    expect(isAllowed(consumeToken(bucket, tenASecond, 100))).toBe(true)
  })

  test('no more tokens are consumed between any two moments than the burst and the rate allow', () => {
    const limits = fc.record({
      perMs: fc.double({ min: 0.001, max: 100, noNaN: true }),
      burst: fc.integer({ min: 1, max: 40 }),
    })
    const pauses = fc.array(fc.double({ min: 0, max: 50, noNaN: true }), { minLength: 1, maxLength: 120 })
    fc.assert(
      fc.property(limits, pauses, ({ perMs, burst }, gaps) => {
        const bucket = fresh()
        const limit = { policy: 'any', perMs, burst }
        let at = 1e9
        const times = gaps.flatMap((gap) => {
          at += gap
          return isAllowed(consumeToken(bucket, limit, at)) ? [at] : []
        })
        return times.every((from, first) =>
          times.slice(first).every((to, more) => more + 1 <= burst + (to - from) * perMs + 1e-3),
        )
      }),
    )
  })

  test.each([1 / 60_000, 0.01, 0.3, 7, 100])(
    'a client that waits as long as it is told is served: %d per ms',
    (perMs) => {
      const limit = { policy: 'any', perMs, burst: 3 }
      const bucket = fresh()
      for (let n = 0; n < 3; n++) consumeToken(bucket, limit, 0)
      const rejected = consumeToken(bucket, limit, 0)

      expect(isAllowed(rejected)).toBe(false)
      expect(isAllowed(consumeToken(bucket, limit, Math.ceil(msUntilNextToken(rejected, limit) + 1e-6)))).toBe(true)
    },
  )
})

describe('a fair quota', () => {
  const mib = 1024 ** 2

  /** Takes all that a share gives, in MiB. */
  const fill = (share: QuotaShare): number => {
    let taken = 0
    while (share.reserve(mib)) taken++
    return taken
  }

  test('clients that take all that they can leave room for one more', () => {
    const quota = new FairQuota(64 * mib)

    expect(['a', 'a', 'b', 'c'].map((client) => fill(quota.shareOf(client)))).toEqual([32, 0, 16, 8])
    expect(quota.used).toBe(56 * mib)
  })

  test('a client can take again what it gave back, and the quota forgets an idle client', () => {
    const quota = new FairQuota(64 * mib)
    const copy = new BodyCopy(32 * mib, quota.shareOf('a'), 128 * 1024)
    copy.push(Buffer.alloc(20 * mib))
    expect(quota.used).toBe(20 * mib)
    expect(['a', 'b'].map((client) => quota.shareOf(client).reserve(20 * mib))).toEqual([false, true])

    copy.free()
    quota.shareOf('b').release(20 * mib)

    expect([quota.used, quota.owners]).toEqual([0, 0])
    expect(fill(quota.shareOf('a'))).toBe(32)
  })

  test('clients that come once are not remembered for ever', () => {
    const quota = new FairQuota(64 * mib)
    quota.shareOf('stays').reserve(mib)

    for (let nth = 0; nth < 1500; nth++) {
      const share = quota.shareOf(`client ${nth}`)
      share.reserve(10)
      share.release(10)
    }

    expect([quota.used, quota.owners]).toEqual([mib, 1])
    expect(quota.remembered).toBeLessThanOrEqual(1001)
  })
})
