import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { type CachedToken, createTokenCache, tokenDigest } from '../../../../src/features/auth/tokens/token-cache.ts'

beforeEach(() => void vi.useFakeTimers({ toFake: ['Date', 'performance'] }))
afterEach(() => void vi.useRealTimers())

interface Named {
  readonly name: string
}
const known = (ms: number, more: Partial<CachedToken<Named>> = {}): CachedToken<Named> => ({
  ...{ value: { name: 'a' }, expiresAt: Date.now() + ms, believedMs: Number.POSITIVE_INFINITY, size: 1 },
  ...more,
})

const hour = 3_600_000
const never = { expiresAt: Number.POSITIVE_INFINITY, believedMs: 1000 }

// Durations use the monotonic clock: an operator, NTP or a restored machine sets the wall clock.
test.each<[string, Partial<CachedToken<Named>>, number]>([
  ['expires', {}, 0],
  ['is believed, though the wall clock is set back', never, -2 * hour],
  ['is believed, though the wall clock is set ahead', never, 2 * hour],
])('a result is cached until it %s, to the millisecond', async (_, more, setByMs) => {
  const cache = createTokenCache<Named>(() => true)
  await cache.load('digest', async () => known(1000, more))

  vi.setSystemTime(Date.now() + setByMs)
  vi.advanceTimersByTime(999)
  expect(cache.find('digest')).toEqual({ name: 'a' })
  vi.advanceTimersByTime(1)

  expect(cache.find('digest')).toBeNull()
  expect(cache.size).toBe(0)
})

test.each([
  ['ahead, past the end of the token (RFC 7519 §4.1.4)', 2, 0],
  ['back, so that the token would be good for longer than when it was verified', -2, 60_000],
])('a result ends with its token when the wall clock is set %s', async (_, hours, afterMs) => {
  const cache = createTokenCache<Named>(() => true)
  await cache.load('digest', async () => known(60_000))

  vi.setSystemTime(Date.now() + hours * hour)
  vi.advanceTimersByTime(afterMs)

  expect(cache.find('digest')).toBeNull()
})

test('simultaneous requests share a verification, and a failure is not cached', async () => {
  const cache = createTokenCache<Named>(() => true)
  const fail = vi.fn(() => Promise.reject(new Error('no')))

  const both = await Promise.allSettled([cache.load('digest', fail), cache.load('digest', fail)])
  const next = await cache.load('digest', async () => known(1000))

  expect(both.map(({ status }) => status)).toEqual(['rejected', 'rejected'])
  expect(fail).toHaveBeenCalledOnce()
  expect(next).toEqual({ name: 'a' })
})

test('it ends when what it was verified with no longer holds', async () => {
  let good = true
  const cache = createTokenCache<Named>(() => good)
  await cache.load('digest', async () => known(1000))

  good = false

  expect(cache.find('digest')).toBeNull()
})

test('it is limited by entries and by bytes', async () => {
  const [few, large] = [createTokenCache<Named>(() => true, 3), createTokenCache<Named>(() => true)]
  for (let i = 0; i < 10; i++) {
    await few.load(String(i), async () => known(1000, { value: { name: String(i) } }))
    await large.load(String(i), async () => known(1000, { size: 2 ** 24 }))
  }

  expect([few.size, large.size]).toEqual([3, 2])
  expect(few.find('9')).toEqual({ name: '9' })
})

test('the key of a token is a digest', () => {
  expect(tokenDigest('token')).toBe('PEaenWxYddN6Q_NT1PiOYfz4EsZu7jRXRlpAsNpBU-A') // SHA-256, base64url
})
