import { expect, test } from 'vitest'
import { bootJwtGateway } from '../../../helpers/jwt-gateway.ts'
import { claims, jwks, signingKey, signToken } from '../../../helpers/tokens.ts'
import { openHttpUpstream } from '../../../helpers/upstream.ts'

// RFC 8725 §2.9, §3.10: a token that says where its key is; a gateway that follows asks any address for an attacker.
test('the gateway does not fetch a key from where a token says that it is', async () => {
  const { expectRejected: refuses } = await bootJwtGateway()
  const own = signingKey('ES256', 'own')
  let asked = 0
  const elsewhere = await openHttpUpstream((_, response) => {
    asked++
    response.end(jwks(own))
  })

  await refuses(signToken(own, claims(), { jku: elsewhere.url }), 'its header has jku')
  await refuses(signToken(own, claims(), { x5u: elsewhere.url }), 'its header has x5u')

  expect(asked).toBe(0)
  await elsewhere.close()
})
