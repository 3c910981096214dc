import { test } from 'vitest'
import { bootJwtGateway } from '../../../helpers/jwt-gateway.ts'
import { claims, issuer, signToken } from '../../../helpers/tokens.ts'

// RFC 8725 §3.8: one that another issuer has made, with a key of the same set.
test('a token of another issuer is no good here', async () => {
  const { expectRejected: refuses, key } = await bootJwtGateway()

  for (const iss of ['https://other.example', `${issuer}/`, issuer.toUpperCase(), [issuer], null, undefined])
    await refuses(signToken(key, claims({ iss })), 'it is of another issuer')
})
