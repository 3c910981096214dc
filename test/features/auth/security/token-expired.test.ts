import { test } from 'vitest'
import { bootJwtGateway } from '../../../helpers/jwt-gateway.ts'
import { claims, signToken } from '../../../helpers/tokens.ts'

test('a token that has expired is no good any more', async () => {
  const { expectRejected: refuses, key } = await bootJwtGateway()
  const now = Math.floor(Date.now() / 1000)

  await refuses(signToken(key, claims({ exp: now - 60 })), 'it has expired')
  await refuses(signToken(key, claims({ exp: 0 })), 'it has expired')
  await refuses(signToken(key, claims({ exp: undefined })), 'it does not say when it expires')
  await refuses(signToken(key, claims({ exp: String(now + 60) })), 'exp is not a time')
  await refuses(
    signToken(key, JSON.stringify(claims({ exp: 1 })).replace('"exp":1', '"exp":1e999')),
    'exp is not a time',
  )
})
