import { test } from 'vitest'
import { bootGuarded } from '../helpers/guarded.ts'
import { audience, claims, token } from '../helpers/tokens.ts'

// RFC 8725 §3.9: a good token that was made for another service, which sends it here.
test('a token for another service is no good here', async () => {
  const { refuses, key } = await bootGuarded()

  for (const aud of [
    'https://other.example',
    `${audience}/`,
    `${audience}.evil.example`,
    [],
    [[audience]],
    audience.toUpperCase(),
    undefined,
  ])
    await refuses(token(key, claims({ aud })), 'it is for another audience')
})
