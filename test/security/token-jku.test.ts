import { expect, test } from 'vitest'
import { bootGuarded } from '../helpers/guarded.ts'
import { claims, jwks, signingKey, token } from '../helpers/tokens.ts'
import { openHttpUpstream } from '../helpers/upstream.ts'

// RFC 8725 §2.9, §3.10: a token that says where its key is; whoever follows asks any address for an attacker.
test('nobody asks where a token says that its key is', async () => {
  const { refuses } = await bootGuarded()
  const own = signingKey('ES256', 'own')
  let asked = 0
  const elsewhere = await openHttpUpstream((_, response) => {
    asked++
    response.end(jwks(own))
  })

  await refuses(token(own, claims(), { jku: elsewhere.url }), 'its header has jku')
  await refuses(token(own, claims(), { x5u: elsewhere.url }), 'its header has x5u')

  expect(asked).toBe(0)
  await elsewhere.close()
})
