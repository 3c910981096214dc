import { hash } from 'node:crypto'
import { expect, test } from 'vitest'
import { apiKeyAuthenticator } from '../../../src/features/auth/api-key.ts'
import { getClientRegistry } from '../../../src/features/auth/client-registry.ts'
import { fakeExchange } from '../../helpers/exchange.ts'

const secret = 'a'.repeat(43)
const other = 'b'.repeat(43)
const apiKeys = [
  { id: 'old', sha256: hash('sha256', secret) },
  { id: 'new', sha256: hash('sha256', other) },
]
const bankA = { id: 'bank-a', disabled: false, apiKeys, claims: {}, certificates: [], operations: null, addresses: [] }
const authenticator = apiKeyAuthenticator('X-Api-Key', getClientRegistry([bankA]))
const exchangeWith = (...fields: readonly string[]) => fakeExchange({ fields })

const thrownFor = (...fields: readonly string[]): unknown => {
  try {
    return authenticator.authenticate(exchangeWith(...fields))
  } catch (error) {
    return error
  }
}

test.each([`old.${secret}`, `new.${other}`])(
  'each key of a client proves who it is, whatever the case of the field',
  (key) => {
    const exchange = exchangeWith('x-api-KEY', key)

    expect(authenticator.applies(exchange)).toBe(true)
    expect(authenticator.authenticate(exchange)).toMatchObject({ client: { id: 'bank-a' } })
  },
)

test.each([
  ['cut off', `old.${secret.slice(1)}`, 'wrong-secret', /not 43 characters/],
  ['too long', `old.${secret}x`, 'wrong-secret', /not 43 characters/],
  ['none', 'old.', 'wrong-secret', /./],
  ['of another key', `old.${other}`, 'wrong-secret', /is wrong/],
  ['its digest', `old.${hash('sha256', secret).slice(0, 43)}`, 'wrong-secret', /is wrong/],
  ['without its key', secret, 'unknown-key', /no such key/],
  ['without an id', `.${secret}`, 'unknown-key', /./],
  ['of no key', `none.${secret.slice(1)}`, 'unknown-key', /no such key/],
  ['of a property of every object', `__proto__.${secret}`, 'unknown-key', /./],
  ['nothing', '', 'unknown-key', /./],
])('a secret that is %s proves nothing, and is told as what it is', (_, key, reason, cause) => {
  expect(authenticator.applies(exchangeWith('X-Api-Key', key))).toBe(true)
  expect(thrownFor('X-Api-Key', key)).toMatchObject({
    ...{ kind: 'unauthenticated', reason, cause: expect.stringMatching(cause) },
  })
})

test('two of them are rejected, though both are good', () => {
  expect(thrownFor('X-Api-Key', `old.${secret}`, 'X-API-KEY', `old.${secret}`)).toMatchObject({ kind: 'bad-request' })
})

test('without the field it does not apply', () => {
  expect(authenticator.applies(exchangeWith('X-Api-Key-2', 'x'))).toBe(false)
})
