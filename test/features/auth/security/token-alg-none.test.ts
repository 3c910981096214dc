import { test } from 'vitest'
import { bootJwtGateway } from '../../../helpers/jwt-gateway.ts'
import { claims, encodePart } from '../../../helpers/tokens.ts'

// RFC 8725 §2.1: a token that says of itself that it is unsigned.
test('a token without a signature is none, however it spells that', async () => {
  const { expectRejected: refuses, key } = await bootJwtGateway()
  const unsigned = (alg: string): string =>
    `${encodePart({ alg, typ: 'at+jwt', kid: key.kid })}.${encodePart(claims())}`

  await refuses(`${unsigned('none')}.`, 'it is not a signed JWT, or too long')
  for (const alg of ['none', 'None', 'NONE', 'nOnE', ''])
    await refuses(`${unsigned(alg)}.c2ln`, 'its algorithm is not allowed')
})
