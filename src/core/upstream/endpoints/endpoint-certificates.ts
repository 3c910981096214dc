import type { TLSSocket } from 'node:tls'
import type { UpstreamTlsConfig } from '../../config/config.ts'
import { expiryWarningMs } from '../../lib/certificate-expiry.ts'
import { weakMemo } from '../../lib/memo.ts'

export interface EndpointCertificate {
  readonly address: string
  readonly notAfter: number
  /** 14 days before the end, or the last third of a validity under six weeks. */
  readonly warnFrom: number
  readonly seenAt: number
}

// The addresses of a name may change without limit.
const maxAddresses = 64

export class EndpointCertificates {
  readonly #byAddress = new Map<string, EndpointCertificate>()

  get list(): readonly EndpointCertificate[] {
    return [...this.#byAddress.values()]
  }

  /** Skips resumed sessions, which show their first certificate (RFC 8446 §2.2). */
  record(socket: TLSSocket, at: number): void {
    const { remoteAddress: address } = socket
    if (address === undefined || socket.isSessionReused()) return
    const certificate = socket.getPeerX509Certificate()
    if (certificate === undefined) return
    const [notBefore, notAfter] = [certificate.validFromDate.getTime(), certificate.validToDate.getTime()]
    if (Number.isNaN(notBefore) || Number.isNaN(notAfter)) return
    const warnFrom = notAfter - Math.min(expiryWarningMs, (notAfter - notBefore) / 3)
    this.#byAddress.delete(address)
    this.#byAddress.set(address, { address, notAfter, warnFrom, seenAt: at })
    const [oldest] = this.#byAddress.keys()
    if (this.#byAddress.size > maxAddresses && oldest !== undefined) this.#byAddress.delete(oldest)
  }

  retain(addresses: readonly string[]): void {
    for (const address of [...this.#byAddress.keys()]) if (!addresses.includes(address)) this.#byAddress.delete(address)
  }

  isExpiringSoon(at: number): boolean {
    for (const { warnFrom } of this.#byAddress.values()) if (at >= warnFrom) return true
    return false
  }
}

// Shared by connections with the same TLS settings, `serverName` included: another name may get another certificate.
const getCertificatesByHost = weakMemo((_: UpstreamTlsConfig) => new Map<string, EndpointCertificates>())

export const getEndpointCertificates = (tls: UpstreamTlsConfig, host: string): EndpointCertificates => {
  const byHost = getCertificatesByHost(tls)
  const certificates = byHost.get(host) ?? new EndpointCertificates()
  byHost.set(host, certificates)
  return certificates
}

export const firstToExpire = (seen: readonly EndpointCertificate[]): EndpointCertificate | null =>
  seen.toSorted((a, b) => a.notAfter - b.notAfter)[0] ?? null
