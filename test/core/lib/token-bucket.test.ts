import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import {
  consumeToken,
  isAllowed,
  msUntilNextToken,
  type RateLimit,
  remainingTokens,
  type TokenBucket,
} from '../../../src/core/lib/token-bucket.ts'

const tenASecond: RateLimit = { policy: 'address', perMs: 10 / 1000, burst: 3 }

const about = (value: number) => expect.closeTo(value)

const fresh = (): TokenBucket => ({ used: 0, at: 0 })

test('the burst is there at once, then one at a time as the rate gives them', () => {
  const bucket = fresh()
  const allowed = [0, 0, 0, 0, 99, 100, 100, 250, 300, 300].map((at) => isAllowed(consumeToken(bucket, tenASecond, at)))

  expect(allowed).toEqual([true, true, true, false, false, true, false, true, true, false])
})

test('a result tells how many are left, and when there is one more', () => {
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

const limits = fc.record({
  policy: fc.constant('any'),
  perMs: fc.double({ min: 1 / 60_000, max: 100, noNaN: true }),
  burst: fc.integer({ min: 1, max: 40 }),
})

test('never is more consumed, between any two moments, than the burst and what the rate gives', () => {
  const pauses = fc.array(fc.double({ min: 0, max: 50, noNaN: true }), { minLength: 1, maxLength: 120 })
  fc.assert(
    fc.property(limits, pauses, (limit, gaps) => {
      const bucket = fresh()
      let at = 1e9
      const times = gaps.flatMap((gap) => {
        at += gap
        return isAllowed(consumeToken(bucket, limit, at)) ? [at] : []
      })
      for (const [first, from] of times.entries())
        for (const [last, to] of times.entries())
          if (last >= first && last - first + 1 > limit.burst + (to - from) * limit.perMs + 1e-3) return false
      return true
    }),
  )
})

test('a client that waits as long as Retry-After says is served', () => {
  fc.assert(
    fc.property(limits, (limit) => {
      const bucket = fresh()
      for (let n = 0; n < limit.burst; n++) consumeToken(bucket, limit, 0)
      const rejected = consumeToken(bucket, limit, 0)
      return (
        !isAllowed(rejected) &&
        isAllowed(consumeToken(bucket, limit, Math.ceil(msUntilNextToken(rejected, limit) + 1e-6)))
      )
    }),
  )
})
