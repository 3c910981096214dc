import { test } from 'vitest'
import { bootJwtGateway } from '../../../helpers/jwt-gateway.ts'
import { claims, signingKey, signToken } from '../../../helpers/tokens.ts'

// CVE-2018-0114: a token that carries the key that it is to be verified with.
test('a key that a token carries verifies nothing', async () => {
  const { expectRejected: refuses, key } = await bootJwtGateway()
  const own = signingKey('ES256', key.kid)

  await refuses(signToken(own, claims(), { jwk: own.jwk }), 'its header has jwk')
  await refuses(signToken(own, claims(), { x5c: ['MIIB'] }), 'its header has x5c')
  await refuses(signToken(own), 'its signature is wrong')
})
