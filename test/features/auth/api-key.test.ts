import { hash } from 'node:crypto'
import { expect, test } from 'vitest'
import { apiKeyAuthenticator } from '../../../src/features/auth/api-key.ts'
import { getClientRegistry } from '../../../src/features/auth/client-registry.ts'
import { fakeExchange } from '../../helpers/exchange.ts'

const secret = 'a'.repeat(43)
const other = 'b'.repeat(43)
const bankA = {
  id: 'bank-a',
  disabled: false,
  apiKeys: [
    { id: 'old', sha256: hash('sha256', secret) },
    { id: 'new', sha256: hash('sha256', other) },
  ],
  claims: {},
  certificates: [],
  operations: null,
  addresses: [],
}
const authenticator = apiKeyAuthenticator('X-Api-Key', getClientRegistry([bankA]))
const exchangeWith = (...fields: readonly string[]) => fakeExchange({ fields })

test.each([`old.${secret}`, `new.${other}`])(
  'each key of a client proves who it is, whatever the case of the field',
  (key) => {
    const exchange = exchangeWith('x-api-KEY', key)

    expect(authenticator.applies(exchange)).toBe(true)
    expect(authenticator.authenticate(exchange)).toMatchObject({ client: { id: 'bank-a' } })
  },
)

test.each([
  ['the secret of another key', `old.${other}`],
  ['a key of no client', `none.${secret}`],
  ['no secret', 'old.'],
  ['no id', `.${secret}`],
  ['more behind it', `old.${secret}x`],
  ['nothing', ''],
  ['the digest in place of the secret', `old.${hash('sha256', secret).slice(0, 43)}`],
  ['the name of a property of every object', `__proto__.${secret}`],
])('%s proves nothing', (_, key) => {
  const exchange = exchangeWith('X-Api-Key', key)

  expect(authenticator.applies(exchange)).toBe(true)
  expect(() => authenticator.authenticate(exchange)).toThrow(expect.objectContaining({ kind: 'unauthenticated' }))
})

test.each([
  ['cut off', `old.${secret.slice(1)}`, 'wrong-secret', /not 43 characters/],
  ['too long', `old.${secret}x`, 'wrong-secret', /not 43 characters/],
  ['of another key', `old.${other}`, 'wrong-secret', /is wrong/],
  ['without its key', secret, 'unknown-key', /no such key/],
  ['of no key', `none.${secret.slice(1)}`, 'unknown-key', /no such key/],
])('a secret that is %s is told as what it is', (_, key, reason, cause) => {
  const error = thrownBy(() => authenticator.authenticate(exchangeWith('X-Api-Key', key)))

  expect(error).toMatchObject({ reason, cause: expect.stringMatching(cause) })
})

const thrownBy = (run: () => unknown): unknown => {
  try {
    return run()
  } catch (error) {
    return error
  }
}

test('two of them are rejected, though both are good', () => {
  const exchange = exchangeWith('X-Api-Key', `old.${secret}`, 'X-API-KEY', `old.${secret}`)

  expect(() => authenticator.authenticate(exchange)).toThrow(expect.objectContaining({ kind: 'bad-request' }))
})

test('without the field it does not apply', () => {
  expect(authenticator.applies(exchangeWith('X-Api-Key-2', 'x'))).toBe(false)
})
