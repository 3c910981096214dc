import fc from 'fast-check'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { retryAfterMs } from '../../../src/features/retry/layer.ts'

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

  // RFC 9110 §10.2.3: a date says "not before", in any of the three forms (§5.6.7).
  test.each([
    ['Sun, 06 Nov 1994 08:49:37 GMT', 'Sun, 06 Nov 1994 08:49:07 GMT', 30_000],
    ['Sunday, 06-Nov-94 08:49:37 GMT', 'Sun, 06 Nov 1994 08:49:36 GMT', 1000],
    ['Sun Nov  6 08:49:37 1994', 'Sun, 06 Nov 1994 08:49:37 GMT', 0],
    ['Sun, 06 Nov 1994 08:49:37 GMT', 'Mon, 07 Nov 1994 08:49:37 GMT', 0],
    ['Fri, 31 Dec 9999 23:59:59 GMT', 'Sun, 06 Nov 1994 08:49:37 GMT', 2_147_483_000],
  ])('lasts until the date %s, from the Date of the response, whatever the clock here says', (until, date, ms) => {
    expect(retryAfterMs(['Date', date, 'Retry-After', until])).toBe(ms)
  })

  test.each([['without'], ['with an unreadable']])('lasts from now, in a response %s Date', (how) => {
    vi.useFakeTimers({ toFake: ['Date'], now: Date.parse('1994-11-06T08:49:07.500Z') })
    onTestFinished(() => void vi.useRealTimers())
    const date = how === 'without' ? [] : ['Date', 'today']

    expect(retryAfterMs([...date, 'Retry-After', 'Sun, 06 Nov 1994 08:49:37 GMT'])).toBe(29_500)
  })

  test.each(['2147484', '4294967296', '9'.repeat(400)])('is at most the longest delay of a timer: %s', (value) => {
    expect(retryAfterMs(['Retry-After', value])).toBe(2_147_483_000)
  })
})

describe('a delay that is not followed', () => {
  test.each([
    ...['Sun, 06 Nov 1994 08:49:37', 'Sun, 31 Feb 2027 08:49:37 GMT', '2026-11-06T08:49:37Z', '', ' ', '-1', '+1'],
    ...['1.5', '1e3', '0x10', '1s', '1, 2', '1 2', '１', 'Infinity'],
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
