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

export class OpenConnections {
  readonly sockets = new Set<Socket>()
  isClosed = false
  readonly addressLimit = new PerAddressConnectionLimit()
  readonly rejected: RejectedConnectionLog
  readonly #rejectedPerAddress: RejectedConnectionLog

  constructor(log: Log, counts: RejectedConnectionCounts, worker: number | undefined) {
    this.rejected = createRejectedConnectionLog(log, 'maxConnections', counts, worker === undefined ? {} : { worker })
    this.#rejectedPerAddress = createRejectedConnectionLog(log, 'maxConnectionsPerAddress', counts)
  }

  remember(socket: Socket): void {
    this.sockets.add(socket)
    socket.once('close', () => this.sockets.delete(socket))
  }

  /** Counts a connection by its address. False: it was closed. */
  track(socket: Socket): boolean {
    // Reset before it was accepted (HAProxy's checks) or right after the handshake. No response can arrive, and without
    // an address the request would pass the limits per address.
    if (socket.remoteAddress === undefined) {
      socket.destroy()
      return false
    }
    // A TLS socket shares the slot of its raw socket. A load balancer stands for all of its clients.
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

  async allClosed(): Promise<void> {
    await Promise.all([...this.sockets].map((socket) => new Promise((resolve) => socket.once('close', resolve))))
  }

  close(): void {
    this.isClosed = true
    this.rejected.close()
    this.#rejectedPerAddress.close()
  }
}

// The prefix that one customer gets.
const ipv6Prefix = 64

/** Trusted proxies stand for all of their clients and are not counted. */
export class PerAddressConnectionLimit {
  #max: number | null = null
  #isTrusted: TrustedProxyMatcher = () => false
  readonly #counts = new Map<string, number>()

  /** Connections from a time without a limit are not counted. */
  applyConfig({ maxConnectionsPerAddress, trustedProxies }: ListenConfig): void {
    this.#max = maxConnectionsPerAddress
    this.#isTrusted = cidrMatcher(trustedProxies)
  }

  get isLimited(): boolean {
    return this.#max !== null
  }

  /** Returns the counted network, for {@link release}; null: not counted; false: the limit is reached. */
  acquire(remoteAddress: string | undefined): string | null | false {
    if (this.#max === null || !remoteAddress) return null // closed meanwhile: no address
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
