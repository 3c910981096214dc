import { expect, test } from 'vitest'
import { createMarkerRemover, createShadowFields } from '../../../../src/features/candidate/layers/shadow.ts'

const marked = ['X-Shadow', '1']

const credentials: readonly (readonly [string, string])[] = [
  ['Authorization', 'Bearer token'],
  ['authorization', 'DPoP token'],
  ['AUTHORIZATION', 'Basic dTpw'],
  ['Proxy-Authorization', 'Basic dTpw'],
  ['Cookie', 'session=1'],
  ['DPoP', 'proof'],
  ['X-Api-Key', 'key'],
  ['X_Api_Key', 'key'],
  ['x-api_key', 'key'],
  ['X-Auth-Token', 'token'],
  ['X-Amz-Security-Token', 'token'],
  ['Client-Cert', ':MIIB:'],
  ['Client-Cert-Chain', ':MIIB:'],
  ['client_cert', ':MIIB:'],
  ['X-Forwarded-Client-Cert', 'Hash=1'],
  ['X-SSL-Client-Cert', 'pem'],
  ['X-Amzn-Mtls-Clientcert-Leaf', 'pem'],
  ['X-Forwarded-Tls-Client-Cert-Info', 'subject'],
  ['X-Forwarded-Access-Token', 'token'],
  ['X-Amzn-Oidc-Data', 'jwt'],
  ['X_Amzn_Oidc_Identity', 'user'],
  ['X-Goog-Iap-Jwt-Assertion', 'jwt'],
  ['X-MS-Client-Principal', 'user'],
  ['X-Session-Id', 'session'],
  ['X-Partner-Token', 'token'],
  ['X-Signature', 'hmac'],
  ['X-Userinfo', 'user'],
  ['X-Partner', 'key'],
  ['X-Client-Id', 'bank-a'],
]

const options = {
  ...{ marker: 'X-Shadow', credentials: 'remove' as const },
  ...{ credentialFields: ['X-Partner', 'x-client-id'], keptFields: ['x-transaction-key'] },
}

test.each(['X-Transaction-Key', 'x_transaction_key', 'Idempotency-Key'])('%s names a request, and stays', (name) => {
  expect(createShadowFields(options)([name, 'a-1'])).toEqual([name, 'a-1', ...marked])
})

test.each(credentials)('%s does not get into the copy', (name, value) => {
  const toCopyFields = createShadowFields(options)

  expect(toCopyFields(['Accept', 'a', name, value, 'Via', '1.1 x'])).toEqual(['Accept', 'a', 'Via', '1.1 x', ...marked])
})

test('all else is in the copy as it came, in its order and as often', () => {
  const fields = [
    'accept',
    'A',
    'Accept',
    'B',
    'X-Request-Id',
    '7',
    'Idempotency-Key',
    'k',
    'X_Idempotency_Key',
    'k',
    'If-None-Match',
    '"e"',
  ]

  expect(createShadowFields(options)(fields)).toEqual([...fields, ...marked])
})

test('credentials are in the copy when they are forwarded', () => {
  const fields = credentials.flat()

  expect(createShadowFields({ ...options, credentials: 'forward' })(fields)).toEqual([...fields, ...marked])
})

test.each(['X-Shadow', 'x-shadow', 'X_Shadow'])(
  'a %s of the client is neither in the copy nor in its request',
  (name) => {
    const fields = ['A', '1', name, '0', 'B', '2', name, '1']

    expect(createShadowFields({ ...options, credentials: 'forward' })(fields)).toEqual(['A', '1', 'B', '2', ...marked])
    expect(createMarkerRemover('X-Shadow')(fields)).toEqual(['A', '1', 'B', '2'])
  },
)

test('fields without the marker are the same list', () => {
  const fields = ['A', 'X-Shadow', 'X-Shadows', '1']

  expect(createMarkerRemover('X-Shadow')(fields)).toBe(fields)
})
