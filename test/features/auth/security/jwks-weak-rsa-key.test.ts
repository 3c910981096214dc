import { hash } from 'node:crypto'
import { test } from 'vitest'
import { bootJwtGateway } from '../../../helpers/jwt-gateway.ts'
import { claims, encodePart, signingKey } from '../../../helpers/tokens.ts'

const { jwk } = signingKey('RS256', 'weak')

/**
 * Signs as any attacker can for a key of exponent 1: what is signed, padded as RFC 8017 §9.2 has it, is its own
 * signature.
 */
const forged = (): string => {
  const input = `${encodePart({ alg: 'RS256', typ: 'at+jwt', kid: 'weak' })}.${encodePart(claims())}`
  const info = Buffer.concat([
    Buffer.from('003031300d060960864801650304020105000420', 'hex'),
    hash('sha256', input, 'buffer'),
  ])
  const padding = Buffer.alloc(256 - 2 - info.length, 0xff)
  return `${input}.${Buffer.concat([Buffer.from([0, 1]), padding, info]).toString('base64url')}`
}

// The attack: an issuer has published a key that every client can sign with, by a mistake or because an attacker could
// write to its set.
test('a key of RSA with an exponent of 1 is none', async () => {
  const { expectRejected: refuses } = await bootJwtGateway({ algorithms: ['ES256', 'RS256'] }, {}, [
    { ...jwk, e: 'AQ' },
  ])

  await refuses(forged(), 'no key, or no single one, is known for it')
})
