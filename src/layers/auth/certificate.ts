import { hash, type X509Certificate } from 'node:crypto'
import { wallClock } from '../../clock.ts'
import type { Exchange } from '../../exchange.ts'
import { Refused } from './refused.ts'

/** Finds the certificate that the client of an exchange has shown; null: none. What was shown and is not good is the reason why not. */
export type CertificateOf = (exchange: Exchange) => X509Certificate | Refused | null

/** Finds the certificate of the connection. It was judged when that began, by `listen.tls`. */
export const ofConnection: CertificateOf = ({ sender }) => sender.certificate()

/** Has each be good for the moment too: connections and memories last longer than a handshake. */
export const whileValid =
  (find: CertificateOf): CertificateOf =>
  (exchange) => {
    const shown = find(exchange)
    if (shown === null || shown instanceof Refused) return shown
    const at = wallClock()
    const isGood = shown.validFromDate.getTime() <= at && at <= shown.validToDate.getTime()
    return isGood ? shown : new Refused('certificate-not-valid-now', 'its certificate is not valid now')
  }

/** Makes the thumbprint of a certificate: the SHA-256 of its DER, in base64url (RFC 8705 §3.1). */
export const thumbprintOf = ({ raw }: X509Certificate): string => hash('sha256', raw, 'base64url')
