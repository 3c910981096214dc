import { type AddressInfo, createServer, type Server } from 'node:net'
import { pause } from '../clock.ts'
import { descriptorOf, listenAt, type Place } from '../shared/place.ts'
import { Dispatcher } from './dispatcher.ts'

/** Is where clients come in when workers serve them: the primary accepts, and deals the connections out unread. */
export class Entrance {
  readonly dispatcher: Dispatcher
  readonly #server: Server

  constructor(patienceMs?: number) {
    this.dispatcher = new Dispatcher(patienceMs)
    this.#server = createServer({ pauseOnConnect: true, allowHalfOpen: true }, (socket) => {
      socket.on('error', () => {})
      this.dispatcher.deal(socket)
    })
    this.#server.on('error', () => {}) // one could not be accepted: the next one may be
  }

  /** Closes what comes when so many wait already for a worker to take them; those that were handed over do not count. Null: no bound. */
  bound(maxConnections: number | null): void {
    this.#server.maxConnections = maxConnections ?? Number.POSITIVE_INFINITY
  }

  /** Lets clients in. Rejects when it cannot listen there. */
  async open(place: Place): Promise<AddressInfo> {
    await listenAt(this.#server, place)
    return this.#server.address() as AddressInfo
  }

  /** Tells the descriptor that clients come in by; null: there is none. */
  get descriptor(): number | null {
    return descriptorOf(this.#server)
  }

  /** Lets nobody in any more. What was accepted is dealt out all the same. */
  leave(): void {
    if (this.#server.listening) this.#server.close()
  }

  /** Waits until all that was accepted has been handed over, or the time is up. */
  async emptied(withinMs: number): Promise<void> {
    for (let left = withinMs; left > 0 && !this.dispatcher.isIdle; left -= 10) await pause(10)
  }
}
