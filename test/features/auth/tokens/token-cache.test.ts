import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { type CachedToken, createTokenCache, tokenDigest } from '../../../../src/features/auth/tokens/token-cache.ts'

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['Date', 'performance'] })
})

afterEach(() => {
  vi.useRealTimers()
})

const known = (ms: number, name = 'a'): CachedToken<{ name: string }> => ({
  value: { name },
  expiresAt: Date.now() + ms,
  believedMs: Number.POSITIVE_INFINITY,
  size: 1,
})

test('a result is cached until it expires, to the millisecond', async () => {
  const cache = createTokenCache<{ name: string }>(() => true)
  await cache.load('digest', async () => known(1000))

  vi.advanceTimersByTime(999)
  expect(cache.find('digest')).toEqual({ name: 'a' })
  vi.advanceTimersByTime(1)

  expect(cache.find('digest')).toBeNull()
  expect(cache.size).toBe(0)
})

// A duration is measured by the monotonic clock: an operator, NTP or a restored machine sets the wall clock.
test.each([-2, 2])('a result is believed for its time, though the wall clock is set by %d h', async (hours) => {
  const cache = createTokenCache<{ name: string }>(() => true)
  const never = { expiresAt: Number.POSITIVE_INFINITY }
  await cache.load('digest', async () => ({ ...known(0), ...never, believedMs: 1000 }))

  vi.setSystemTime(Date.now() + hours * 3_600_000)
  vi.advanceTimersByTime(999)
  expect(cache.find('digest')).toEqual({ name: 'a' })
  vi.advanceTimersByTime(1)

  expect(cache.find('digest')).toBeNull()
})

test.each([
  ['ahead, past the end of the token (RFC 7519 §4.1.4)', 2, 0],
  ['back, so that the token would be good for longer than when it was verified', -2, 60_000],
])('a result ends with its token when the wall clock is set %s', async (_, hours, afterMs) => {
  const cache = createTokenCache<{ name: string }>(() => true)
  await cache.load('digest', async () => known(60_000))

  vi.setSystemTime(Date.now() + hours * 3_600_000)
  vi.advanceTimersByTime(afterMs)

  expect(cache.find('digest')).toBeNull()
})

test('simultaneous requests share a verification, and a failure is not cached', async () => {
  const cache = createTokenCache<{ name: string }>(() => true)
  let verifications = 0
  const fail = async (): Promise<CachedToken<{ name: string }>> => {
    verifications++
    throw new Error('no')
  }

  const both = await Promise.allSettled([cache.load('digest', fail), cache.load('digest', fail)])
  const next = await cache.load('digest', async () => known(1000))

  expect(both.map(({ status }) => status)).toEqual(['rejected', 'rejected'])
  expect(verifications).toBe(1)
  expect(next).toEqual({ name: 'a' })
})

test('it ends when what it was verified with no longer holds', async () => {
  let good = true
  const cache = createTokenCache<{ name: string }>(() => good)
  await cache.load('digest', async () => known(1000))

  good = false

  expect(cache.find('digest')).toBeNull()
})

test('it is limited by entries and by bytes', async () => {
  const few = createTokenCache<{ name: string }>(() => true, 3)
  for (let i = 0; i < 10; i++) await few.load(String(i), async () => known(1000, String(i)))
  const large = createTokenCache<{ name: string }>(() => true)
  for (let i = 0; i < 10; i++) await large.load(String(i), async () => ({ ...known(1000), size: 2 ** 24 }))

  expect(few.size).toBe(3)
  expect(few.find('9')).toEqual({ name: '9' })
  expect(large.size).toBe(2)
})

test('the key of a token is a digest', () => {
  expect(tokenDigest('token')).toBe('PEaenWxYddN6Q_NT1PiOYfz4EsZu7jRXRlpAsNpBU-A') // SHA-256, base64url
})
