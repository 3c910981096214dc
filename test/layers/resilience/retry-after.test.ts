import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { retryAfterMs } from '../../../src/layers/resilience/retry.ts'

describe('a time to wait', () => {
  test.each([
    ['0', 0],
    ['1', 1000],
    ['120', 120_000],
    ['007', 7000],
    [' 2\t', 2000],
  ])('is read from %j', (value, ms) => {
    expect(retryAfterMs(['Retry-After', value])).toBe(ms)
  })

  test('is found under any casing, among other fields', () => {
    expect(retryAfterMs(['X-Retry-After', '1', 'RETRY-after', '2', 'Date', '3'])).toBe(2000)
  })

  test.each(['2147484', '4294967296', '9'.repeat(400)])('is at most the longest delay of a timer: %s', (value) => {
    expect(retryAfterMs(['Retry-After', value])).toBe(2_147_483_000)
  })
})

describe('a delay that is not followed', () => {
  test.each([
    'Sun, 06 Nov 1994 08:49:37 GMT',
    '',
    ' ',
    '-1',
    '+1',
    '1.5',
    '1e3',
    '0x10',
    '1s',
    '1, 2',
    '1 2',
    '１',
    'Infinity',
  ])('is %j', (value) => {
    expect(retryAfterMs(['Retry-After', value])).toBeNull()
  })

  test('is an absent field', () => {
    expect(retryAfterMs([])).toBeNull()
  })

  test('is a repeated field, even when the lines agree', () => {
    expect(retryAfterMs(['Retry-After', '1', 'retry-after', '1'])).toBeNull()
  })
})

test('any text is no wait at all, or one that a timer can keep', () => {
  fc.assert(
    fc.property(fc.oneof(fc.string(), fc.bigInt({ min: 0n }).map(String)), (value) => {
      const ms = retryAfterMs(['Retry-After', value])

      expect(ms === null || (Number.isInteger(ms) && ms >= 0 && ms < 2 ** 31)).toBe(true)
    }),
  )
})
