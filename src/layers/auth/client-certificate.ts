import { hash, X509Certificate } from 'node:crypto'
import { LRUCache } from 'lru-cache'
import { parseItem } from 'structured-headers'
import { epochMs } from '../../clock.ts'
import type { Exchange } from '../../exchange.ts'
import { malformedCredential, singleFieldValue } from './authenticator.ts'
import { CredentialRejected } from './errors.ts'

/** Finds the certificate that the client of an exchange has shown; null: none. What was shown and is not good is the reason why not. */
export type GetClientCertificate = (exchange: Exchange) => X509Certificate | CredentialRejected | null

/** Finds the certificate of the connection. It was judged when that began, by `listen.tls`. */
export const certificateFromConnection: GetClientCertificate = ({ peer }) => peer.certificate()

/** Has each be good for the moment too: connections and memories last longer than a handshake. */
export const withValidityCheck =
  (find: GetClientCertificate): GetClientCertificate =>
  (exchange) => {
    const presented = find(exchange)
    if (presented === null || presented instanceof CredentialRejected) return presented
    const at = epochMs()
    const isGood = presented.validFromDate.getTime() <= at && at <= presented.validToDate.getTime()
    return isGood ? presented : new CredentialRejected('certificate-not-valid-now', 'its certificate is not valid now')
  }

/** Makes the thumbprint of a certificate: the SHA-256 of its DER, in base64url (RFC 8705 §3.1). */
export const certificateThumbprint = ({ raw }: X509Certificate): string => hash('sha256', raw, 'base64url')

// The same clients come again and again.
const maxCached = 1000

// RFC 5280 §4.2.1.12: for TLS clients, and for anything.
const clientPurposes = ['1.3.6.1.5.5.7.3.2', '2.5.29.37.0']

/**
 * Reads the certificate that a client has shown to the proxy in front (RFC 9440), from the proxies that are believed and nobody else. Such a proxy
 * has had its client prove that it holds the key. Whom it believed, it does not say: one of `authorities` has to have issued the certificate
 * itself. Null: any will do, because clients are known by the whole certificate and not by a name in it. Revocation is the proxy's.
 */
export const certificateFromHeader = (authorities: readonly X509Certificate[] | null): GetClientCertificate => {
  const cache = new LRUCache<string, X509Certificate | CredentialRejected>({ max: maxCached })

  const validate = (value: string): X509Certificate | CredentialRejected => {
    const certificate = parseClientCert(value)
    const { keyUsage } = certificate
    if (keyUsage !== undefined && !clientPurposes.some((purpose) => keyUsage.includes(purpose)))
      return new CredentialRejected('certificate-not-for-clients', 'its certificate is not for clients')
    if (authorities !== null && !authorities.some((authority) => hasIssued(authority, certificate)))
      return new CredentialRejected('certificate-authority', 'its certificate is of an unknown authority')
    return certificate
  }

  return (exchange) => {
    if (!exchange.peer.trusted) return null
    const value = singleFieldValue(exchange.fields, 'client-cert') // of two, one may be the client's own
    if (value === null) return null
    const result = cache.get(value) ?? validate(value)
    cache.set(value, result)
    return result
  }
}

/**
 * Reads a byte sequence of RFC 9651 that holds a certificate in DER (RFC 9440 §2.1), and nothing else: Node would read PEM as well, whatever stands
 * before it, and look away from what follows.
 */
const parseClientCert = (value: string): X509Certificate => {
  try {
    const [bytes] = parseItem(value)
    const der = bytes instanceof ArrayBuffer ? Buffer.from(bytes) : Buffer.alloc(0)
    const certificate = new X509Certificate(der)
    if (certificate.raw.equals(der)) return certificate
  } catch {
    // What it says is told by nobody: it quotes the field.
  }
  throw malformedCredential('bad-client-cert', 'there is no certificate in Client-Cert')
}

const hasIssued = (authority: X509Certificate, certificate: X509Certificate): boolean =>
  authority.ca && certificate.checkIssued(authority) && certificate.verify(authority.publicKey)
