import type { X509Certificate } from 'node:crypto'
import { weakMemo } from '../../core/lib/memo.ts'
import { tryOrNull } from '../../core/lib/try.ts'
import { type Authenticator, type AuthResult, unauthenticated } from './authenticator.ts'
import { certificateThumbprint, type GetClientCertificate } from './client-certificate.ts'
import type { ClientRegistry } from './client-registry.ts'
import { CredentialRejected } from './errors.ts'

// There is no registered scheme below HTTP; RFC 9110 §11.6.1 asks for some challenge.
const challenge = 'ClientCertificate realm="lender-gateway"'

/** `fields` are those that the certificate may have come in. */
export const mtlsAuthenticator = (
  getCertificate: GetClientCertificate,
  clients: ClientRegistry,
  fields: readonly string[],
): Authenticator => {
  const getResult = weakMemo((certificate: X509Certificate) => findClient(certificate, clients))
  return {
    name: 'mtls',
    fields,
    challenge,
    applies: (exchange) => getCertificate(exchange) !== null,
    authenticate(exchange) {
      const presented = getCertificate(exchange)
      if (presented === null || presented instanceof CredentialRejected)
        throw unauthenticated(
          challenge,
          presented?.reason ?? 'no-certificate',
          presented?.message ?? 'there is no certificate',
        )
      return getResult(presented)
    },
  }
}

/** One with the names of several clients has none: it is ambiguous which one is meant. */
const findClient = (certificate: X509Certificate, clients: ClientRegistry): AuthResult => {
  const names = [`sha256:${certificateThumbprint(certificate)}`, ...subjectAltNames(certificate)]
  const [client = null, ...others] = new Set(names.flatMap((name) => clients.byCertificate(name) ?? []))
  if (others.length > 0)
    throw unauthenticated(challenge, 'ambiguous-certificate', 'its certificate is of several clients')
  return { client, token: null }
}

// Node's names of the kinds that clients are known by. Directory names, addresses and other kinds identify no client.
const altNameKinds: Readonly<Record<string, string>> = { DNS: 'dns', URI: 'uri', email: 'email' }

// One name and what follows it. Node writes a value with a comma, a quote or anything unusual as a JSON string
// (CVE-2021-44532): a quoted part is never cut.
const altNamePattern = /([A-Za-z0-9][A-Za-z0-9 .-]*):("(?:[^"\\]|\\.)*"|[^",]*)(?:, |$)/y

/**
 * Lists the names of a certificate (RFC 5280 §4.2.1.6), as the configuration spells them: `dns:bank-a.example`. The
 * common name is none of them (RFC 9525 §2). Where the list cannot be read to its end, there are none: half of it may
 * mean another client.
 */
export const subjectAltNames = ({ subjectAltName }: Pick<X509Certificate, 'subjectAltName'>): readonly string[] => {
  if (subjectAltName === undefined) return []
  const names: string[] = []
  altNamePattern.lastIndex = 0
  while (altNamePattern.lastIndex < subjectAltName.length) {
    const [found, kind = '', written = ''] = altNamePattern.exec(subjectAltName) ?? []
    if (found === undefined) return []
    const name = parseAltName(altNameKinds[kind], written)
    if (name !== null) names.push(name)
  }
  return names
}

/** Spells a name as it is compared: a host name has no case (RFC 4343), the others are compared as they are. */
export const canonicalAltName = (kind: string, value: string): string =>
  `${kind}:${kind === 'dns' ? value.toLowerCase() : value}`

const parseAltName = (kind: string | undefined, written: string): string | null => {
  if (kind === undefined) return null
  const value = written.startsWith('"') ? unquote(written) : written
  // No configured name is like that: a name with control characters is meant to be read as another.
  return value === null || !/^[\x21-\x7e]+$/.test(value) ? null : canonicalAltName(kind, value)
}

const unquote = (written: string): string | null => tryOrNull(() => String(JSON.parse(written)))
