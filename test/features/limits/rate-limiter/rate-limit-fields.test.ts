import * as fc from 'fast-check'
import { parseList, serializeList } from 'structured-headers'
import { expect, test } from 'vitest'
import { remainingTokens } from '../../../../src/core/lib/token-bucket.ts'
import { rateLimitFields } from '../../../../src/features/limits/limits.ts'

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
