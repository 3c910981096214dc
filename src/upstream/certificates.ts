import type { TLSSocket } from 'node:tls'
import type { UpstreamTlsConfig } from '../config/config.ts'

/** The last certificate that an endpoint showed at one of its addresses. Times are milliseconds since the epoch. */
export interface SeenCertificate {
  readonly address: string
  /** Its last moment. */
  readonly notAfter: number
  /** From when on its end is near: 14 days before; of one that is good for less than six weeks, the last third of its time. */
  readonly soonFrom: number
  readonly seenAt: number
}

// A name may have had any number of addresses in the course of time.
const mostAddresses = 64

/** The certificates of one endpoint, as handshakes show them: of traffic, of probes, and of trying it before an edit takes effect. */
export class SeenCertificates {
  readonly #byAddress = new Map<string, SeenCertificate>()

  /** Lists the last one of each address. */
  get seen(): readonly SeenCertificate[] {
    return [...this.#byAddress.values()]
  }

  /** Notes what a whole handshake has shown. A session that is resumed shows the certificate that it was begun with (RFC 8446 §2.2). */
  note(socket: TLSSocket, at: number): void {
    const { remoteAddress: address } = socket
    if (address === undefined || socket.isSessionReused()) return
    const certificate = socket.getPeerX509Certificate()
    if (certificate === undefined) return
    const [notBefore, notAfter] = [certificate.validFromDate.getTime(), certificate.validToDate.getTime()]
    if (Number.isNaN(notBefore) || Number.isNaN(notAfter)) return
    const soonFrom = notAfter - Math.min(soonMs, (notAfter - notBefore) / 3)
    this.#byAddress.delete(address) // the last one seen is the last one in it
    this.#byAddress.set(address, { address, notAfter, soonFrom, seenAt: at })
    const [oldest] = this.#byAddress.keys()
    if (this.#byAddress.size > mostAddresses && oldest !== undefined) this.#byAddress.delete(oldest)
  }

  /** Forgets what other addresses have shown: the name does not lead there any more. */
  keep(addresses: readonly string[]): void {
    for (const address of [...this.#byAddress.keys()]) if (!addresses.includes(address)) this.#byAddress.delete(address)
  }

  /** Tells whether the end of one of them is near. */
  isEnding(at: number): boolean {
    for (const { soonFrom } of this.#byAddress.values()) if (at >= soonFrom) return true
    return false
  }
}

// By the settings, which also say by what name it is asked for: with another one an endpoint may show another certificate.
const known = new WeakMap<UpstreamTlsConfig, Map<string, SeenCertificates>>()

/** Finds the certificates of an endpoint: `host` is its authority. All that connect to it with the same settings note what they see in one place. */
export const certificatesOf = (tls: UpstreamTlsConfig, host: string): SeenCertificates => {
  const byHost = known.get(tls) ?? new Map<string, SeenCertificates>()
  known.set(tls, byHost)
  const found = byHost.get(host) ?? new SeenCertificates()
  byHost.set(host, found)
  return found
}

/** Finds the one that ends first; null: none was seen. */
export const firstToEnd = (seen: readonly SeenCertificate[]): SeenCertificate | null =>
  seen.toSorted((a, b) => a.notAfter - b.notAfter)[0] ?? null

/** How long before its end a certificate is told of, in ms: who renews by machine does so earlier, who does it by hand has two weeks. */
export const soonMs = 14 * 24 * 3_600_000
