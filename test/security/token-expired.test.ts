import { test } from 'vitest'
import { bootGuarded } from '../helpers/guarded.ts'
import { claims, token } from '../helpers/tokens.ts'

test('a token that has expired is no good any more', async () => {
  const { refuses, key } = await bootGuarded()
  const now = Math.floor(Date.now() / 1000)

  await refuses(token(key, claims({ exp: now - 60 })), 'it has expired')
  await refuses(token(key, claims({ exp: 0 })), 'it has expired')
  await refuses(token(key, claims({ exp: undefined })), 'it does not say when it expires')
  await refuses(token(key, claims({ exp: String(now + 60) })), 'exp is not a time')
  await refuses(token(key, JSON.stringify(claims({ exp: 1 })).replace('"exp":1', '"exp":1e999')), 'exp is not a time')
})
