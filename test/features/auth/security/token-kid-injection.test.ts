import { test } from 'vitest'
import { bootJwtGateway } from '../../../helpers/jwt-gateway.ts'
import { claims, signingKey, signToken } from '../../../helpers/tokens.ts'

// RFC 8725 §3.10: a kid that is a path, a query, or what every object has.
const kids = [
  '../../../../dev/null',
  '/etc/passwd',
  "x' UNION SELECT 'key",
  'http://127.0.0.1/keys',
  '__proto__',
  'constructor',
  'elliptic\u0000',
  'ELLIPTIC',
  ' elliptic',
  '',
  'x'.repeat(4000),
]

test('a kid is compared, and nothing else', async () => {
  const { expectRejected: refuses } = await bootJwtGateway()

  for (const kid of kids)
    await refuses(signToken(signingKey('ES256', kid)), 'no key, or no single one, is known for it')
})

test('a kid that is no text is none', async () => {
  const { expectRejected: refuses, key } = await bootJwtGateway()

  for (const kid of [0, null, true, ['elliptic'], { toString: 'elliptic' }])
    await refuses(signToken(key, claims(), { kid }), 'its kid is not a string')
})
