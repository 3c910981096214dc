import { hash, X509Certificate } from 'node:crypto'
import { LRUCache } from 'lru-cache'
import { parseItem } from 'structured-headers'
import type { Exchange } from '../../core/exchange/exchange.ts'
import { copyText } from '../../core/lib/buffers.ts'
import { epochMs } from '../../core/lib/clock.ts'
import { malformedCredential, singleFieldValue } from './authenticator.ts'
import { CredentialRejected } from './errors.ts'

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
export const isForClients = ({ keyUsage }: X509Certificate): boolean =>
  keyUsage === undefined || clientPurposes.some((purpose) => keyUsage.includes(purpose))

export const isValidNow = ({ validFromDate, validToDate }: X509Certificate): boolean => {
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

export const hasIssued = (authority: X509Certificate, certificate: X509Certificate): boolean =>
  authority.ca && certificate.checkIssued(authority) && certificate.verify(authority.publicKey)
