import { test } from 'vitest'
import { bootJwtGateway } from '../../../helpers/jwt-gateway.ts'
import { claims, signToken } from '../../../helpers/tokens.ts'

test('a token that is for later is no good yet', async () => {
  const { expectRejected: refuses, key } = await bootJwtGateway()
  const soon = Math.floor(Date.now() / 1000) + 60

  await refuses(signToken(key, claims({ nbf: soon })), 'it is not valid yet')
  await refuses(signToken(key, claims({ iat: soon })), 'it was made in the future')
  await refuses(signToken(key, claims({ nbf: null })), 'nbf is not a time')
})
