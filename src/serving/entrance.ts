import { readFileSync } from 'node:fs'
import { type AddressInfo, BlockList, createServer, type Server, type Socket } from 'node:net'
import { pause } from '../clock.ts'
import type { ListenConfig } from '../config/config.ts'
import type { TurnedAway } from '../public/crowd.ts'
import { listenAt, type Place } from '../shared/place.ts'
import { Dispatcher } from './dispatcher.ts'
import { Guests } from './guests.ts'
import type { WorkerProcess } from './worker-process.ts'

/** Hears of those who are turned away. */
export interface Turned {
  /** As many wait as may. */
  readonly tooMany: Pick<TurnedAway, 'count'>
  /** Their address has as many connections as may be. */
  readonly tooManyOfOne: Pick<TurnedAway, 'count'>
}

/** Is where clients come in when workers serve them: the primary accepts, and deals the connections out unread. */
export class Entrance {
  readonly dispatcher: Dispatcher
  readonly guests = new Guests<WorkerProcess>()
  readonly #server: Server
  readonly #mostWaiting: number

  /** `mostWaiting` is how many may wait at most, whatever the file says. */
  constructor({ tooMany, tooManyOfOne }: Turned, patienceMs?: number, mostWaiting = descriptors() / 2) {
    this.#mostWaiting = mostWaiting
    this.dispatcher = new Dispatcher(patienceMs, hasReset)
    const blockList = new Addresses()
    this.#server = createServer({ pauseOnConnect: true, allowHalfOpen: true, blockList }, (socket) => {
      socket.on('error', () => {})
      if (this.guests.enter(socket, blockList.take())) return this.dispatcher.deal(socket)
      tooManyOfOne.count()
      socket.destroy()
    })
    this.#server.on('drop', () => tooMany.count())
    this.#server.on('error', () => {}) // one could not be accepted: the next one may be
  }

  /**
   * Closes what comes when so many wait already for a worker to take them; those that were handed over do not count. Half of the
   * descriptors are left in any case: without one no worker can be started, and all would wait for that for ever.
   */
  bound(listen: ListenConfig): void {
    const { maxConnections } = listen
    this.guests.bound(listen)
    this.#server.maxConnections = Math.min(maxConnections ?? Number.POSITIVE_INFINITY, this.#mostWaiting)
  }

  /** Lets clients in. Rejects when it cannot listen there. */
  async open(place: Place): Promise<AddressInfo> {
    await listenAt(this.#server, place)
    return this.#server.address() as AddressInfo
  }

  /** Whether clients can come in. */
  get isListening(): boolean {
    return this.#server.listening
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

/**
 * Hears the address of each connection just before it comes, and blocks none. A socket that is asked for its address keeps it, and whether the
 * system still knows one is how {@link hasReset} tells that the client has gone.
 */
class Addresses extends BlockList {
  #last: string | undefined

  /** Tells the address of the connection that has just come. */
  take(): string | undefined {
    const address = this.#last
    this.#last = undefined
    return address
  }

  override check(address: unknown): boolean {
    this.#last = typeof address === 'string' ? address : undefined
    return false
  }
}

/**
 * Tells whether the client has reset the connection: it has no address any more. Nobody reads from it here, so nothing else says so, and a flood
 * of those, each handed over, would leave hardly any time for the others. One that will only send no more is a worker's to judge.
 */
const hasReset = ({ remoteAddress }: Socket): boolean => remoteAddress === undefined

/** Tells how many descriptors this process may have; infinity: it is not said, or there is no bound. */
const descriptors = (): number => {
  try {
    const [, most = 'Infinity'] = /^Max open files +(\d+)/m.exec(readFileSync('/proc/self/limits', 'latin1')) ?? []
    return Number(most)
  } catch {
    return Number.POSITIVE_INFINITY // not on Linux
  }
}
