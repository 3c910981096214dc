import { calculateJwkThumbprint } from 'jose'
import { expect, test } from 'vitest'
import { jwkThumbprint, publicJwk } from '../../../src/features/auth/tokens/dpop.ts'
import { signingKey } from '../../helpers/tokens.ts'

test('the key of RFC 8037 has the thumbprint of its appendix', () => {
  const jwk = { kty: 'OKP', crv: 'Ed25519', x: '11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo' }

  expect(jwkThumbprint(jwk)).toBe('kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k') // appendix A.3
})

test.each(['ES256', 'PS256', 'EdDSA'] as const)(
  'a key for %s has the thumbprint that others make of it, whatever else it says',
  async (alg) => {
    const { jwk } = signingKey(alg, 'kid')
    const publicKey = publicJwk(jwk) ?? {}

    expect(jwkThumbprint(publicKey)).toBe(await calculateJwkThumbprint(jwk))
  },
)
