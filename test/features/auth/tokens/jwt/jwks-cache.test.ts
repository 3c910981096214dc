import { afterEach, beforeEach, expect, onTestFinished, test, vi } from 'vitest'
import { systemMs } from '../../../../../src/core/lib/clock.ts'
import { CredentialRejected, VerifierUnavailable } from '../../../../../src/features/auth/errors.ts'
import { createJwksCache, type FetchedJwks } from '../../../../../src/features/auth/tokens/jwt/jwks-cache.ts'
import { type JwtVerifierOptions, jwtVerifier } from '../../../../../src/features/auth/tokens/jwt/jwt-verifier.ts'
import { audience, claims, issuer, jwks, signingKey, signToken } from '../../../../helpers/tokens.ts'

beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance', 'Date'] }))
afterEach(() => void vi.useRealTimers())

const first = signingKey('ES256', 'first')
const second = signingKey('ES256', 'second')
const minute = 60_000
const pass = (ms: number): Promise<unknown> => vi.advanceTimersByTimeAsync(ms)

type ErrorType = typeof CredentialRejected | typeof VerifierUnavailable

/** Creates a cache and its server. `text`: the server’s response; null: the server is down. */
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
  onTestFinished(() => keys.close())
  const options = { issuer, audience: [audience], algorithms: ['ES256'], types: ['at+jwt'], clockTolerance: 0 }
  const { getClaims } = jwtVerifier(keys, options as JwtVerifierOptions)
  const isGood = async (token: string) => expect(await getClaims(token)).toMatchObject({ client_id: 'bank-a' })
  const isRejected = (token: string, cause: string | ErrorType = CredentialRejected) =>
    expect(getClaims(token)).rejects.toThrow(cause)
  return { server, changes, fetched, keys, getClaims, isGood, isRejected }
}

/** Opens one whose first set is there. */
const openFilled = async () => {
  const cache = openCache()
  await cache.keys.firstSet()
  return cache
}

/** Creates a token that is good for so long. */
const goodFor = (key: typeof first, ms = minute): string => signToken(key, claims({ exp: (Date.now() + ms) / 1000 }))

test('keys are there at once, and renewed in the background', async () => {
  const { server, keys, isGood } = openCache()

  await isGood(goodFor(first))
  server.text = jwks(first, second)
  await pass(5 * minute)

  expect(server.requests).toBe(2)
  expect(keys.state()).toMatchObject({ source: 'url', keys: 2, error: null, lastSuccess: Date.now() })
})

test('known keys go on while the issuer is down for ten minutes', async () => {
  const { server, changes, keys, isGood, isRejected } = await openFilled()
  server.text = null

  for (let minutes = 0; minutes < 15; minutes++) {
    await pass(minute)
    await isGood(goodFor(first))
  }
  expect(keys.state()).toMatchObject({ keys: 1, error: 'connect ECONNREFUSED' })
  await isRejected(goodFor(second), VerifierUnavailable)
  server.text = jwks(first, second)
  await pass(15_000 * 1.1)

  await isGood(goodFor(second))
  expect(changes).toEqual(['connect ECONNREFUSED', null])
})

test('no client is let in before there are keys, and no request waits for what has just failed', async () => {
  const { server, isGood, isRejected } = openCache(null)
  await isRejected(goodFor(first), VerifierUnavailable)
  const { requests } = server

  await isRejected(goodFor(first), VerifierUnavailable)
  expect(server.requests).toBe(requests)
  server.text = jwks(first)
  await pass(1000)

  await isGood(goodFor(first))
})

test('a new key is fetched as soon as a token names it, once for all who wait', async () => {
  const { server, getClaims } = await openFilled()
  server.text = jwks(first, second)

  const got = await Promise.all(Array.from({ length: 50 }, (_, at) => getClaims(goodFor(second, minute + at))))

  expect(got).toHaveLength(50)
  expect(server.requests).toBe(2)
})

test('a key that was published while keys were being fetched is fetched again', async () => {
  const { server, isGood, isRejected } = await openFilled()
  let goOn = (): void => {}
  server.delay = () => new Promise((resolve) => (goOn = resolve))
  const unknown = isRejected(goodFor(signingKey('ES256', 'unknown')))
  server.text = jwks(first, second) // too late for the response that is on its way
  const known = isGood(goodFor(second))

  server.delay = async () => {}
  goOn()

  await unknown
  await known
  expect(server.requests).toBe(3)
})

// RFC 7517 §4.5 wants another kid for another key; not every issuer writes one.
test('a key that has replaced another under the same kid is fetched when a signature fails', async () => {
  const { server, getClaims, isGood, isRejected } = await openFilled()
  const renewed = signingKey('ES256', 'first')
  const before = goodFor(first)
  await getClaims(before)
  server.text = jwks(renewed)

  await isGood(goodFor(renewed))

  await isRejected(before, 'its signature is wrong')
})

test.each<[string, (n: number) => string, string, string | null]>([
  [
    'wrong signatures, which are rejected while it is down, are',
    (n) => goodFor(signingKey('ES256', 'first'), minute + n),
    ...(['its signature is wrong', null] as const),
  ],
  ['unknown keys are', (n) => signToken(first, claims(), { kid: `unknown ${n}` }), 'no key', jwks(first)],
])('a flood of %s no flood at the issuer', async (_, toToken, cause, later) => {
  const { server, isRejected } = await openFilled()
  const flood = async (): Promise<void> => {
    for (let n = 0; n < 20; n++) await isRejected(toToken(n), cause)
  }

  await flood()
  expect(server.requests).toBe(1 + 3)
  server.text = later
  await pass(1000)
  await flood()

  expect(server.requests).toBe(1 + 4)
})

test('a key that leaves the set ends what it has verified', async () => {
  const { server, getClaims, isRejected } = openCache(jwks(first, second))
  const token = goodFor(first, 60 * minute)
  await getClaims(token)
  expect(getClaims(token)).not.toBeInstanceOf(Promise)

  server.text = jwks(second)
  await pass(5 * minute)

  await isRejected(token)
})

test('a response that is no key set is an outage like another', async () => {
  const { server, changes, isGood } = await openFilled()

  server.text = '<html>'
  await pass(5 * minute)

  expect(changes).toEqual(['it is not JSON'])
  await isGood(goodFor(first))
})

test('a set without keys ends those before it, is logged, and soon fetched again', async () => {
  const { server, changes, getClaims, isGood, isRejected } = openCache()
  const token = goodFor(first, 60 * minute)
  await getClaims(token)

  server.text = '{"keys":[]}'
  await pass(5 * minute)
  await isRejected(token, VerifierUnavailable)
  server.text = jwks(first)
  await pass(1000)

  await isGood(token)
  expect(changes).toEqual(['it holds no key that can be used', null])
})

test('while unknown keys flood in, a new one of the issuer is known within a second', async () => {
  const { server, keys, getClaims, isGood } = await openFilled()
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
  await isGood(goodFor(second))
})

test('keys that another process has fetched are good at once, while the issuer is down, and keep their age', async () => {
  const { changes, fetched, keys, isGood, isRejected } = openCache(null)
  await isRejected(goodFor(first), VerifierUnavailable)
  const fetchedAt = systemMs() - 10 * minute

  keys.adopt({ text: jwks(first), fetchedAt })

  await isGood(goodFor(first))
  await isRejected(goodFor(second), VerifierUnavailable)
  expect(keys.state()).toMatchObject({ keys: 1, error: 'connect ECONNREFUSED', lastSuccess: Date.now() - 10 * minute })
  expect(keys.fetched).toEqual({ text: jwks(first), fetchedAt })
  expect(changes).toEqual(['connect ECONNREFUSED'])
  // Only what a process has fetched itself is handed on.
  expect(fetched).toEqual([])
})

test('of the sets that several processes have fetched the newest counts, so a withdrawn key does not come back', async () => {
  const { server, fetched, keys, getClaims, isGood, isRejected } = openCache()
  const token = goodFor(first, 60 * minute)
  await getClaims(token)
  const [at, fetchedAt] = [Date.now(), systemMs()]
  server.text = null
  await pass(minute)

  keys.adopt({ text: jwks(second), fetchedAt: fetchedAt + 1 })
  keys.adopt({ text: jwks(first), fetchedAt })

  await isGood(goodFor(second))
  await isRejected(token, VerifierUnavailable)
  keys.adopt({ text: '{"keys":[]}', fetchedAt: fetchedAt + 2 })
  expect(keys.state()).toMatchObject({ keys: 0, lastSuccess: at + 1 })
  expect(fetched).toEqual([{ text: jwks(first), fetchedAt }])
})

test('the newest set counts after the wall clock was set back, so a new key is good at once', async () => {
  const { server, keys, isGood } = await openFilled()
  vi.setSystemTime(Date.now() - 120 * minute)
  server.text = null
  await pass(minute)

  keys.adopt({ text: jwks(second), fetchedAt: systemMs() })

  await isGood(goodFor(second))
  expect(keys.state()).toMatchObject({ lastSuccess: Date.now() })
})

test('a set that was asked for before the one that another process has fetched does not bring back its keys', async () => {
  const { server, fetched, keys, isGood, isRejected } = await openFilled()
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
  await isRejected(goodFor(first))
  await isGood(goodFor(second))
})

test('a closed cache fetches no more', async () => {
  const { server, keys } = await openFilled()
  await pass(0)

  keys.close()
  await pass(60 * minute)

  expect(server.requests).toBe(1)
})
