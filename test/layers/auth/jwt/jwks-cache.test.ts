import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { CredentialRejected, VerifierUnavailable } from '../../../../src/layers/auth/errors.ts'
import { JwksCache } from '../../../../src/layers/auth/jwt/jwks-cache.ts'
import { jwtVerifier } from '../../../../src/layers/auth/jwt/jwt-verifier.ts'
import { audience, claims, issuer, jwks, signingKey, signToken } from '../../../helpers/tokens.ts'

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance', 'Date'] })
})

afterEach(() => {
  vi.useRealTimers()
})

const first = signingKey('ES256', 'first')
const second = signingKey('ES256', 'second')
const minute = 60_000

/** Makes a keeper, and the server that it asks: `text` is what that answers; null: it is gone. */
const openCache = (text: string | null = jwks(first)) => {
  const server = { text, asked: 0, answer: async (): Promise<void> => {} }
  const changes: (string | null)[] = []
  const keys = new JwksCache({
    fetch: async () => {
      server.asked++
      const answer = server.text
      await server.answer()
      if (answer === null) throw new Error('connect ECONNREFUSED')
      return answer
    },
    onChange: (error) => changes.push(error),
    random: () => 0.5,
  })
  const claimsOf = jwtVerifier(keys, {
    issuer,
    audience: [audience],
    algorithms: ['ES256'],
    types: ['at+jwt'],
    clockTolerance: 0,
  })
  return { server, changes, keys, claimsOf }
}

const pass = (ms: number): Promise<unknown> => vi.advanceTimersByTimeAsync(ms)

/** Makes a token that is good for so long. */
const goodFor = (key: typeof first, ms: number): string => signToken(key, claims({ exp: (Date.now() + ms) / 1000 }))

test('keys are there at once, and renewed behind the requests', async () => {
  const { server, keys, claimsOf } = openCache()

  expect(await claimsOf(goodFor(first, minute))).toMatchObject({ client_id: 'bank-a' })
  server.text = jwks(first, second)
  await pass(5 * minute)

  expect(server.asked).toBe(2)
  expect(keys.state()).toMatchObject({ source: 'url', keys: 2, error: null, lastSuccess: Date.now() })
  keys.close()
})

test('known keys go on while the issuer is gone for ten minutes', async () => {
  const { server, changes, keys, claimsOf } = openCache()
  await keys.firstSet()
  server.text = null

  for (let minutes = 0; minutes < 15; minutes++) {
    await pass(minute)
    expect(await claimsOf(goodFor(first, minute))).toMatchObject({ client_id: 'bank-a' })
  }
  expect(keys.state()).toMatchObject({ keys: 1, error: 'connect ECONNREFUSED' })
  await expect(claimsOf(goodFor(second, minute))).rejects.toThrow(VerifierUnavailable)
  server.text = jwks(first, second)
  await pass(15_000 * 1.1)

  expect(await claimsOf(goodFor(second, minute))).toMatchObject({ client_id: 'bank-a' })
  expect(changes).toEqual(['connect ECONNREFUSED', null])
  keys.close()
})

test('nobody is let in before there are keys, and nobody waits for what has just failed', async () => {
  const { server, keys, claimsOf } = openCache(null)
  await expect(claimsOf(goodFor(first, minute))).rejects.toThrow(VerifierUnavailable)
  const { asked } = server

  await expect(claimsOf(goodFor(first, minute))).rejects.toThrow(VerifierUnavailable)
  expect(server.asked).toBe(asked)
  server.text = jwks(first)
  await pass(1000)

  expect(await claimsOf(goodFor(first, minute))).toMatchObject({ client_id: 'bank-a' })
  keys.close()
})

test('a new key is fetched as soon as a token names it, once for all who wait', async () => {
  const { server, keys, claimsOf } = openCache()
  await keys.firstSet()
  server.text = jwks(first, second)

  const got = await Promise.all(Array.from({ length: 50 }, (_, at) => claimsOf(goodFor(second, minute + at))))

  expect(got).toHaveLength(50)
  expect(server.asked).toBe(2)
  keys.close()
})

test('a key that was published while keys were being fetched is fetched again', async () => {
  const { server, keys, claimsOf } = openCache()
  await keys.firstSet()
  let goOn = (): void => {}
  server.answer = () => new Promise((resolve) => (goOn = resolve))
  const unknown = expect(claimsOf(goodFor(signingKey('ES256', 'unknown'), minute))).rejects.toThrow(CredentialRejected)
  server.text = jwks(first, second) // too late for the answer that is on its way
  const known = claimsOf(goodFor(second, minute))

  server.answer = async () => {}
  goOn()

  await unknown
  expect(await known).toMatchObject({ client_id: 'bank-a' })
  expect(server.asked).toBe(3)
  keys.close()
})

test('a flood of unknown keys is no flood at the issuer', async () => {
  const { server, keys, claimsOf } = openCache()
  await keys.firstSet()
  const flood = async (count: number): Promise<void> => {
    for (let i = 0; i < count; i++)
      await expect(claimsOf(signToken(first, claims(), { kid: `unknown ${i}` }))).rejects.toThrow(CredentialRejected)
  }

  await flood(20)
  expect(server.asked).toBe(1 + 3)
  await pass(1000)
  await flood(20)

  expect(server.asked).toBe(1 + 4)
  keys.close()
})

test('a key that leaves the set ends what it has verified', async () => {
  const { server, keys, claimsOf } = openCache(jwks(first, second))
  const shown = goodFor(first, 60 * minute)
  await claimsOf(shown)
  expect(claimsOf(shown)).not.toBeInstanceOf(Promise)

  server.text = jwks(second)
  await pass(5 * minute)

  await expect(claimsOf(shown)).rejects.toThrow(CredentialRejected)
  keys.close()
})

test('what is no key set is an outage like another', async () => {
  const { server, changes, keys, claimsOf } = openCache()
  await keys.firstSet()

  server.text = '<html>'
  await pass(5 * minute)

  expect(changes).toEqual(['it is not JSON'])
  expect(await claimsOf(goodFor(first, minute))).toMatchObject({ client_id: 'bank-a' })
  keys.close()
})

test('a set without keys ends those before it, is told of, and soon asked for again', async () => {
  const { server, changes, keys, claimsOf } = openCache()
  const shown = goodFor(first, 60 * minute)
  await claimsOf(shown)

  server.text = '{"keys":[]}'
  await pass(5 * minute)
  await expect(claimsOf(shown)).rejects.toThrow(VerifierUnavailable)
  server.text = jwks(first)
  await pass(1000)

  expect(await claimsOf(shown)).toMatchObject({ client_id: 'bank-a' })
  expect(changes).toEqual(['it holds no key that can be used', null])
  keys.close()
})

test('while unknown keys flood in, a new one of the issuer is known within a second', async () => {
  const { server, keys, claimsOf } = openCache()
  await keys.firstSet()
  const flood = (): Promise<unknown> =>
    Promise.allSettled(
      Array.from({ length: 20 }, (_, at) => claimsOf(signToken(first, claims(), { kid: `unknown ${at}` }))),
    )
  await flood()
  server.text = jwks(second)

  let waitedMs = 0
  for (; keys.current?.find('ES256', 'second').length === 0; waitedMs += 50) {
    await flood()
    await pass(50)
  }

  expect(waitedMs).toBeLessThanOrEqual(1000)
  expect(await claimsOf(goodFor(second, minute))).toMatchObject({ client_id: 'bank-a' })
  keys.close()
})

test('one that is closed fetches no more, and leaves no timer', async () => {
  const { server, keys } = openCache()
  await keys.firstSet()
  await pass(0)

  keys.close()
  await pass(60 * minute)

  expect(server.asked).toBe(1)
  expect(vi.getTimerCount()).toBe(0)
})
