import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { CredentialRejected, VerifierUnavailable } from '../../../../src/features/auth/errors.ts'
import { trackHealth } from '../../../../src/features/auth/tokens/dependency-health.ts'
import type { HttpRequest } from '../../../../src/features/auth/tokens/http-client.ts'
import {
  createIntrospector,
  type IntrospectorOptions,
  introspect,
} from '../../../../src/features/auth/tokens/introspection.ts'

describe('a request to the introspection server', () => {
  /** Creates a server that responds so, and records its requests. */
  const respondingWith = (status: number, text: string) => {
    const requests: HttpRequest[] = []
    const request = async (asked: HttpRequest) => {
      requests.push(asked)
      return { status, text }
    }
    return { requests, send: () => introspect({ request, close: () => {} }, credentials, 'to/ke+n=') }
  }

  const credentials = { clientId: 'gate:way', clientSecret: 'p%ss wörd' }

  test('it sends a form, with its credentials', async () => {
    const { send, requests } = respondingWith(200, '{"active":true,"scope":"read"}')

    expect(await send()).toEqual({ claims: { active: true, scope: 'read' }, size: 30 })

    expect(requests).toEqual([
      {
        method: 'POST',
        headers: {
          accept: 'application/json',
          authorization: `Basic ${Buffer.from('gate%3Away:p%25ss+w%C3%B6rd').toString('base64')}`,
          'content-type': 'application/x-www-form-urlencoded',
        },
        body: 'token=to%2Fke%2Bn%3D&token_type_hint=access_token',
      },
    ])
  })

  test('a token that is not active has no claims', async () => {
    expect(await respondingWith(200, '{"active":false,"scope":"read"}').send()).toBeNull()
  })

  test.each([
    [200, '{"active":"true"}'],
    [200, '{"active":1}'],
    [200, '{}'],
    [200, '[{"active":true}]'],
    [200, 'null'],
    [200, 'to/ke+n='],
    [201, '{"active":true}'],
    [302, '{"active":true}'],
    [401, '{"active":true}'],
    [500, ''],
  ])('a response %i %s lets no client in, and is not quoted', async (status, text) => {
    const error: unknown = await respondingWith(status, text)
      .send()
      .catch((thrown) => thrown)

    expect(error).toBeInstanceOf(VerifierUnavailable)
    expect((error as Error).message).not.toMatch(/to\/ke|p%ss|true/)
  })
})

beforeEach(() => void vi.useFakeTimers({ toFake: ['Date', 'performance', 'setTimeout', 'clearTimeout'] }))
afterEach(() => void vi.useRealTimers())

type ScriptedReply = Readonly<Record<string, unknown>> | null | Error

/** Creates an introspector, and its server; `reply` is what the server says of any token. */
const introspecting = (reply: ScriptedReply, other: Partial<IntrospectorOptions> = {}) => {
  const server = { reply, requests: 0 }
  const changes: (string | null)[] = []
  const introspector = createIntrospector({
    introspect: async () => {
      server.requests++
      if (server.reply instanceof Error) throw server.reply
      return server.reply && { claims: server.reply, size: 1 }
    },
    ...{ cache: 30_000, issuer: null, audience: null, clockTolerance: 0 },
    onChange: (error) => changes.push(error),
    ...other,
  })
  const getClaims = async (token = 'token') => introspector.getClaims(token)
  return { server, changes, state: () => introspector.state(), getClaims }
}

const active = { active: true }
const failure = new VerifierUnavailable('introspection-server', 'connect ECONNRESET')
const hour = 3_600_000

test('the claims of a good token are cached for as long as is configured', async () => {
  const { server, getClaims } = introspecting({ active: true, client_id: 'bank-a' })

  expect(await getClaims()).toMatchObject({ client_id: 'bank-a' })
  vi.advanceTimersByTime(29_999)
  await getClaims()
  expect(server.requests).toBe(1)
  vi.advanceTimersByTime(1)
  await getClaims()

  expect(server.requests).toBe(2)
})

test('and no longer than the token itself is good', async () => {
  const { server, getClaims } = introspecting({ active: true, exp: Date.now() / 1000 + 10 })
  await getClaims()

  vi.advanceTimersByTime(10_000)

  await expect(getClaims()).rejects.toThrow('it has expired')
  expect(server.requests).toBe(2)
})

test('without a cache each request asks, and simultaneous ones share a request', async () => {
  const { server, getClaims } = introspecting({ active: true }, { cache: 0 })

  await Promise.all([getClaims(), getClaims(), getClaims()])
  await getClaims()

  expect(server.requests).toBe(2)
})

test('a wrong token is introspected once a second, however often it comes', async () => {
  const { server, getClaims } = introspecting(null)
  for (let i = 0; i < 20; i++) await expect(getClaims()).rejects.toThrow(CredentialRejected)
  expect(server.requests).toBe(1)

  vi.advanceTimersByTime(1000)
  server.reply = { active: true }

  expect(await getClaims()).toEqual({ active: true })
})

test('a token of more than 8 KiB is rejected, and the server is not asked', async () => {
  const { server, getClaims } = introspecting({ active: true })

  expect(await getClaims('t'.repeat(8192))).toEqual({ active: true })
  await expect(getClaims('t'.repeat(8193))).rejects.toMatchObject({ reason: 'other-token-flaw' })

  expect(server.requests).toBe(1)
})

const ours = { ...active, aud: 'gateway', iss: 'https://issuer.example' }
test.each<readonly [string, ScriptedReply, string]>([
  ['for another audience', { ...ours, aud: 'https://elsewhere.example' }, 'wrong-audience'],
  ['without an audience', { ...active, iss: ours.iss }, 'wrong-audience'],
  ['of another issuer', { ...ours, iss: 'https://evil.example' }, 'wrong-issuer'],
  ['that has expired', { ...ours, exp: 1 }, 'expired'],
  ['that is not valid yet', { ...ours, nbf: 1e11 }, 'not-yet-valid'],
])('a token %s is rejected for that, each time, though the server says that it is active', async (_, reply, reason) => {
  const { server, getClaims } = introspecting(reply, { issuer: ours.iss, audience: ['gateway'] })

  for (let n = 0; n < 2; n++) await expect(getClaims()).rejects.toMatchObject({ name: 'CredentialRejected', reason })

  expect(server.requests).toBe(1)
})

test('no client is let in while the server is unavailable, and that is logged once', async () => {
  const { server, changes, state, getClaims } = introspecting(failure)
  for (let i = 0; i < 5; i++) await expect(getClaims(`token ${i}`)).rejects.toThrow(VerifierUnavailable)
  expect(state()).toMatchObject({ error: 'connect ECONNRESET', lastSuccess: null })

  vi.advanceTimersByTime(1000)
  server.reply = active
  await getClaims()

  expect(changes).toEqual(['connect ECONNRESET', null])
  expect(state()).toMatchObject({ error: null, lastSuccess: Date.now() })
})

test('a clock that is set back keeps no token inactive', async () => {
  const { server, getClaims } = introspecting(null)
  await expect(getClaims()).rejects.toThrow(CredentialRejected)

  vi.setSystemTime(Date.now() - 6 * hour)
  vi.advanceTimersByTime(1000)
  server.reply = active

  expect(await getClaims()).toEqual(active)
})

describe('the health of a server', () => {
  const open = () => {
    const changes: (string | null)[] = []
    return { changes, ...trackHealth((error) => changes.push(error), 1000) }
  }

  test('is well again a second after its one failure, though nothing comes by then, and the clock is set back', () => {
    const { changes, state, recordFailure, recordSuccess } = open()
    recordFailure('gone')
    vi.advanceTimersByTime(300)
    vi.setSystemTime(Date.now() - 6 * hour)
    recordSuccess()

    vi.advanceTimersByTime(699)
    expect(state).toMatchObject({ error: 'gone' })
    vi.advanceTimersByTime(1)

    expect(state).toMatchObject({ error: null, since: Date.now(), lastSuccess: Date.now() - 700 })
    expect(changes).toEqual(['gone', null])
  })

  test('is not where a failure after a good response begins the second anew', () => {
    const { changes, recordFailure, recordSuccess } = open()
    recordFailure('gone')
    recordSuccess()
    vi.advanceTimersByTime(500)
    recordFailure('gone')

    vi.advanceTimersByTime(hour)

    expect(changes).toEqual(['gone'])
  })
})

describe('a flood of different tokens', () => {
  /** The server responds as `replies` says for a token, and that all others are not active. */
  const askingSilentServer = (replies: Readonly<Record<string, ScriptedReply>>) => {
    const asked: string[] = []
    const ask: IntrospectorOptions['introspect'] = (token) => {
      asked.push(token)
      const reply = replies[token]
      return reply === undefined ? new Promise(() => {}) : Promise.resolve(reply && { claims: { ...reply }, size: 1 })
    }
    const { getClaims } = introspecting(null, { introspect: ask })
    const flood = () => Array.from({ length: 300 }, (_, nth) => getClaims(`random ${nth}`).catch((error) => error))
    return { asked, getClaims, flood }
  }

  test('does not become one at the server', async () => {
    const { asked, flood } = askingSilentServer({})

    expect(await Promise.race(flood())).toBeInstanceOf(VerifierUnavailable)
    expect(asked).toHaveLength(128)
  })

  test('leaves room for those that were active lately, though their results have expired', async () => {
    const { asked, getClaims, flood } = askingSilentServer({ known: active })
    await getClaims('known')
    vi.advanceTimersByTime(30_000)

    flood()

    await expect(getClaims('known')).resolves.toEqual(active)
    await expect(getClaims('another')).rejects.toThrow('too many tokens')
    expect(asked.filter((token) => token === 'known')).toHaveLength(2)
  })

  test('leaves none for a token that is active no more', async () => {
    const replies: Record<string, ScriptedReply> = { revoked: active }
    const { getClaims, flood } = askingSilentServer(replies)
    await getClaims('revoked')
    replies.revoked = null
    vi.advanceTimersByTime(30_000)
    await expect(getClaims('revoked')).rejects.toThrow('not active')
    vi.advanceTimersByTime(1000)

    flood()

    await expect(getClaims('revoked')).rejects.toThrow('too many tokens')
  })
})
