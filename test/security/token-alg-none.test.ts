import { test } from 'vitest'
import { bootGuarded } from '../helpers/guarded.ts'
import { claims, part } from '../helpers/tokens.ts'

// RFC 8725 §2.1: a token that says of itself that nobody signed it.
test('a token without a signature is none, however it spells that', async () => {
  const { refuses, key } = await bootGuarded()
  const unsigned = (alg: string): string => `${part({ alg, typ: 'at+jwt', kid: key.kid })}.${part(claims())}`

  await refuses(`${unsigned('none')}.`, 'it is not a signed JWT, or too long')
  for (const alg of ['none', 'None', 'NONE', 'nOnE', ''])
    await refuses(`${unsigned(alg)}.c2ln`, 'its algorithm is not allowed')
})
