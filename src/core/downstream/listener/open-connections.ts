import type { Socket } from 'node:net'
import type { ListenConfig } from '../../config/config.ts'
import { cidrMatcher, normalizeAddress, toNetworkKey } from '../../lib/net/addresses.ts'
import type { Log } from '../../log/log.ts'
import {
  createRejectedConnectionLog,
  type RejectedConnectionCounts,
  type RejectedConnectionLog,
} from '../../log/rejected-connections.ts'
import type { TrustedProxyMatcher } from '../request/forwarded.ts'
import { getConnectionClaims, getRemoteAddress } from './listener-config.ts'

/** The open connections of a listener, and those that a limit has closed. */
export class OpenConnections {
  readonly sockets = new Set<Socket>()
  isClosed = false
  readonly addressLimit = new PerAddressConnectionLimit()
  /** Those beyond `listen.maxConnections`. */
  readonly rejected: RejectedConnectionLog
  readonly #rejectedPerAddress: RejectedConnectionLog

  constructor(log: Log, counts: RejectedConnectionCounts, worker: number | undefined) {
    this.rejected = createRejectedConnectionLog(log, 'maxConnections', counts, worker === undefined ? {} : { worker })
    this.#rejectedPerAddress = createRejectedConnectionLog(log, 'maxConnectionsPerAddress', counts)
  }

  /** Remembers a connection until it closes, or is forgotten. */
  remember(socket: Socket): void {
    this.sockets.add(socket)
    socket.once('close', () => this.sockets.delete(socket))
  }

  forget(socket: Socket): void {
    this.sockets.delete(socket)
  }

  /** Remembers a connection, and counts it by its address. False: it was closed. */
  track(socket: Socket): boolean {
    // Reset before it was accepted, as HAProxy ends its checks, or right behind its handshake: no response can reach
    // the client, and its address is gone. Its request would pass the limits, and stand in the log, as one of no
    // address.
    if (socket.remoteAddress === undefined) {
      socket.destroy()
      return false
    }
    // A TLS socket on a connection is not another connection. And a load balancer stands for all of its clients.
    const slot =
      'encrypted' in socket || getConnectionClaims(socket)?.address === null
        ? null
        : this.addressLimit.acquire(getRemoteAddress(socket))
    if (slot === false) {
      this.#rejectedPerAddress.record()
      socket.destroy()
      return false
    }
    if (!this.sockets.has(socket)) this.remember(socket)
    if (slot !== null) socket.once('close', () => this.addressLimit.release(slot))
    return true
  }

  /** Resolves when all that are open have closed. */
  async allClosed(): Promise<void> {
    await Promise.all([...this.sockets].map((socket) => new Promise((resolve) => socket.once('close', resolve))))
  }

  /** Takes none from now on, and logs the rejected ones that were not logged yet. */
  close(): void {
    this.isClosed = true
    this.rejected.close()
    this.#rejectedPerAddress.close()
  }
}

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
