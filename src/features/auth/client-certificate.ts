import { hash, X509Certificate } from 'node:crypto'
import type { Socket } from 'node:net'
import type { TLSSocket } from 'node:tls'
import { LRUCache } from 'lru-cache'
import { parseItem } from 'structured-headers'
import type { Operator } from '../../core/admin/access/operator.ts'
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

/**
 * Returns the certificate that the client of an exchange presented; null: none. A certificate that is not good becomes
 * the error that says why.
 */
export type GetClientCertificate = (exchange: Exchange) => X509Certificate | CredentialRejected | null

/** `listen.tls` verified it when the connection began. */
export const certificateFromConnection: GetClientCertificate = ({ peer }) => peer.certificate()

/** Rejects a certificate that is not valid now: connections and caches last longer than a handshake. */
export const withValidityCheck =
  (find: GetClientCertificate): GetClientCertificate =>
  (exchange) => {
    const presented = find(exchange)
    if (presented === null || presented instanceof CredentialRejected) return presented
    return isValidNow(presented)
      ? presented
      : new CredentialRejected('certificate-not-valid-now', 'its certificate is not valid now')
  }

/** Computes the thumbprint of a certificate: the SHA-256 of its DER, in base64url (RFC 8705 §3.1). */
export const certificateThumbprint = ({ raw }: X509Certificate): string => hash('sha256', raw, 'base64url')

// The same clients come again and again.
const maxCached = 1000

// RFC 5280 §4.2.1.12: for TLS clients, and for anything.
const clientPurposes = ['1.3.6.1.5.5.7.3.2', '2.5.29.37.0']

/**
 * Reads the certificate that a client presented to the proxy in front (RFC 9440), from trusted proxies only. Such a
 * proxy has verified that its client holds the key. It does not say which authority it trusted: one of `authorities`
 * must have issued the certificate itself. Null: any authority will do, because clients are known by the whole
 * certificate and not by a name in it. Revocation is the proxy's task.
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
    const value = singleFieldValue(exchange.fields, 'client-cert') // of two, one may come from the client
    if (value === null) return null
    const known = cache.get(value)
    if (known !== undefined) return known
    const validated = validate(value)
    cache.set(copyText(value), validated)
    return validated
  }
}

/** Tells whether a certificate may be shown by a client; one that says nothing of its purpose may. */
const isForClients = ({ keyUsage }: X509Certificate): boolean =>
  keyUsage === undefined || clientPurposes.some((purpose) => keyUsage.includes(purpose))

const isValidNow = ({ validFromDate, validToDate }: X509Certificate): boolean => {
  const at = epochMs()
  return validFromDate.getTime() <= at && at <= validToDate.getTime()
}

/**
 * Reads a byte sequence of RFC 9651 that holds a certificate in DER (RFC 9440 §2.1), and nothing else. Node would also
 * read PEM, whatever stands before it, and would ignore what follows.
 */
const parseClientCert = (value: string): X509Certificate => {
  try {
    const [bytes] = parseItem(value)
    const der = bytes instanceof ArrayBuffer ? Buffer.from(bytes) : Buffer.alloc(0)
    const certificate = new X509Certificate(der)
    if (certificate.raw.equals(der)) return certificate
  } catch {
    // The error's text goes nowhere: it quotes the field.
  }
  throw malformedCredential('bad-client-cert', 'there is no certificate in Client-Cert')
}

const hasIssued = (authority: X509Certificate, certificate: X509Certificate): boolean =>
  authority.ca && certificate.checkIssued(authority) && certificate.verify(authority.publicKey)

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

type CertificateConfig = NonNullable<NonNullable<AdminConfig['tls']>['clientCertificate']>

/**
 * Finds the operator of the certificate that a connection has shown; null: it has shown none that is good. The
 * handshake has proved that the client holds the key. Whether the certificate is good now is looked at again for each
 * request: a connection may be older than the authorities and the operators of the file.
 */
export const findOperatorByCertificate = (socket: Socket, { tls }: AdminConfig): Operator | null => {
  if (tls === null || tls.clientCertificate === null || !isTls(socket)) return null
  const certificate = shownCertificate(socket)
  // `authorized` alone says nothing of a resumed session.
  if (certificate === undefined || !socket.authorized || !isValidNow(certificate)) return null
  const isGood = readAuthorities(tls.clientCertificate).some((authority) => hasIssued(authority, certificate))
  return isGood && isForClients(certificate) ? findByName(certificate, tls.clientCertificate) : null
}

const shownBefore = new WeakMap<TLSSocket, X509Certificate>()

/**
 * Gets the certificate that a connection shows. One that has closed shows none: an order that waits is judged by what
 * it showed, since a client that leaves before has given the order all the same.
 */
const shownCertificate = (socket: TLSSocket): X509Certificate | undefined => {
  const certificate = socket.getPeerX509Certificate()
  if (certificate === undefined) return shownBefore.get(socket)
  shownBefore.set(socket, certificate)
  return certificate
}

const isTls = (socket: Socket): socket is TLSSocket => 'getPeerX509Certificate' in socket

/** Finds the operator of the names of a certificate. One with the names of several is of none. */
const findByName = (certificate: X509Certificate, { operators }: CertificateConfig): Operator | null => {
  const names = new Set([`sha256:${certificateThumbprint(certificate)}`, ...subjectAltNames(certificate)])
  const [found, ...others] = operators.filter(({ san }) => names.has(san))
  if (found === undefined || others.some(({ name, scope }) => name !== found.name || scope !== found.scope)) return null
  return { name: found.name, scope: found.scope, proof: 'certificate' }
}

// A configuration never changes: the next one is another object.
const readAuthorities = weakMemo(({ ca }: CertificateConfig) =>
  pemBlocks(ca).map((block) => new X509Certificate(block)),
)
