import type { TLSSocket } from 'node:tls'
import type { UpstreamTlsConfig } from '../../config/config.ts'
import { weakMemo } from '../../lib/memo.ts'
import { expiryWarningMs } from '../../lib/text/format-time.ts'

/** The last certificate that an endpoint showed at one of its addresses. Times are milliseconds since the epoch. */
export interface EndpointCertificate {
  readonly address: string
  readonly notAfter: number
  /**
   * When its end is near: {@link expiryWarningMs} before; of a certificate that is valid for less than six weeks, the
   * last third of its time.
   */
  readonly warnFrom: number
  readonly seenAt: number
}

// A name may have had any number of addresses over time.
const maxAddresses = 64

/**
 * The certificates of one endpoint, as handshakes show them: of traffic, of probes, and of the preflight before an edit
 * takes effect.
 */
export class EndpointCertificates {
  readonly #byAddress = new Map<string, EndpointCertificate>()

  get list(): readonly EndpointCertificate[] {
    return [...this.#byAddress.values()]
  }

  /**
   * Records the certificate of a full handshake. A resumed session shows the certificate that it began with (RFC 8446
   * §2.2).
   */
  record(socket: TLSSocket, at: number): void {
    const { remoteAddress: address } = socket
    if (address === undefined || socket.isSessionReused()) return
    const certificate = socket.getPeerX509Certificate()
    if (certificate === undefined) return
    const [notBefore, notAfter] = [certificate.validFromDate.getTime(), certificate.validToDate.getTime()]
    if (Number.isNaN(notBefore) || Number.isNaN(notAfter)) return
    const warnFrom = notAfter - Math.min(expiryWarningMs, (notAfter - notBefore) / 3)
    this.#byAddress.delete(address) // the last one seen is the last one in it
    this.#byAddress.set(address, { address, notAfter, warnFrom, seenAt: at })
    const [oldest] = this.#byAddress.keys()
    if (this.#byAddress.size > maxAddresses && oldest !== undefined) this.#byAddress.delete(oldest)
  }

  /** Forgets the certificates of other addresses: the name no longer resolves to them. */
  retain(addresses: readonly string[]): void {
    for (const address of [...this.#byAddress.keys()]) if (!addresses.includes(address)) this.#byAddress.delete(address)
  }

  isExpiringSoon(at: number): boolean {
    for (const { warnFrom } of this.#byAddress.values()) if (at >= warnFrom) return true
    return false
  }
}

// By the TLS settings, which include the name that is asked for: with another name an endpoint may show another
// certificate.
const getCertificatesByHost = weakMemo((_: UpstreamTlsConfig) => new Map<string, EndpointCertificates>())

/**
 * Finds the certificates of an endpoint; `host` is its authority. All connections to it with the same settings record
 * what they see in one place.
 */
export const getEndpointCertificates = (tls: UpstreamTlsConfig, host: string): EndpointCertificates => {
  const byHost = getCertificatesByHost(tls)
  const certificates = byHost.get(host) ?? new EndpointCertificates()
  byHost.set(host, certificates)
  return certificates
}

export const firstToExpire = (seen: readonly EndpointCertificate[]): EndpointCertificate | null =>
  seen.toSorted((a, b) => a.notAfter - b.notAfter)[0] ?? null
