import { test } from 'vitest'
import { bootGuarded } from '../helpers/guarded.ts'
import { claims, token } from '../helpers/tokens.ts'

test('a token that is for later is no good yet', async () => {
  const { refuses, key } = await bootGuarded()
  const soon = Math.floor(Date.now() / 1000) + 60

  await refuses(token(key, claims({ nbf: soon })), 'it is not valid yet')
  await refuses(token(key, claims({ iat: soon })), 'it was made in the future')
  await refuses(token(key, claims({ nbf: null })), 'nbf is not a time')
})
