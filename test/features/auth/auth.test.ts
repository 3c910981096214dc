import { describe, expect, test } from 'vitest'
import { GatewayError } from '../../../src/core/exchange/failures/errors.ts'
import {
  type Authenticator,
  authLayer,
  createTokenAuthorizer,
  type VerifiedToken,
} from '../../../src/features/auth/auth.ts'
import { fakeExchange, fakeNext } from '../../helpers/exchange.ts'

describe('the attempted authentication method', () => {
  const nobody = { client: null, token: null }
  const reject = (): never => {
    throw new GatewayError('unauthenticated', { reason: 'expired' })
  }

  test.each<[string, Authenticator['authenticate'], boolean, object, string | null]>([
    ['recorded, also when the credential proves nothing', reject, true, { reason: 'expired' }, 'jwt'],
    ['null without a credential', () => nobody, false, { kind: 'unauthenticated', reason: 'no-credential' }, null],
    [
      'that of a good credential of no client',
      () => nobody,
      true,
      { kind: 'forbidden', reason: 'unknown-client' },
      'jwt',
    ],
  ])('is %s', async (_, authenticate, applies, error, attempted) => {
    const exchange = fakeExchange()
    const authenticator: Authenticator = {
      ...{ name: 'jwt', fields: ['authorization'], challenge: 'Bearer', applies: () => applies, authenticate },
    }
    const handle = authLayer({
      ...{ authenticators: [authenticator], forwardsCredentials: false, identityField: null, algorithms: null },
      required: { scopes: [], claims: {} },
    })(fakeNext())

    await expect(handle(exchange)).rejects.toMatchObject(error)

    expect([exchange.attemptedAuth, exchange.identity]).toEqual([attempted, null])
  })
})

describe('what a token has to say', () => {
  /** Returns `good`, or the challenge that the client gets; null: none. */
  const outcome = (
    claims: VerifiedToken['claims'] | null,
    required: object,
    scheme: VerifiedToken['scheme'] = 'bearer',
  ) => {
    const check = createTokenAuthorizer({ scopes: [], claims: {}, ...required }, ['ES256', 'PS256'])
    try {
      check?.(claims && { scheme, claims })
      return 'good'
    } catch (error) {
      return (error as GatewayError).fields[1] ?? null
    }
  }

  const scopes = ['leads.read', 'leads.list']

  test('a token that lacks a scope gets a challenge with the required ones, in the scheme that it came with', () => {
    const lacking = 'realm="lender-gateway", error="insufficient_scope", scope="leads.read leads.list"'

    expect(outcome({ scope: 'leads.read' }, { scopes })).toBe(`Bearer ${lacking}`)
    expect(outcome({ scope: 'leads.read' }, { scopes }, 'dpop')).toBe(`DPoP ${lacking}, algs="ES256 PS256"`)
    expect(outcome(null, { scopes })).toBe(`Bearer ${lacking}`)
  })

  test.each(['leads.list other leads.read', ' leads.read  leads.list ', ['leads.read', 'leads.list']])(
    'a scope may say so as %j',
    (scope) => {
      expect(outcome({ scope }, { scopes })).toBe('good')
    },
  )

  test.each([
    [{ scp: 'leads.list leads.read' }, 'good'],
    [{ scp: scopes }, 'good'],
    [{ scp: 'leads.read' }, 'insufficient'],
    // What `scope` says is all that counts: `scp` widens no token.
    [{ scope: 'leads.read', scp: scopes }, 'insufficient'],
    [{ scope: '', scp: scopes }, 'insufficient'],
    [{ scope: null, scp: scopes }, 'insufficient'],
  ])('scopes of a token without `scope` may stand in `scp`: %j is %s', (claims, expected) => {
    expect(outcome(claims, { scopes })).toContain(expected)
  })

  test.each([
    ...[
      undefined,
      '',
      'leads.read',
      'leads.read\tleads.list',
      'leads.read,leads.list',
      'LEADS.READ LEADS.LIST',
      1,
      null,
    ],
    ...['leads.readleads.list', ['leads.read leads.list'], [['leads.read', 'leads.list']]],
    { 'leads.read': true, 'leads.list': true },
  ])('a scope of %j is not enough', (scope) => {
    expect(outcome({ scope }, { scopes })).toMatch('insufficient_scope')
  })

  test('a required claim must match to the letter, and be the token’s own', () => {
    const required = { claims: { acr: 'high', constructor: 'x' } }

    expect(outcome({ acr: 'high', constructor: 'x' }, required)).toBe('good')
    const wrong: readonly VerifiedToken['claims'][] = [
      ...[{ acr: 'high' }, { acr: ['high'], constructor: 'x' }, { acr: 'High', constructor: 'x' }],
    ]
    for (const claims of [...wrong, null]) expect(outcome(claims, required)).toBeNull()
  })

  test('without requirements there is no check', () => {
    expect(createTokenAuthorizer({ scopes: [], claims: {} }, null)).toBeNull()
  })
})
