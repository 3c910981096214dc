import { describe, expect, test } from 'vitest'
import { GatewayError } from '../../../src/core/exchange/failures/errors.ts'
import {
  type Authenticator,
  authLayer,
  createTokenAuthorizer,
  type VerifiedToken,
} from '../../../src/features/auth/auth.ts'
import { fakeExchange, fakeNext } from '../../helpers/exchange.ts'

const authenticator = (authenticate: Authenticator['authenticate'], applies = true): Authenticator => ({
  name: 'jwt',
  fields: ['authorization'],
  challenge: 'Bearer',
  applies: () => applies,
  authenticate,
})

const createHandler = (...authenticators: readonly Authenticator[]) =>
  authLayer({
    authenticators,
    forwardsCredentials: false,
    identityField: null,
    required: { scopes: [], claims: {} },
    algorithms: null,
  })(fakeNext())

describe('the attempted authentication method', () => {
  test('is recorded in the exchange, also when the credential proves nothing', async () => {
    const exchange = fakeExchange()
    const reject = (): never => {
      throw new GatewayError('unauthenticated', { reason: 'expired' })
    }

    await expect(createHandler(authenticator(reject))(exchange)).rejects.toMatchObject({ reason: 'expired' })

    expect([exchange.attemptedAuth, exchange.identity]).toEqual(['jwt', null])
  })

  test('is null without a credential', async () => {
    const exchange = fakeExchange()

    const ended = createHandler(authenticator(() => ({ client: null, token: null }), false))(exchange)

    await expect(ended).rejects.toMatchObject({ kind: 'unauthenticated', reason: 'no-credential' })
    expect(exchange.attemptedAuth).toBeNull()
  })

  test('a good credential of no client is rejected as such', async () => {
    const exchange = fakeExchange()

    const ended = createHandler(authenticator(() => ({ client: null, token: null })))(exchange)

    await expect(ended).rejects.toMatchObject({ kind: 'forbidden', reason: 'unknown-client' })
    expect(exchange.attemptedAuth).toBe('jwt')
  })
})

describe('what a token has to say', () => {
  /** Returns the outcome of a token: `good`, or the challenge that its client gets; null: none. */
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
    undefined,
    '',
    'leads.read',
    'leads.read\tleads.list',
    'leads.read,leads.list',
    'LEADS.READ LEADS.LIST',
    'leads.readleads.list',
    ['leads.read leads.list'],
    [['leads.read', 'leads.list']],
    { 'leads.read': true, 'leads.list': true },
    1,
    null,
  ])('a scope of %j is not enough', (scope) => {
    expect(outcome({ scope }, { scopes })).toMatch('insufficient_scope')
  })

  test('a required claim must match to the letter, and be the token’s own', () => {
    const required = { claims: { acr: 'high', constructor: 'x' } }

    expect(outcome({ acr: 'high', constructor: 'x' }, required)).toBe('good')
    for (const claims of [
      { acr: 'high' },
      { acr: ['high'], constructor: 'x' },
      { acr: 'High', constructor: 'x' },
      null,
    ])
      expect(outcome(claims, required)).toBeNull()
  })

  test('without requirements there is no check', () => {
    expect(createTokenAuthorizer({ scopes: [], claims: {} }, null)).toBeNull()
  })
})
