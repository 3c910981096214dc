import { test } from 'vitest'
import { bootGuarded } from '../helpers/guarded.ts'
import { claims, issuer, token } from '../helpers/tokens.ts'

// RFC 8725 §3.8: one that somebody else has made, with a key of the same set.
test('a token of another issuer is no good here', async () => {
  const { refuses, key } = await bootGuarded()

  for (const iss of ['https://other.example', `${issuer}/`, issuer.toUpperCase(), [issuer], null, undefined])
    await refuses(token(key, claims({ iss })), 'it is of another issuer')
})
