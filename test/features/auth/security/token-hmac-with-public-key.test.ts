import { createHmac } from 'node:crypto'
import { expect, test } from 'vitest'
import { findProblems, sandbox } from '../../../core/config/helper.ts'
import { bootJwtGateway } from '../../../helpers/jwt-gateway.ts'
import { claims, encodePart } from '../../../helpers/tokens.ts'

// RFC 8725 §2.1: an attacker has the public key, as every client has, and signs with it as if it were a secret.
test('what is public is no secret', async () => {
  const { expectRejected: refuses, rsa, key } = await bootJwtGateway()
  const secrets = [rsa, key].flatMap(({ publicKey }) => [
    publicKey.export({ type: 'spki', format: 'pem' }),
    publicKey.export({ type: 'spki', format: 'der' }),
    JSON.stringify(publicKey.export({ format: 'jwk' })),
  ])

  for (const secret of secrets) {
    const input = `${encodePart({ alg: 'HS256', typ: 'at+jwt', kid: rsa.kid })}.${encodePart(claims())}`
    const mac = createHmac('sha256', secret).update(input).digest('base64url')
    await refuses(`${input}.${mac}`, 'its algorithm is not allowed')
  }
})

test.each(['HS256', 'none'])('the configuration knows no %s', (algorithm) => {
  const jwt = `{ issuer: a, audience: [b], jwks: 'https://issuer.example/keys', algorithms: [${algorithm}] }`

  expect(findProblems(`${sandbox}\nauth: { methods: [jwt], jwt: ${jwt} }`)).toMatchObject([
    { path: 'auth.jwt.algorithms[0]', message: 'unknown value' },
  ])
})
