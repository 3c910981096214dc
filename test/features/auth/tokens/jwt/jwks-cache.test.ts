import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { systemMs } from '../../../../../src/core/lib/clock.ts'
import { CredentialRejected, VerifierUnavailable } from '../../../../../src/features/auth/errors.ts'
import { createJwksCache, type FetchedJwks } from '../../../../../src/features/auth/tokens/jwt/jwks-cache.ts'
import { jwtVerifier } from '../../../../../src/features/auth/tokens/jwt/jwt-verifier.ts'
import { audience, claims, issuer, jwks, signingKey, signToken } from '../../../../helpers/tokens.ts'

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance', 'Date'] })
})

afterEach(() => {
  vi.useRealTimers()
})

const first = signingKey('ES256', 'first')
const second = signingKey('ES256', 'second')
const minute = 60_000

/** Creates a cache, and its server: `text` is the server’s response; null: the server is down. */
const openCache = (text: string | null = jwks(first)) => {
  const server = { text, requests: 0, delay: async (): Promise<void> => {} }
  const changes: (string | null)[] = []
  const fetched: FetchedJwks[] = []
  const keys = createJwksCache({
    fetch: async () => {
      server.requests++
      const response = server.text
      await server.delay()
      if (response === null) throw new Error('connect ECONNREFUSED')
      return response
    },
    onChange: (error) => changes.push(error),
    onFetched: (set) => fetched.push(set),
    random: () => 0.5,
  })
  const { getClaims } = jwtVerifier(keys, {
    issuer,
    audience: [audience],
    algorithms: ['ES256'],
    types: ['at+jwt'],
    clockTolerance: 0,
  })
  return { server, changes, fetched, keys, getClaims }
}

const pass = (ms: number): Promise<unknown> => vi.advanceTimersByTimeAsync(ms)

/** Creates a token that is good for so long. */
const goodFor = (key: typeof first, ms: number): string => signToken(key, claims({ exp: (Date.now() + ms) / 1000 }))

test('keys are there at once, and renewed in the background', async () => {
  const { server, keys, getClaims } = openCache()

  expect(await getClaims(goodFor(first, minute))).toMatchObject({ client_id: 'bank-a' })
  server.text = jwks(first, second)
  await pass(5 * minute)

  expect(server.requests).toBe(2)
  expect(keys.state()).toMatchObject({ source: 'url', keys: 2, error: null, lastSuccess: Date.now() })
  keys.close()
})

test('known keys go on while the issuer is down for ten minutes', async () => {
  const { server, changes, keys, getClaims } = openCache()
  await keys.firstSet()
  server.text = null

  for (let minutes = 0; minutes < 15; minutes++) {
    await pass(minute)
    expect(await getClaims(goodFor(first, minute))).toMatchObject({ client_id: 'bank-a' })
  }
  expect(keys.state()).toMatchObject({ keys: 1, error: 'connect ECONNREFUSED' })
  await expect(getClaims(goodFor(second, minute))).rejects.toThrow(VerifierUnavailable)
  server.text = jwks(first, second)
  await pass(15_000 * 1.1)

  expect(await getClaims(goodFor(second, minute))).toMatchObject({ client_id: 'bank-a' })
  expect(changes).toEqual(['connect ECONNREFUSED', null])
  keys.close()
})

test('no client is let in before there are keys, and no request waits for what has just failed', async () => {
  const { server, keys, getClaims } = openCache(null)
  await expect(getClaims(goodFor(first, minute))).rejects.toThrow(VerifierUnavailable)
  const { requests } = server

  await expect(getClaims(goodFor(first, minute))).rejects.toThrow(VerifierUnavailable)
  expect(server.requests).toBe(requests)
  server.text = jwks(first)
  await pass(1000)

  expect(await getClaims(goodFor(first, minute))).toMatchObject({ client_id: 'bank-a' })
  keys.close()
})

test('a new key is fetched as soon as a token names it, once for all who wait', async () => {
  const { server, keys, getClaims } = openCache()
  await keys.firstSet()
  server.text = jwks(first, second)

  const got = await Promise.all(Array.from({ length: 50 }, (_, at) => getClaims(goodFor(second, minute + at))))

  expect(got).toHaveLength(50)
  expect(server.requests).toBe(2)
  keys.close()
})

test('a key that was published while keys were being fetched is fetched again', async () => {
  const { server, keys, getClaims } = openCache()
  await keys.firstSet()
  let goOn = (): void => {}
  server.delay = () => new Promise((resolve) => (goOn = resolve))
  const unknown = expect(getClaims(goodFor(signingKey('ES256', 'unknown'), minute))).rejects.toThrow(CredentialRejected)
  server.text = jwks(first, second) // too late for the response that is on its way
  const known = getClaims(goodFor(second, minute))

  server.delay = async () => {}
  goOn()

  await unknown
  expect(await known).toMatchObject({ client_id: 'bank-a' })
  expect(server.requests).toBe(3)
  keys.close()
})

// RFC 7517 §4.5 wants another kid for another key; not every issuer writes one.
test('a key that has replaced another under the same kid is fetched when a signature fails', async () => {
  const { server, keys, getClaims } = openCache()
  await keys.firstSet()
  const renewed = signingKey('ES256', 'first')
  const before = goodFor(first, minute)
  await getClaims(before)
  server.text = jwks(renewed)

  expect(await getClaims(goodFor(renewed, minute))).toMatchObject({ client_id: 'bank-a' })

  await expect(getClaims(before)).rejects.toThrow('its signature is wrong')
  keys.close()
})

test('wrong signatures are no flood at the issuer, and are rejected while it is down', async () => {
  const { server, keys, getClaims } = openCache()
  await keys.firstSet()
  const forger = signingKey('ES256', 'first')
  const forge = async (count: number): Promise<void> => {
    for (let i = 0; i < count; i++)
      await expect(getClaims(goodFor(forger, minute + i))).rejects.toThrow('its signature is wrong')
  }

  await forge(20)
  expect(server.requests).toBe(1 + 3)
  server.text = null
  await pass(1000)
  await forge(20)

  expect(server.requests).toBe(1 + 4)
  keys.close()
})

test('a flood of unknown keys is no flood at the issuer', async () => {
  const { server, keys, getClaims } = openCache()
  await keys.firstSet()
  const flood = async (count: number): Promise<void> => {
    for (let i = 0; i < count; i++)
      await expect(getClaims(signToken(first, claims(), { kid: `unknown ${i}` }))).rejects.toThrow(CredentialRejected)
  }

  await flood(20)
  expect(server.requests).toBe(1 + 3)
  await pass(1000)
  await flood(20)

  expect(server.requests).toBe(1 + 4)
  keys.close()
})

test('a key that leaves the set ends what it has verified', async () => {
  const { server, keys, getClaims } = openCache(jwks(first, second))
  const token = goodFor(first, 60 * minute)
  await getClaims(token)
  expect(getClaims(token)).not.toBeInstanceOf(Promise)

  server.text = jwks(second)
  await pass(5 * minute)

  await expect(getClaims(token)).rejects.toThrow(CredentialRejected)
  keys.close()
})

test('a response that is no key set is an outage like another', async () => {
  const { server, changes, keys, getClaims } = openCache()
  await keys.firstSet()

  server.text = '<html>'
  await pass(5 * minute)

  expect(changes).toEqual(['it is not JSON'])
  expect(await getClaims(goodFor(first, minute))).toMatchObject({ client_id: 'bank-a' })
  keys.close()
})

test('a set without keys ends those before it, is logged, and soon fetched again', async () => {
  const { server, changes, keys, getClaims } = openCache()
  const token = goodFor(first, 60 * minute)
  await getClaims(token)

  server.text = '{"keys":[]}'
  await pass(5 * minute)
  await expect(getClaims(token)).rejects.toThrow(VerifierUnavailable)
  server.text = jwks(first)
  await pass(1000)

  expect(await getClaims(token)).toMatchObject({ client_id: 'bank-a' })
  expect(changes).toEqual(['it holds no key that can be used', null])
  keys.close()
})

test('while unknown keys flood in, a new one of the issuer is known within a second', async () => {
  const { server, keys, getClaims } = openCache()
  await keys.firstSet()
  const flood = (): Promise<unknown> =>
    Promise.allSettled(
      Array.from({ length: 20 }, (_, at) => getClaims(signToken(first, claims(), { kid: `unknown ${at}` }))),
    )
  await flood()
  server.text = jwks(second)

  let waitedMs = 0
  for (; keys.current?.find('ES256', 'second').length === 0; waitedMs += 50) {
    await flood()
    await pass(50)
  }

  expect(waitedMs).toBeLessThanOrEqual(1000)
  expect(await getClaims(goodFor(second, minute))).toMatchObject({ client_id: 'bank-a' })
  keys.close()
})

test('keys that another process has fetched are good at once, while the issuer is down, and keep their age', async () => {
  const { changes, fetched, keys, getClaims } = openCache(null)
  await expect(getClaims(goodFor(first, minute))).rejects.toThrow(VerifierUnavailable)
  const fetchedAt = systemMs() - 10 * minute

  keys.adopt({ text: jwks(first), fetchedAt })

  expect(await getClaims(goodFor(first, minute))).toMatchObject({ client_id: 'bank-a' })
  await expect(getClaims(goodFor(second, minute))).rejects.toThrow(VerifierUnavailable)
  expect(keys.state()).toMatchObject({ keys: 1, error: 'connect ECONNREFUSED', lastSuccess: Date.now() - 10 * minute })
  expect(keys.fetched).toEqual({ text: jwks(first), fetchedAt })
  expect(changes).toEqual(['connect ECONNREFUSED'])
  // Only what a process has fetched itself is handed on.
  expect(fetched).toEqual([])
  keys.close()
})

test('of the sets that several processes have fetched the newest counts, so a withdrawn key does not come back', async () => {
  const { server, fetched, keys, getClaims } = openCache()
  const token = goodFor(first, 60 * minute)
  await getClaims(token)
  const [at, fetchedAt] = [Date.now(), systemMs()]
  server.text = null
  await pass(minute)

  keys.adopt({ text: jwks(second), fetchedAt: fetchedAt + 1 })
  keys.adopt({ text: jwks(first), fetchedAt })

  expect(await getClaims(goodFor(second, minute))).toMatchObject({ client_id: 'bank-a' })
  await expect(getClaims(token)).rejects.toThrow(VerifierUnavailable)
  keys.adopt({ text: '{"keys":[]}', fetchedAt: fetchedAt + 2 })
  expect(keys.state()).toMatchObject({ keys: 0, lastSuccess: at + 1 })
  expect(fetched).toEqual([{ text: jwks(first), fetchedAt }])
  keys.close()
})

test('the newest set counts after the wall clock was set back, so a new key is good at once', async () => {
  const { server, keys, getClaims } = openCache()
  await keys.firstSet()
  vi.setSystemTime(Date.now() - 120 * minute)
  server.text = null
  await pass(minute)

  keys.adopt({ text: jwks(second), fetchedAt: systemMs() })

  expect(await getClaims(goodFor(second, minute))).toMatchObject({ client_id: 'bank-a' })
  expect(keys.state()).toMatchObject({ lastSuccess: Date.now() })
  keys.close()
})

test('a set that was asked for before the one that another process has fetched does not bring back its keys', async () => {
  const { server, fetched, keys, getClaims } = openCache()
  await keys.firstSet()
  const late = Promise.withResolvers<void>()
  server.delay = () => late.promise
  await pass(5 * minute)
  server.text = jwks(second)
  await pass(1000)
  const newest = { text: jwks(second), fetchedAt: systemMs() }

  keys.adopt(newest)
  late.resolve()
  await pass(0)

  expect(server.requests).toBe(2)
  expect(keys.fetched).toEqual(newest)
  expect(fetched).toHaveLength(1)
  await expect(getClaims(goodFor(first, minute))).rejects.toThrow(CredentialRejected)
  expect(await getClaims(goodFor(second, minute))).toMatchObject({ client_id: 'bank-a' })
  keys.close()
})

test('a closed cache fetches no more', async () => {
  const { server, keys } = openCache()
  await keys.firstSet()
  await pass(0)

  keys.close()
  await pass(60 * minute)

  expect(server.requests).toBe(1)
})
