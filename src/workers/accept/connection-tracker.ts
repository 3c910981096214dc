import type { Socket } from 'node:net'
import type { ListenConfig } from '../../config/config.ts'
import { PerAddressConnectionLimit } from '../../downstream/listener/connection-limits.ts'

/**
 * Counts the connections of each address for all workers together. The primary sees them come; that one has ended, the worker that it was
 * handed to says, or its own end does.
 */
export class ConnectionTracker<Worker extends object> {
  readonly #perAddress = new PerAddressConnectionLimit()
  /** Counted, and with nobody yet. */
  readonly #unassigned = new WeakMap<Socket, string>()
  readonly #byWorker = new WeakMap<Worker, Map<string, number>>()

  applyConfig(listen: ListenConfig): void {
    this.#perAddress.applyConfig(listen)
  }

  /** Counts a connection from an address; false: that has as many as may be. */
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

  /** Leaves a connection to a worker, and tells what it is counted by; null: by nothing. */
  assign(worker: Worker, socket: Socket): string | null {
    const counted = this.#unassigned.get(socket)
    if (counted === undefined) return null
    this.#unassigned.delete(socket)
    const counts = this.#byWorker.get(worker) ?? new Map<string, number>()
    counts.set(counted, (counts.get(counted) ?? 0) + 1)
    this.#byWorker.set(worker, counts)
    return counted
  }

  /** Takes a connection back that could not be handed over. */
  unassign(worker: Worker, socket: Socket, counted: string | null): void {
    if (counted !== null && this.#decrement(worker, counted)) this.#unassigned.set(socket, counted)
  }

  /** Hears of a worker that connections have ended. */
  release(worker: Worker, counted: readonly string[]): void {
    for (const each of counted) if (this.#decrement(worker, each)) this.#perAddress.release(each)
  }

  /** Hears that a worker has ended, and its connections with it. */
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
