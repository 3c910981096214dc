import type { ListenConfig } from '../../config/config.ts'
import { cidrMatcher } from '../../lib/net/cidr.ts'
import { toNetworkKey } from '../../lib/net/network-key.ts'
import { normalizeAddress } from './addresses.ts'
import type { TrustedProxyMatcher } from './peer.ts'

// The prefix that one customer has of IPv6.
const ipv6Prefix = 64

/**
 * Counts connections by the address that they come from. A trusted proxy stands for all of its clients, and is not
 * counted.
 */
export class PerAddressConnectionLimit {
  #max: number | null = null
  #isTrusted: TrustedProxyMatcher = () => false
  readonly #counts = new Map<string, number>()

  /** Applies a configuration. Connections that came while there was no limit are not counted. */
  applyConfig({ maxConnectionsPerAddress, trustedProxies }: ListenConfig): void {
    this.#max = maxConnectionsPerAddress
    this.#isTrusted = cidrMatcher(trustedProxies)
  }

  get isLimited(): boolean {
    return this.#max !== null
  }

  /**
   * Counts a connection, and returns the network that it is counted by, for {@link release}; null: by none. False: the
   * limit is reached.
   */
  acquire(remoteAddress: string | undefined): string | null | false {
    if (this.#max === null || !remoteAddress) return null // a connection that has closed meanwhile has none
    const address = normalizeAddress(remoteAddress)
    if (this.#isTrusted(address)) return null
    const network = toNetworkKey(address, ipv6Prefix)
    const count = this.#counts.get(network) ?? 0
    if (count >= this.#max) return false
    this.#counts.set(network, count + 1)
    return network
  }

  release(network: string): void {
    const remaining = (this.#counts.get(network) ?? 0) - 1
    if (remaining > 0) this.#counts.set(network, remaining)
    else this.#counts.delete(network)
  }
}
