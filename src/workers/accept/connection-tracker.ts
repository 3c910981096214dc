import type { Socket } from 'node:net'
import type { ListenConfig } from '../../config/config.ts'
import { PerAddressConnectionLimit } from '../../downstream/listener/per-address-limit.ts'

/**
 * Counts the connections of each address for all workers together. The primary sees them come. Their end is reported by
 * the worker that has them, or comes with the worker's own end.
 */
export class ConnectionTracker<Worker extends object> {
  readonly #perAddress = new PerAddressConnectionLimit()
  /** Counted, and not yet handed to a worker. */
  readonly #unassigned = new WeakMap<Socket, string>()
  readonly #byWorker = new WeakMap<Worker, Map<string, number>>()

  applyConfig(listen: ListenConfig): void {
    this.#perAddress.applyConfig(listen)
  }

  /** Counts a connection from an address. False: the address has as many as it may have. */
  acquire(socket: Socket, address: string | undefined): boolean {
    if (!this.#perAddress.isLimited) return true
    const counted = this.#perAddress.acquire(address)
    if (counted === false) return false
    if (counted === null) return true
    this.#unassigned.set(socket, counted)
    socket.once('close', () => {
      if (this.#unassigned.delete(socket)) this.#perAddress.release(counted)
    })
    return true
  }

  /** Assigns a connection to a worker. Returns the key that it is counted by. Null: it is not counted. */
  assign(worker: Worker, socket: Socket): string | null {
    const counted = this.#unassigned.get(socket)
    if (counted === undefined) return null
    this.#unassigned.delete(socket)
    const counts = this.#byWorker.get(worker) ?? new Map<string, number>()
    counts.set(counted, (counts.get(counted) ?? 0) + 1)
    this.#byWorker.set(worker, counts)
    return counted
  }

  /** Takes back a connection that could not be handed over. */
  unassign(worker: Worker, socket: Socket, counted: string | null): void {
    if (counted !== null && this.#decrement(worker, counted)) this.#unassigned.set(socket, counted)
  }

  /** Counts out connections that a worker has closed. */
  release(worker: Worker, counted: readonly string[]): void {
    for (const each of counted) if (this.#decrement(worker, each)) this.#perAddress.release(each)
  }

  /** Counts out all connections of a worker that has ended. */
  releaseAll(worker: Worker): void {
    for (const [counted, count] of this.#byWorker.get(worker) ?? [])
      for (let n = 0; n < count; n++) this.#perAddress.release(counted)
    this.#byWorker.delete(worker)
  }

  #decrement(worker: Worker, counted: string): boolean {
    const counts = this.#byWorker.get(worker)
    const count = counts?.get(counted) ?? 0
    if (count === 1) counts?.delete(counted)
    else if (count > 1) counts?.set(counted, count - 1)
    return count > 0
  }
}
