import type { Socket } from 'node:net'
import type { ListenConfig } from '../config/config.ts'
import { Crowd } from '../public/crowd.ts'

/**
 * Counts the connections of each address for all workers together. The primary sees them come; that one has ended, the worker that it was
 * handed to says, or its own end does.
 */
export class Guests<Worker extends object> {
  readonly #crowd = new Crowd()
  /** Counted, and with nobody yet. */
  readonly #waiting = new WeakMap<Socket, string>()
  readonly #with = new WeakMap<Worker, Map<string, number>>()

  bound(listen: ListenConfig): void {
    this.#crowd.bound(listen)
  }

  /** Counts a connection from an address; false: that has as many as may be. */
  enter(socket: Socket, address: string | undefined): boolean {
    if (!this.#crowd.isBounded) return true
    const counted = this.#crowd.enter(address)
    if (counted === false) return false
    if (counted === null) return true
    this.#waiting.set(socket, counted)
    socket.once('close', () => {
      if (this.#waiting.delete(socket)) this.#crowd.leave(counted)
    })
    return true
  }

  /** Leaves a connection to a worker, and tells what it is counted by; null: by nothing. */
  handTo(worker: Worker, socket: Socket): string | null {
    const counted = this.#waiting.get(socket)
    if (counted === undefined) return null
    this.#waiting.delete(socket)
    const has = this.#with.get(worker) ?? new Map<string, number>()
    has.set(counted, (has.get(counted) ?? 0) + 1)
    this.#with.set(worker, has)
    return counted
  }

  /** Takes a connection back that could not be handed over. */
  takeBack(worker: Worker, socket: Socket, counted: string | null): void {
    if (counted !== null && this.#take(worker, counted)) this.#waiting.set(socket, counted)
  }

  /** Hears of a worker that connections have ended. */
  left(worker: Worker, counted: readonly string[]): void {
    for (const each of counted) if (this.#take(worker, each)) this.#crowd.leave(each)
  }

  /** Hears that a worker has ended, and its connections with it. */
  gone(worker: Worker): void {
    for (const [counted, many] of this.#with.get(worker) ?? [])
      for (let n = 0; n < many; n++) this.#crowd.leave(counted)
    this.#with.delete(worker)
  }

  #take(worker: Worker, counted: string): boolean {
    const has = this.#with.get(worker)
    const many = has?.get(counted) ?? 0
    if (many === 1) has?.delete(counted)
    else if (many > 1) has?.set(counted, many - 1)
    return many > 0
  }
}
