import { expect, test, vi } from 'vitest'
import { getClientRegistry } from '../../../src/layers/auth/client-registry.ts'
import { tokenAuthenticator } from '../../../src/layers/auth/token-authenticator.ts'
import { fakeExchange } from '../../helpers/exchange.ts'

const bankA = { id: 'bank-a', disabled: false, apiKeys: [], certificates: [], operations: null, addresses: [] }

// The replay cache counts proofs by client, however many tokens and keys it has.
test.each([
  [{ sub: 'a' }, 'bank-a'],
  [{ sub: 'x' }, ''],
])('the sender constraint of a token of %j is checked for its client', async (claims, client) => {
  const confirm = vi.fn(async () => {})
  const authenticator = tokenAuthenticator({
    name: 'jwt',
    getClaims: () => claims,
    accepts: () => true,
    clients: getClientRegistry([{ ...bankA, claims: { sub: 'a' } }]),
    checkSenderConstraint: confirm,
    algorithms: ['ES256'],
  })
  const exchange = fakeExchange({ fields: ['Authorization', 'DPoP abc'] })

  await authenticator.authenticate(exchange)

  expect(confirm.mock.calls).toEqual([[exchange, claims, { scheme: 'dpop', token: 'abc' }, client]])
})
