import { test } from 'vitest'
import { bootJwtGateway } from '../../../helpers/jwt-gateway.ts'
import { claims, signToken } from '../../../helpers/tokens.ts'

// RFC 8725 §3.11, RFC 9068 §4: an ID token, or a proof, of the same issuer with the same key.
test('what was signed for something else is no access token', async () => {
  const { expectRejected: refuses, key } = await bootJwtGateway()

  for (const typ of ['JWT', 'dpop+jwt', 'logout+jwt', 'at+jwt ', 'text/at+jwt', '', null, ['at+jwt'], undefined])
    await refuses(signToken(key, claims(), { typ }), 'its type is not allowed')
})
