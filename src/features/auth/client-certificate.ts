import { hash, X509Certificate } from 'node:crypto'
import type { Socket } from 'node:net'
import type { TLSSocket } from 'node:tls'
import { LRUCache } from 'lru-cache'
import { parseItem } from 'structured-headers'
import type { Operator } from '../../core/admin/access/operator-tokens.ts'
import { pemBlocks } from '../../core/config/certificates.ts'
import type { AdminConfig } from '../../core/config/config.ts'
import type { Exchange } from '../../core/exchange/exchange.ts'
import { copyText } from '../../core/lib/buffers.ts'
import { epochMs } from '../../core/lib/clock.ts'
import { weakMemo } from '../../core/lib/memo.ts'
import { tryOrNull } from '../../core/lib/try.ts'
import type { Authenticator, AuthResult } from './auth.ts'
import type { ClientRegistry } from './client-registry.ts'
import { CredentialRejected, malformedCredential, singleFieldValue, unauthenticated } from './errors.ts'

/** Null: no certificate. An invalid certificate becomes an error with the reason. */
export type GetClientCertificate = (exchange: Exchange) => X509Certificate | CredentialRejected | null

export const certificateFromConnection: GetClientCertificate = ({ peer }) => peer.certificate()

/** A certificate may have expired since the handshake. */
export const withValidityCheck =
  (find: GetClientCertificate): GetClientCertificate =>
  (exchange) => {
    const presented = find(exchange)
    return presented === null || presented instanceof CredentialRejected || isValidNow(presented)
      ? presented
      : new CredentialRejected('certificate-not-valid-now', 'its certificate is not valid now')
  }

/** The SHA-256 of the DER, in base64url (RFC 8705 §3.1). */
export const certificateThumbprint = ({ raw }: X509Certificate): string => hash('sha256', raw, 'base64url')

const maxCached = 1000

// RFC 5280 §4.2.1.12: TLS clients, and any purpose.
const clientPurposes = ['1.3.6.1.5.5.7.3.2', '2.5.29.37.0']

/**
 * From a trusted proxy's `Client-Cert` (RFC 9440). The proxy has verified possession of the key, and checks revocation.
 * It does not say which authority it trusted, so one of `authorities` must have issued the certificate directly. Null:
 * any authority, because clients are known by the whole certificate.
 */
export const certificateFromHeader = (authorities: readonly X509Certificate[] | null): GetClientCertificate => {
  const validate = (value: string): X509Certificate | CredentialRejected => {
    const certificate = parseClientCert(value)
    if (!isForClients(certificate))
      return new CredentialRejected('certificate-not-for-clients', 'its certificate is not for clients')
    if (authorities !== null && !authorities.some((authority) => hasIssued(authority, certificate)))
      return new CredentialRejected('certificate-authority', 'its certificate is of an unknown authority')
    return certificate
  }
  const cache = new LRUCache<string, X509Certificate | CredentialRejected>({ max: maxCached })

  return (exchange) => {
    if (!exchange.peer.trusted) return null
    const value = singleFieldValue(exchange.fields, 'client-cert') // the client may have sent one of two fields
    if (value === null) return null
    const known = cache.get(value)
    if (known !== undefined) return known
    const validated = validate(value)
    cache.set(copyText(value), validated)
    return validated
  }
}

const isForClients = ({ keyUsage }: X509Certificate): boolean =>
  keyUsage === undefined || clientPurposes.some((purpose) => keyUsage.includes(purpose))

const isValidNow = ({ validFromDate, validToDate }: X509Certificate): boolean => {
  const at = epochMs()
  return validFromDate.getTime() <= at && at <= validToDate.getTime()
}

/** DER in a byte sequence (RFC 9440 §2.1, RFC 9651) only; Node would also accept PEM amid other text. */
const parseClientCert = (value: string): X509Certificate => {
  try {
    const [bytes] = parseItem(value)
    const der = bytes instanceof ArrayBuffer ? Buffer.from(bytes) : Buffer.alloc(0)
    const certificate = new X509Certificate(der)
    if (certificate.raw.equals(der)) return certificate
  } catch {
    // The library's error quotes the field, so it is dropped.
  }
  throw malformedCredential('bad-client-cert', 'there is no certificate in Client-Cert')
}

const hasIssued = (authority: X509Certificate, certificate: X509Certificate): boolean =>
  authority.ca && certificate.checkIssued(authority) && certificate.verify(authority.publicKey)

// No scheme is registered for TLS certificates; RFC 9110 §11.6.1 requires some challenge.
const challenge = 'ClientCertificate realm="lender-gateway"'

const noCertificate = new CredentialRejected('no-certificate', 'there is no certificate')

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
      const presented = getCertificate(exchange) ?? noCertificate
      if (!(presented instanceof CredentialRejected)) return getResult(presented)
      throw unauthenticated(challenge, presented.reason, presented.message)
    },
  }
}

const findClient = (certificate: X509Certificate, clients: ClientRegistry): AuthResult => {
  const names = [`sha256:${certificateThumbprint(certificate)}`, ...subjectAltNames(certificate)]
  const [client = null, ...others] = new Set(names.flatMap((name) => clients.byCertificate(name) ?? []))
  if (others.length > 0)
    throw unauthenticated(challenge, 'ambiguous-certificate', 'its certificate is of several clients')
  return { client, token: null }
}

// Node's names of the kinds that identify clients; directory names and addresses do not.
const altNameKinds: Readonly<Record<string, string>> = { DNS: 'dns', URI: 'uri', email: 'email' }

// One name and its value. Node writes a value with a comma, a quote or anything unusual as a JSON string
// (CVE-2021-44532): a quoted part is never cut.
const altNamePattern = /([A-Za-z0-9][A-Za-z0-9 .-]*):("(?:[^"\\]|\\.)*"|[^",]*)(?:, |$)/y

/**
 * A certificate's names (RFC 5280 §4.2.1.6) as the configuration writes them: `dns:bank-a.example`. The common name
 * does not count (RFC 9525 §2). An unreadable list has no names: half of it could match another client.
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

/** Host names ignore case (RFC 4343); other names do not. */
export const canonicalAltName = (kind: string, value: string): string =>
  `${kind}:${kind === 'dns' ? value.toLowerCase() : value}`

const parseAltName = (kind: string | undefined, written: string): string | null => {
  const value = written.startsWith('"') ? tryOrNull(() => String(JSON.parse(written))) : written
  // A name with control characters is meant to be misread, so no client matches it.
  return kind !== undefined && value !== null && /^[\x21-\x7e]+$/.test(value) ? canonicalAltName(kind, value) : null
}

type CertificateConfig = NonNullable<NonNullable<AdminConfig['tls']>['clientCertificate']>

/**
 * Null: no valid certificate. Authorities, operators and dates are checked for each request, because a connection
 * outlives edits of the file.
 */
export const findOperatorByCertificate = (socket: Socket, { tls }: AdminConfig): Operator | null => {
  const config = tls?.clientCertificate ?? null
  if (config === null || !isTls(socket)) return null
  const certificate = shownCertificate(socket)
  // For a resumed session, `authorized` alone proves nothing.
  if (certificate === undefined || !socket.authorized || !isValidNow(certificate)) return null
  const isGood = readAuthorities(config).some((authority) => hasIssued(authority, certificate))
  return isGood && isForClients(certificate) ? findByName(certificate, config) : null
}

const shownBefore = new WeakMap<TLSSocket, X509Certificate>()

/**
 * A closed socket has no certificate, so the last one counts: a waiting command stays valid when its client has left.
 */
const shownCertificate = (socket: TLSSocket): X509Certificate | undefined => {
  const certificate = socket.getPeerX509Certificate()
  if (certificate === undefined) return shownBefore.get(socket)
  shownBefore.set(socket, certificate)
  return certificate
}

const isTls = (socket: Socket): socket is TLSSocket => 'getPeerX509Certificate' in socket

const findByName = (certificate: X509Certificate, { operators }: CertificateConfig): Operator | null => {
  const names = [`sha256:${certificateThumbprint(certificate)}`, ...subjectAltNames(certificate)]
  const [found, ...others] = operators.filter(({ san }) => names.includes(san))
  if (found === undefined || others.some(({ name, scope }) => name !== found.name || scope !== found.scope)) return null
  return { name: found.name, scope: found.scope, proof: 'certificate' }
}

const readAuthorities = weakMemo(({ ca }: CertificateConfig) =>
  pemBlocks(ca).map((block) => new X509Certificate(block)),
)
