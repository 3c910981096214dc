import { X509Certificate } from 'node:crypto'
import { beforeAll, describe, expect, test, vi } from 'vitest'
import { GatewayError } from '../../../../src/core/exchange/failures/errors.ts'
import { certificateThumbprint } from '../../../../src/features/auth/client-certificate.ts'
import { getClientRegistry } from '../../../../src/features/auth/client-registry.ts'
import { CredentialRejected } from '../../../../src/features/auth/errors.ts'
import {
  type CheckDpopProof,
  parseTokenConfirmation,
  senderConstraint,
  type TokenAuthenticatorOptions,
  tokenAuthenticator,
} from '../../../../src/features/auth/tokens/token-authenticator.ts'
import { needCertificates } from '../../../helpers/certificates.ts'
import { fakeExchange } from '../../../helpers/exchange.ts'

const { made, missing } = await needCertificates()

const bankA = { id: 'bank-a', disabled: false, apiKeys: [], certificates: [], operations: null, addresses: [] }

const authenticatorWith = (other: Partial<TokenAuthenticatorOptions> = {}) =>
  tokenAuthenticator({
    name: 'jwt',
    getClaims: () => ({}),
    accepts: () => true,
    clients: getClientRegistry([{ ...bankA, claims: { sub: 'a' } }]),
    checkSenderConstraint: () => {},
    certificateFields: [],
    algorithms: ['ES256'],
    ...other,
  })

test('the fields of a certificate that a token may be bound to are among those of its credential', () => {
  expect(authenticatorWith({ certificateFields: ['client-cert'] }).fields).toEqual([
    'authorization',
    'dpop',
    'client-cert',
  ])
})

test.each([
  [['ES256'], 'DPoP realm="lender-gateway", error="invalid_token", algs="ES256"'],
  [null, 'Bearer realm="lender-gateway", error="invalid_token"'],
])('a wrong token that came as DPoP is asked for by a scheme that is taken: %j', (algorithms, challenge) => {
  const getClaims = (): never => {
    throw new CredentialRejected('expired', 'it has expired')
  }
  const exchange = fakeExchange({ fields: ['Authorization', 'DPoP abc'] })

  expect(() => authenticatorWith({ getClaims, algorithms }).authenticate(exchange)).toThrow(
    expect.objectContaining({ fields: ['WWW-Authenticate', challenge] }),
  )
})

// The replay cache counts proofs by client, however many tokens and keys it has.
test.each([
  [{ sub: 'a' }, 'bank-a'],
  [{ sub: 'x' }, ''],
])('the sender constraint of a token of %j is checked for its client', async (claims, client) => {
  const confirm = vi.fn(async () => {})
  const authenticator = authenticatorWith({ getClaims: () => claims, checkSenderConstraint: confirm })
  const exchange = fakeExchange({ fields: ['Authorization', 'DPoP abc'] })

  await authenticator.authenticate(exchange)

  expect(confirm.mock.calls).toEqual([[exchange, claims, { scheme: 'dpop', token: 'abc' }, client]])
})

describe('what a token is bound to', () => {
  const key = 'k'.repeat(43)

  /** Returns the outcome of a token: `good`, what a proof was checked for, or the error. */
  const outcomeOrError = async (
    cnf: unknown,
    scheme: 'bearer' | 'dpop',
    { required = false, presented = null as X509Certificate | CredentialRejected | null, proofs = true } = {},
  ): Promise<unknown> => {
    const checked: unknown[] = []
    const checkProof: CheckDpopProof | null = proofs ? async (_, token, jkt) => void checked.push(token, jkt) : null
    const check = senderConstraint(required, () => presented, checkProof, proofs ? ['ES256'] : null)
    try {
      await check(fakeExchange(), cnf === undefined ? {} : { cnf }, { scheme, token: 'token' }, 'bank-a')
      return checked.length === 0 ? 'good' : checked
    } catch (error) {
      return error
    }
  }

  /** Returns the same, and the challenge that the client gets in place of the error. */
  const outcome = async (...token: Parameters<typeof outcomeOrError>): Promise<unknown> => {
    const result = await outcomeOrError(...token)
    return result instanceof GatewayError ? result.fields[1] : result
  }

  const bearer = 'Bearer realm="lender-gateway", error="invalid_token"'
  const dpop = 'DPoP realm="lender-gateway", error="invalid_token", algs="ES256"'

  test.each<[string, unknown, 'bearer' | 'dpop', object, unknown]>([
    ['an unbound token is good as Bearer', undefined, 'bearer', {}, 'good'],
    ['unless tokens must be bound', undefined, 'bearer', { required: true }, bearer],
    ['and not as DPoP', undefined, 'dpop', {}, dpop],
    ['one that is bound to a key is good with a proof', { jkt: key }, 'dpop', { required: true }, ['token', key]],
    ['as DPoP alone', { jkt: key }, 'bearer', {}, dpop],
    // Where no proofs are taken, no token is asked to come as DPoP, not even one that has.
    ['and not where no proofs are taken', { jkt: key }, 'bearer', { proofs: false }, bearer],
    ['nor if it comes as DPoP there', { jkt: key }, 'dpop', { proofs: false }, bearer],
    ['nor is an unbound one', undefined, 'dpop', { proofs: false }, bearer],
  ])('%s: cnf %j, as %s, %j', async (_, cnf, scheme, how, expected) => {
    expect(await outcome(cnf, scheme, how)).toEqual(expected)
  })

  test.each([
    ...[null, 'text', [], {}, { jkt: 1 }, { jkt: 'short' }, { jkt: `${key}=` }, { 'x5t#S256': null }, { jwk: {} }],
    ...[{ jkt: key, kid: 'another' }, { 'x5t#S512': key }],
  ])('an unknown kind of binding is rejected: %j', async (cnf) => {
    expect(parseTokenConfirmation({ cnf })).toBe('unknown')
    expect([await outcome(cnf, 'bearer'), await outcome(cnf, 'dpop')]).toEqual([bearer, dpop])
  })

  describe.skipIf(missing)('a token that is bound to a certificate', () => {
    let own: X509Certificate
    let another: X509Certificate
    let cnf: object
    beforeAll(() => {
      const { client, brief } = made
      own = new X509Certificate(client.cert)
      another = new X509Certificate(brief.cert)
      cnf = { 'x5t#S256': certificateThumbprint(own) }
    })
    const invalid = new CredentialRejected('certificate-not-valid-now', 'its certificate is not valid now')

    test('is good with that certificate alone, and rejected for what is wrong with another', async () => {
      expect(await outcome(cnf, 'bearer', { presented: own, required: true })).toBe('good')
      for (const [presented, reason] of [
        [another, 'wrong-binding'],
        [invalid, 'certificate-not-valid-now'],
        [null, 'no-certificate'],
      ] as const) {
        expect(await outcome(cnf, 'bearer', { presented })).toBe(bearer)
        expect(await outcomeOrError(cnf, 'bearer', { presented })).toMatchObject({ reason })
      }
      expect(await outcomeOrError(cnf, 'bearer', { presented: invalid })).toMatchObject({ cause: invalid.message })
    })

    test('and to a key requires both', async () => {
      const both = { ...cnf, jkt: key }

      expect(await outcome(both, 'dpop', { presented: own })).toEqual(['token', key])
      expect([await outcome(both, 'dpop'), await outcome(both, 'bearer', { presented: own })]).toEqual([dpop, dpop])
    })
  })
})
