import type { X509Certificate } from 'node:crypto'
import { expect, test } from 'vitest'
import { certificateThumbprint, mtlsAuthenticator } from '../../../../src/features/auth/client-certificate.ts'
import { getClientRegistry } from '../../../../src/features/auth/client-registry.ts'
import { fakeExchange } from '../../../helpers/exchange.ts'

const client = (id: string, ...certificates: readonly string[]) => ({
  ...{ id, disabled: false, apiKeys: [], claims: {}, operations: null, addresses: [] },
  certificates,
})
const certificate = (subjectAltName: string, raw = 'der'): X509Certificate =>
  ({ raw: Buffer.from(raw), subjectAltName }) as X509Certificate
const pinned = certificate('DNS:anybody.example', 'pinned')

const clients = getClientRegistry([
  client('bank-a', 'dns:bank-a.example', 'uri:urn:bank:a'),
  client('bank-b', 'dns:bank-b.example'),
  client('bank-c', `sha256:${certificateThumbprint(pinned)}`),
])

const whose = (shown: X509Certificate): unknown => {
  const method = mtlsAuthenticator(() => shown, clients, [])
  try {
    const { client: found } = method.authenticate(fakeExchange()) as { client: { id: string } | null }
    return { client: found?.id ?? null }
  } catch (error) {
    return (error as Error).cause
  }
}

// The attack: a client with a good certificate has the authority write another client's name into it beside its own, or
// something like it.
test('a certificate with the names of two clients is of neither', () => {
  expect(whose(certificate('DNS:bank-a.example, DNS:bank-b.example'))).toBe('its certificate is of several clients')
  expect(whose(certificate('DNS:bank-a.example', 'pinned'))).toBe('its certificate is of several clients')
})

test.each([
  'DNS:bank-a.example.evil.example',
  'DNS:evil.bank-a.example',
  'DNS:*.example',
  'DNS:bank-a.example.',
  'DNS:"bank-a.example\\u0000.evil.example"',
  'URI:bank-a.example',
  'email:bank-a.example',
  'URI:urn:bank:A',
  'URI:dns:bank-a.example',
  'othername:UPN:bank-a.example',
  'DirName:CN = bank-a.example',
  '',
])('a certificate with only %s belongs to no client', (names) => {
  expect(whose(certificate(names))).toEqual({ client: null })
})

test('a certificate with a name of its own, in whatever case, or known as a whole, is its client’s', () => {
  expect(whose(certificate('DNS:BANK-A.example, URI:urn:bank:a, DNS:other.example'))).toEqual({
    client: 'bank-a',
  })
  expect(whose(pinned)).toEqual({ client: 'bank-c' })
})
