import { test } from 'vitest'
import { bootGuarded } from '../helpers/guarded.ts'
import { claims, signingKey, token } from '../helpers/tokens.ts'

// CVE-2018-0114: a token that brings the key that it is to be verified with.
test('a key that a token brings verifies nothing', async () => {
  const { refuses, key } = await bootGuarded()
  const own = signingKey('ES256', key.kid)

  await refuses(token(own, claims(), { jwk: own.jwk }), 'its header has jwk')
  await refuses(token(own, claims(), { x5c: ['MIIB'] }), 'its header has x5c')
  await refuses(token(own), 'its signature is wrong')
})
