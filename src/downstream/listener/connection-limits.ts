import { CoalescedTimer, epochMs } from '../../clock.ts'
import type { ListenConfig } from '../../config/config.ts'
import type { Log } from '../../observe/log.ts'
import type { ConnectionLimitKey, RejectedConnectionCounts } from '../../runtime/resources/process-load.ts'
import { cidrMatcher } from '../../shared/cidr.ts'
import { toNetworkKey } from '../../shared/rate-limiter/network-key.ts'
import { normalizeAddress, type TrustedProxyMatcher } from './peer.ts'

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
    if (this.#max === null || remoteAddress === undefined) return null
    const address = normalizeAddress(remoteAddress)
    if (this.#isTrusted(address)) return null
    const network = toNetworkKey(address, ipv6Prefix)
    const count = this.#counts.get(network) ?? 0
    if (count >= this.#max) return false
    this.#counts.set(network, count + 1)
    return network
  }

  /** Counts one connection less. */
  release(network: string): void {
    const remaining = (this.#counts.get(network) ?? 0) - 1
    if (remaining > 0) this.#counts.set(network, remaining)
    else this.#counts.delete(network)
  }
}

const logIntervalMs = 1000

/** Logs connections that were closed at once. */
export interface RejectedConnectionLog {
  /** Counts a rejected connection, and logs it: at once, or with others within a second. */
  record(): void
  /** Logs those that were not logged yet. */
  close(): void
}

/**
 * Creates the log of the connections that a setting has closed; they are counted in `counts` too. A flood of
 * connections must not flood the log as well.
 */
export const createRejectedConnectionLog = (
  log: Log,
  setting: ConnectionLimitKey,
  counts: RejectedConnectionCounts,
  extraFields: { readonly worker?: number } = {},
): RejectedConnectionLog => {
  let pending = 0
  let throttled = false
  const flush = (): void => {
    throttled = pending > 0
    if (!throttled) return
    log.warn({ ...extraFields, setting, connections: pending }, 'connections turned away')
    pending = 0
    timer.set(logIntervalMs)
  }
  const timer = new CoalescedTimer(flush)
  return {
    record() {
      counts[setting].count(epochMs())
      pending++
      if (!throttled) flush()
    },
    close() {
      flush()
      timer.clear()
    },
  }
}
