import { expect, onTestFinished } from 'vitest'
import { bootGateway, type TestGateway } from './gateway.ts'
import { audience, claims, issuer, type SigningKey, signingKey, signToken } from './tokens.ts'
import { openHttpUpstream } from './upstream.ts'

/** A gateway that takes tokens of `key` from bank-a, and all that came through to its upstream. */
export interface JwtGateway {
  readonly gateway: TestGateway
  /** What the issuer signs with: it is in the set that the gateway was given. */
  readonly key: SigningKey
  readonly rsa: SigningKey
  /** The paths that upstreams were asked for. */
  readonly reached: readonly string[]
  ask(shown: string, path?: string): Promise<Response>
  /** Checks that a token is rejected like any other, that the log says why, and that the token stands nowhere. */
  expectRejected(shown: string, cause: string): Promise<void>
}

/** Boots one. `jwt` and `auth` differ from what they usually have; `others` are further keys of the set. */
export const bootJwtGateway = async (
  jwt: object = {},
  auth: object = {},
  others: readonly object[] = [],
): Promise<JwtGateway> => {
  const reached: string[] = []
  const upstream = await openHttpUpstream((request, response) => {
    reached.push(request.url ?? '')
    response.end(JSON.stringify(request.rawHeaders))
  })
  onTestFinished(() => upstream.close())
  const key = signingKey('ES256', 'elliptic')
  const rsa = signingKey('PS256', 'rsa')
  const set = JSON.stringify({ keys: [key.jwk, rsa.jwk, ...others] })
  const gateway = await bootGateway({
    upstream: upstream.url,
    auth: { methods: ['jwt'], jwt: { issuer, audience: [audience], jwks: set, ...jwt }, ...auth },
    clients: [{ id: 'bank-a', claims: { client_id: 'bank-a' }, operations: ['market.insights'] }],
  })
  const ask = (shown: string, path = '/market/insights'): Promise<Response> =>
    fetch(gateway.url + path, { headers: { authorization: `Bearer ${shown}` } })
  return {
    gateway,
    key,
    rsa,
    reached,
    ask,
    async expectRejected(shown, cause) {
      const before = gateway.lines.length
      const response = await ask(shown)
      const body = await response.text()

      expect(response.status).toBe(401)
      expect(response.headers.get('www-authenticate')).toBe('Bearer realm="lender-gateway", error="invalid_token"')
      expect(JSON.parse(body)).toMatchObject({ code: 'unauthenticated' })
      expect(
        await gateway.line((line) => gateway.lines.indexOf(line) >= before && line.failure !== undefined),
      ).toMatchObject({ failure: 'unauthenticated', reason: reasonOf(cause), cause: expect.stringContaining(cause) })
      expect(reached).toEqual([])
      for (const part of shown.split('.').filter((each) => each.length > 8))
        expect(body + JSON.stringify(gateway.lines)).not.toContain(part)
      // It was that, and nothing else, that was wrong.
      expect((await ask(signToken(key, claims()))).status).toBe(200)
      reached.length = 0
    },
  }
}

/** Returns which bounded word goes with a sentence of the log. */
const reasonOf = (cause: string): string => words[cause] ?? 'other-token-flaw'

const words: Readonly<Record<string, string>> = {
  'it is of another issuer': 'wrong-issuer',
  'it is for another audience': 'wrong-audience',
  'it has expired': 'expired',
  'it is not valid yet': 'not-yet-valid',
  'it was made in the future': 'not-yet-valid',
  'its algorithm is not allowed': 'token-type',
  'its type is not allowed': 'token-type',
  'its signature is wrong': 'bad-signature',
  'no key, or no single one, is known for it': 'unknown-kid',
}
