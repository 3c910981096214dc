import { expect, test, vi } from 'vitest'
import { getClientRegistry } from '../../../../src/features/auth/client-registry.ts'
import { CredentialRejected } from '../../../../src/features/auth/errors.ts'
import {
  type TokenAuthenticatorOptions,
  tokenAuthenticator,
} from '../../../../src/features/auth/tokens/token-authenticator.ts'
import { fakeExchange } from '../../../helpers/exchange.ts'

const bankA = { id: 'bank-a', disabled: false, apiKeys: [], certificates: [], operations: null, addresses: [] }

const authenticatorWith = (other: Partial<TokenAuthenticatorOptions> = {}) =>
  tokenAuthenticator({
    name: 'jwt',
    getClaims: () => ({}),
    accepts: () => true,
    clients: getClientRegistry([{ ...bankA, claims: { sub: 'a' } }]),
    checkSenderConstraint: () => {},
    certificateFields: [],
    algorithms: ['ES256'],
    ...other,
  })

test('the fields of a certificate that a token may be bound to are among those of its credential', () => {
  expect(authenticatorWith({ certificateFields: ['client-cert'] }).fields).toEqual([
    'authorization',
    'dpop',
    'client-cert',
  ])
})

test.each([
  [['ES256'], 'DPoP realm="lender-gateway", error="invalid_token", algs="ES256"'],
  [null, 'Bearer realm="lender-gateway", error="invalid_token"'],
])('a wrong token that came as DPoP is asked for by a scheme that is taken: %j', (algorithms, challenge) => {
  const getClaims = (): never => {
    throw new CredentialRejected('expired', 'it has expired')
  }
  const exchange = fakeExchange({ fields: ['Authorization', 'DPoP abc'] })

  expect(() => authenticatorWith({ getClaims, algorithms }).authenticate(exchange)).toThrow(
    expect.objectContaining({ fields: ['WWW-Authenticate', challenge] }),
  )
})

// The replay cache counts proofs by client, however many tokens and keys it has.
test.each([
  [{ sub: 'a' }, 'bank-a'],
  [{ sub: 'x' }, ''],
])('the sender constraint of a token of %j is checked for its client', async (claims, client) => {
  const confirm = vi.fn(async () => {})
  const authenticator = authenticatorWith({ getClaims: () => claims, checkSenderConstraint: confirm })
  const exchange = fakeExchange({ fields: ['Authorization', 'DPoP abc'] })

  await authenticator.authenticate(exchange)

  expect(confirm.mock.calls).toEqual([[exchange, claims, { scheme: 'dpop', token: 'abc' }, client]])
})
