import { readFileSync } from 'node:fs'
import { type AddressInfo, BlockList, createServer, type Server, type Socket } from 'node:net'
import { sleep } from '../../clock.ts'
import type { ListenConfig } from '../../config/config.ts'
import type { RejectedConnectionLog } from '../../downstream/listener/connection-limits.ts'
import { type BindTarget, listenAt } from '../../shared/bind-target.ts'
import type { WorkerProcess } from '../pool/worker-process.ts'
import { ConnectionDistributor } from './connection-distributor.ts'
import { ConnectionTracker } from './connection-tracker.ts'

/** Hears of those who are turned away. */
export interface RejectCounters {
  /** As many wait as may. */
  readonly overLimit: Pick<RejectedConnectionLog, 'record'>
  /** Their address has as many connections as may be. */
  readonly overAddressLimit: Pick<RejectedConnectionLog, 'record'>
}

/** Is where clients come in when workers serve them: the primary accepts, and deals the connections out unread. */
export class Acceptor {
  readonly distributor: ConnectionDistributor
  readonly tracker = new ConnectionTracker<WorkerProcess>()
  readonly #server: Server
  readonly #maxWaiting: number

  /** `mostWaiting` is how many may wait at most, whatever the file says. */
  constructor({ overLimit, overAddressLimit }: RejectCounters, ackTimeoutMs?: number, maxWaiting = maxOpenFiles() / 2) {
    this.#maxWaiting = maxWaiting
    this.distributor = new ConnectionDistributor(ackTimeoutMs, isReset)
    const blockList = new PeerAddressRecorder()
    this.#server = createServer({ pauseOnConnect: true, allowHalfOpen: true, blockList }, (socket) => {
      socket.on('error', () => {})
      if (this.tracker.acquire(socket, blockList.take())) return this.distributor.distribute(socket)
      overAddressLimit.record()
      socket.destroy()
    })
    this.#server.on('drop', () => overLimit.record())
    this.#server.on('error', () => {}) // one could not be accepted: the next one may be
  }

  /**
   * Closes what comes when so many wait already for a worker to take them; those that were handed over do not count. Half of the
   * descriptors are left in any case: without one no worker can be started, and all would wait for that for ever.
   */
  applyConfig(listen: ListenConfig): void {
    const { maxConnections } = listen
    this.tracker.applyConfig(listen)
    this.#server.maxConnections = Math.min(maxConnections ?? Number.POSITIVE_INFINITY, this.#maxWaiting)
  }

  /** Lets clients in. Rejects when it cannot listen there. */
  async listen(bindTarget: BindTarget): Promise<AddressInfo> {
    await listenAt(this.#server, bindTarget)
    return this.#server.address() as AddressInfo
  }

  /** Whether clients can come in. */
  get isListening(): boolean {
    return this.#server.listening
  }

  /** Lets nobody in any more. What was accepted is dealt out all the same. */
  stopAccepting(): void {
    if (this.#server.listening) this.#server.close()
  }

  /** Waits until all that was accepted has been handed over, or the time is up. */
  async drained(timeoutMs: number): Promise<void> {
    for (let left = timeoutMs; left > 0 && !this.distributor.isIdle; left -= 10) await sleep(10)
  }
}

/**
 * Hears the address of each connection just before it comes, and blocks none. A socket that is asked for its address keeps it, and whether the
 * system still knows one is how {@link isReset} tells that the client has gone.
 */
class PeerAddressRecorder extends BlockList {
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
const isReset = ({ remoteAddress }: Socket): boolean => remoteAddress === undefined

/** Tells how many descriptors this process may have; infinity: it is not said, or there is no bound. */
const maxOpenFiles = (): number => {
  try {
    const [, limit = 'Infinity'] = /^Max open files +(\d+)/m.exec(readFileSync('/proc/self/limits', 'latin1')) ?? []
    return Number(limit)
  } catch {
    return Number.POSITIVE_INFINITY // not on Linux
  }
}
