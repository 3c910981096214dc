import type { Socket } from 'node:net'
import type { ListenConfig } from '../../../config/config.ts'
import { normalizeAddress } from '../../../downstream/listener/addresses.ts'
import { listenerParts } from '../../../downstream/listener/listener-parts.ts'
import { PerAddressConnectionLimit } from '../../../downstream/listener/open-connections.ts'

/**
 * Counts the connections of each address for all workers together. The primary sees them come. Their end is reported by
 * the worker that has them, or comes with the worker's own end.
 */
export class ConnectionTracker<Worker extends object> {
  readonly #perAddress = new PerAddressConnectionLimit()
  /** Counted, and not yet handed to a worker. */
  readonly #unassigned = new WeakMap<Socket, string>()
  readonly #byWorker = new WeakMap<Worker, Map<string, number>>()
  #introducers: readonly ((address: string) => boolean)[] = []

  applyConfig(listen: ListenConfig): void {
    this.#perAddress.applyConfig(listen)
    this.#introducers = listenerParts.flatMap((part) => part.compileIntroducers?.(listen) ?? [])
  }

  /** Counts a connection from an address. False: the address has as many as it may have. */
  acquire(socket: Socket, address: string | undefined): boolean {
    // Which client a load balancer has connected for, the connection's first bytes say, and workers alone read these.
    const from = normalizeAddress(address ?? '')
    if (!this.#perAddress.isLimited || this.#introducers.some((isIntroducer) => isIntroducer(from))) return true
    const addressKey = this.#perAddress.acquire(address)
    if (addressKey === false) return false
    if (addressKey === null) return true
    this.#unassigned.set(socket, addressKey)
    socket.once('close', () => {
      if (this.#unassigned.delete(socket)) this.#perAddress.release(addressKey)
    })
    return true
  }

  /**
   * Counts a connection that a worker has, from the address of its client. Returns the key that it is counted by. Null:
   * it is not counted. False: the address has as many as it may have.
   */
  acquireFor(worker: Worker, address: string): string | null | false {
    const addressKey = this.#perAddress.acquire(address)
    if (typeof addressKey === 'string') this.#increment(worker, addressKey)
    return addressKey
  }

  /** Assigns a connection to a worker. Returns the key that it is counted by. Null: it is not counted. */
  assign(worker: Worker, socket: Socket): string | null {
    const addressKey = this.#unassigned.get(socket)
    if (addressKey === undefined) return null
    this.#unassigned.delete(socket)
    this.#increment(worker, addressKey)
    return addressKey
  }

  /** Takes back a connection that could not be handed over. */
  unassign(worker: Worker, socket: Socket, addressKey: string | null): void {
    if (addressKey !== null && this.#decrement(worker, addressKey)) this.#unassigned.set(socket, addressKey)
  }

  /** Counts out connections that a worker has closed. */
  release(worker: Worker, addressKeys: readonly string[]): void {
    for (const addressKey of addressKeys) if (this.#decrement(worker, addressKey)) this.#perAddress.release(addressKey)
  }

  /** Counts out all connections of a worker that has ended. */
  releaseAll(worker: Worker): void {
    for (const [addressKey, count] of this.#byWorker.get(worker) ?? [])
      for (let n = 0; n < count; n++) this.#perAddress.release(addressKey)
    this.#byWorker.delete(worker)
  }

  #increment(worker: Worker, addressKey: string): void {
    const counts = this.#byWorker.get(worker) ?? new Map<string, number>()
    counts.set(addressKey, (counts.get(addressKey) ?? 0) + 1)
    this.#byWorker.set(worker, counts)
  }

  #decrement(worker: Worker, addressKey: string): boolean {
    const counts = this.#byWorker.get(worker)
    const count = counts?.get(addressKey) ?? 0
    if (count === 1) counts?.delete(addressKey)
    else if (count > 1) counts?.set(addressKey, count - 1)
    return count > 0
  }
}
