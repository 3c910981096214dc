import { expect, test } from 'vitest'
import type { GatewayError } from '../../../src/core/exchange/failures/errors.ts'
import type { VerifiedToken } from '../../../src/features/auth/auth.ts'
import { createTokenAuthorizer } from '../../../src/features/auth/auth.ts'

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
  for (const claims of [{ acr: 'high' }, { acr: ['high'], constructor: 'x' }, { acr: 'High', constructor: 'x' }, null])
    expect(outcome(claims, required)).toBeNull()
})

test('without requirements there is no check', () => {
  expect(createTokenAuthorizer({ scopes: [], claims: {} }, null)).toBeNull()
})
