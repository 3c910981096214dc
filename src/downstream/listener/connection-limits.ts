import { CoalescedTimer, epochMs } from '../../clock.ts'
import type { ListenConfig } from '../../config/config.ts'
import type { Log } from '../../observe/log.ts'
import type { ConnectionLimitKey, RejectedConnectionCounts } from '../../runtime/resources/process-load.ts'
import { cidrMatcher } from '../../shared/cidr.ts'
import { toNetworkKey } from '../../shared/rate-limiter/network-key.ts'
import { normalizeAddress, type TrustedProxyMatcher } from './peer.ts'

// What one customer has of IPv6.
const ipv6Prefix = 64

/** Counts connections by the address that they come from. A trusted proxy stands for all of its clients, and is not counted. */
export class PerAddressConnectionLimit {
  #max: number | null = null
  #isTrusted: TrustedProxyMatcher = () => false
  readonly #counts = new Map<string, number>()

  /** Takes over a bound. Connections that came while there was none are not counted. */
  applyConfig({ maxConnectionsPerAddress, trustedProxies }: ListenConfig): void {
    this.#max = maxConnectionsPerAddress
    this.#isTrusted = cidrMatcher(trustedProxies)
  }

  get isLimited(): boolean {
    return this.#max !== null
  }

  /** Counts a connection, and tells what it is counted by, for {@link release}; null: by nothing. False: there are as many as may be. */
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

  /** Counts one less. */
  release(network: string): void {
    const remaining = (this.#counts.get(network) ?? 0) - 1
    if (remaining > 0) this.#counts.set(network, remaining)
    else this.#counts.delete(network)
  }
}

const logIntervalMs = 1000

/** Tells the log of connections that were closed at once. */
export interface RejectedConnectionLog {
  /** Counts one, and tells of it: at once, or with others within a second. */
  record(): void
  /** Tells of those that were not told of yet. */
  close(): void
}

/** Begins to count connections that a setting has closed, in `counts` too. Whoever floods the listener must not flood the log as well. */
export const createRejectedConnectionLog = (
  log: Log,
  setting: ConnectionLimitKey,
  counts: RejectedConnectionCounts,
  extraFields: { readonly worker?: number } = {},
): RejectedConnectionLog => {
  let pending = 0
  let isThrottled = false
  const flush = (): void => {
    isThrottled = pending > 0
    if (!isThrottled) return
    log.warn({ ...extraFields, setting, connections: pending }, 'connections turned away')
    pending = 0
    timer.set(logIntervalMs)
  }
  const timer = new CoalescedTimer(flush)
  return {
    record() {
      counts[setting].count(epochMs())
      pending++
      if (!isThrottled) flush()
    },
    close() {
      flush()
      timer.clear()
    },
  }
}
