import { expect, test, vi } from 'vitest'
import { clientsOf } from '../../../src/layers/auth/clients.ts'
import { tokenMethod } from '../../../src/layers/auth/token-method.ts'
import { fakeExchange } from '../../helpers/exchange.ts'

const bankA = { id: 'bank-a', disabled: false, apiKeys: [], certificates: [], operations: null, addresses: [] }

// Who takes room for proofs to be remembered is a client, however many tokens and keys it has.
test.each([
  [{ sub: 'a' }, 'bank-a'],
  [{ sub: 'nobody' }, ''],
])('what a token of %j is bound to is asked for as of its client', async (claims, client) => {
  const confirm = vi.fn(async () => {})
  const method = tokenMethod({
    name: 'jwt',
    claimsOf: () => claims,
    takes: () => true,
    clients: clientsOf([{ ...bankA, claims: { sub: 'a' } }]),
    confirm,
    algorithms: ['ES256'],
  })
  const exchange = fakeExchange({ fields: ['Authorization', 'DPoP abc'] })

  await method.prove(exchange)

  expect(confirm.mock.calls).toEqual([[exchange, claims, { scheme: 'dpop', token: 'abc' }, client]])
})
