import { test } from 'vitest'
import { bootJwtGateway } from '../../../helpers/jwt-gateway.ts'
import { audience, claims, signToken } from '../../../helpers/tokens.ts'

// RFC 8725 §3.9: a good token that was made for another service, which sends it here.
test('a token for another service is no good here', async () => {
  const { expectRejected: refuses, key } = await bootJwtGateway()

  for (const aud of [
    'https://other.example',
    `${audience}/`,
    `${audience}.evil.example`,
    [],
    [[audience]],
    audience.toUpperCase(),
    undefined,
  ])
    await refuses(signToken(key, claims({ aud })), 'it is for another audience')
})
