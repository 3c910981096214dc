import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { CredentialRejected, VerifierUnavailable } from '../../../src/layers/auth/errors.ts'
import { Introspector, type IntrospectorOptions } from '../../../src/layers/auth/introspection.ts'

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['Date'] })
})

afterEach(() => {
  vi.useRealTimers()
})

type ScriptedReply = Readonly<Record<string, unknown>> | null | Error

/** Makes an introspector, and the server that it asks; `answer` is what that says of any token. */
const introspecting = (answer: ScriptedReply, other: Partial<IntrospectorOptions> = {}) => {
  const server = { answer, asked: 0 }
  const changes: (string | null)[] = []
  const introspector = new Introspector({
    introspect: async () => {
      server.asked++
      if (server.answer instanceof Error) throw server.answer
      return server.answer && { claims: server.answer, size: 1 }
    },
    cache: 30_000,
    issuer: null,
    audience: null,
    clockTolerance: 0,
    onChange: (error) => changes.push(error),
    ...other,
  })
  const claimsOf = async (token = 'token') => introspector.getClaims(token)
  return { server, changes, introspector, claimsOf }
}

const inSeconds = (seconds: number): number => Date.now() / 1000 + seconds

test('what the server says of a good token is believed for as long as is configured', async () => {
  const { server, claimsOf } = introspecting({ active: true, client_id: 'bank-a' })

  expect(await claimsOf()).toMatchObject({ client_id: 'bank-a' })
  vi.advanceTimersByTime(29_999)
  await claimsOf()
  expect(server.asked).toBe(1)
  vi.advanceTimersByTime(1)
  await claimsOf()

  expect(server.asked).toBe(2)
})

test('and no longer than the token itself is good', async () => {
  const { server, claimsOf } = introspecting({ active: true, exp: inSeconds(10) })
  await claimsOf()

  vi.advanceTimersByTime(10_000)

  await expect(claimsOf()).rejects.toThrow('it has expired')
  expect(server.asked).toBe(2)
})

test('without a cache it is asked each time, once for all who ask at the same time', async () => {
  const { server, claimsOf } = introspecting({ active: true }, { cache: 0 })

  await Promise.all([claimsOf(), claimsOf(), claimsOf()])
  await claimsOf()

  expect(server.asked).toBe(2)
})

test('a wrong token is asked about once a second, however often it comes', async () => {
  const { server, claimsOf } = introspecting(null)
  for (let i = 0; i < 20; i++) await expect(claimsOf()).rejects.toThrow(CredentialRejected)
  expect(server.asked).toBe(1)

  vi.advanceTimersByTime(1000)
  server.answer = { active: true }

  expect(await claimsOf()).toEqual({ active: true })
})

test.each<readonly [string, ScriptedReply]>([
  ['for another audience', { active: true, aud: 'https://elsewhere.example' }],
  ['for nobody in particular', { active: true, iss: 'https://issuer.example' }],
  ['of another issuer', { active: true, aud: 'gateway', iss: 'https://evil.example' }],
  ['that has expired', { active: true, aud: 'gateway', iss: 'https://issuer.example', exp: 1 }],
  ['that is not valid yet', { active: true, aud: 'gateway', iss: 'https://issuer.example', nbf: 1e11 }],
])('a token %s is refused, though the server says that it is active', async (_, answer) => {
  const { claimsOf } = introspecting(answer, { issuer: 'https://issuer.example', audience: ['gateway'] })

  await expect(claimsOf()).rejects.toThrow(CredentialRejected)
})

test('nobody is let in while the server cannot be asked, and that is said once', async () => {
  const { server, changes, introspector, claimsOf } = introspecting(
    new VerifierUnavailable('introspection-server', 'connect ECONNREFUSED'),
  )
  for (let i = 0; i < 5; i++) await expect(claimsOf(`token ${i}`)).rejects.toThrow(VerifierUnavailable)
  expect(introspector.state()).toMatchObject({ error: 'connect ECONNREFUSED', lastSuccess: null })

  vi.advanceTimersByTime(1000)
  server.answer = { active: true }
  await claimsOf()

  expect(changes).toEqual(['connect ECONNREFUSED', null])
  expect(introspector.state()).toMatchObject({ error: null, lastSuccess: Date.now() })
})

test('a flood of tokens, each another, does not become one at the server', async () => {
  let asked = 0
  const ask = (): Promise<null> => {
    asked++
    return new Promise(() => {})
  }
  const { introspector } = introspecting(null, { introspect: ask })
  const outcomes = Array.from({ length: 300 }, async (_, at) => introspector.getClaims(`token ${at}`))

  const first = await Promise.race(outcomes).catch((error) => error)

  expect(first).toBeInstanceOf(VerifierUnavailable)
  expect(asked).toBe(256)
  for (const outcome of outcomes) outcome.catch(() => {})
})
