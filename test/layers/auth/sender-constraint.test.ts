import { X509Certificate } from 'node:crypto'
import { beforeAll, describe, expect, test } from 'vitest'
import type { GatewayError } from '../../../src/failures/errors.ts'
import { certificateThumbprint } from '../../../src/layers/auth/client-certificate.ts'
import { CredentialRejected } from '../../../src/layers/auth/errors.ts'
import { parseTokenConfirmation, senderConstraint } from '../../../src/layers/auth/sender-constraint.ts'
import { type Certificates, makeCertificates } from '../../helpers/certificates.ts'
import { fakeExchange } from '../../helpers/exchange.ts'
import { needProgram } from '../../helpers/program.ts'

const openssl = await needProgram('openssl')
const key = 'k'.repeat(43)

/** Tells how a token fares: `good`, or what the client is told. */
const confirm = async (
  cnf: unknown,
  scheme: 'bearer' | 'dpop',
  { required = false, shown = null as X509Certificate | CredentialRejected | null, proofs = true } = {},
): Promise<unknown> => {
  const checked: unknown[] = []
  const confirmed = senderConstraint({
    required,
    getCertificate: () => shown,
    checkProof: proofs ? async (_, token, jkt) => void checked.push(token, jkt) : null,
    algorithms: proofs ? ['ES256'] : null,
  })
  try {
    await confirmed(fakeExchange(), cnf === undefined ? {} : { cnf }, { scheme, token: 'token' }, 'bank-a')
    return checked.length === 0 ? 'good' : checked
  } catch (error) {
    return (error as GatewayError).fields[1]
  }
}

const bearer = 'Bearer realm="lender-gateway", error="invalid_token"'
const unasked = 'DPoP realm="lender-gateway", error="invalid_token"'
const dpop = `${unasked}, algs="ES256"`

test('a token that is bound to nothing is good as Bearer, unless it has to be bound', async () => {
  expect(await confirm(undefined, 'bearer')).toBe('good')
  expect(await confirm(undefined, 'bearer', { required: true })).toBe(bearer)
  expect(await confirm(undefined, 'dpop')).toBe(dpop)
  expect(await confirm(undefined, 'dpop', { proofs: false })).toBe(unasked)
})

test('a token that is bound to a key is good with a proof, as DPoP alone', async () => {
  expect(await confirm({ jkt: key }, 'dpop', { required: true })).toEqual(['token', key])
  expect(await confirm({ jkt: key }, 'bearer')).toBe(dpop)
  expect(await confirm({ jkt: key }, 'dpop', { proofs: false })).toBe(unasked)
})

test.each([
  null,
  'text',
  [],
  {},
  { jkt: 1 },
  { jkt: 'short' },
  { jkt: `${key}=` },
  { 'x5t#S256': null },
  { jwk: {} },
  { jkt: key, kid: 'another' },
  { 'x5t#S512': key },
])('a binding that is not known here is refused: %j', async (cnf) => {
  expect(parseTokenConfirmation({ cnf })).toBe('unknown')
  expect([await confirm(cnf, 'bearer'), await confirm(cnf, 'dpop')]).toEqual([bearer, dpop])
})

describe.skipIf(openssl.missing)('a token that is bound to a certificate', () => {
  let made: Certificates
  let own: X509Certificate
  beforeAll(() => {
    made = makeCertificates(openssl.path ?? '')
    own = new X509Certificate(made.client.cert)
  })

  test('is good with that certificate alone', async () => {
    const cnf = { 'x5t#S256': certificateThumbprint(own) }

    expect(await confirm(cnf, 'bearer', { shown: own, required: true })).toBe('good')
    expect(await confirm(cnf, 'bearer', { shown: new X509Certificate(made.brief.cert) })).toBe(bearer)
    expect(await confirm(cnf, 'bearer', { shown: new CredentialRejected('expired', 'it has expired') })).toBe(bearer)
    expect(await confirm(cnf, 'bearer')).toBe(bearer)
  })

  test('and to a key asks for both', async () => {
    const cnf = { 'x5t#S256': certificateThumbprint(own), jkt: key }

    expect(await confirm(cnf, 'dpop', { shown: own })).toEqual(['token', key])
    expect(await confirm(cnf, 'dpop')).toBe(dpop)
    expect(await confirm(cnf, 'bearer', { shown: own })).toBe(dpop)
  })
})
