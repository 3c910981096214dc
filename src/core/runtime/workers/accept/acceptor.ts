import { type AddressInfo, BlockList, createServer, type Server, type Socket } from 'node:net'
import type { ListenConfig } from '../../../config/config.ts'
import { sleep } from '../../../lib/clock.ts'
import { maxOpenFiles } from '../../../lib/file-descriptor.ts'
import { type BindTarget, listenAt } from '../../../lib/net/bind-target.ts'
import type { RejectedConnectionLog } from '../../../log/rejected-connections.ts'
import type { WorkerProcess } from '../pool/worker-process.ts'
import { ConnectionDistributor } from './connection-distributor.ts'
import { ConnectionTracker } from './connection-tracker.ts'

interface RejectCounters {
  /** As many connections wait as may. */
  readonly overLimit: Pick<RejectedConnectionLog, 'record'>
  /** The address has as many connections as it may have. */
  readonly overAddressLimit: Pick<RejectedConnectionLog, 'record'>
}

export class Acceptor {
  readonly distributor: ConnectionDistributor
  readonly tracker = new ConnectionTracker<WorkerProcess>()
  readonly #server: Server
  readonly #maxWaiting: number

  /** `maxWaiting` is how many connections may wait, whatever the file says. */
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
    this.#server.on('error', () => {}) // one connection could not be accepted: the next may be
  }

  /**
   * Applies the limits. A connection is closed when as many as the limit wait for a worker; those that were handed over
   * do not count. Half of the descriptors are left in any case: without one no worker can be started, and all
   * connections would wait for that for ever.
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

  /** Whether clients can connect. */
  get isListening(): boolean {
    return this.#server.listening
  }

  /** Accepts no more clients. Connections that were accepted are distributed all the same. */
  stopAccepting(): void {
    if (this.#server.listening) this.#server.close()
  }

  /** Waits until every accepted connection has been handed over, or the time is up. */
  async drained(timeoutMs: number): Promise<void> {
    for (let left = timeoutMs; left > 0 && !this.distributor.isIdle; left -= 10) await sleep(10)
  }
}

/**
 * Records the address of each connection just before it comes, and blocks none. A socket that is asked for its address
 * caches it, and whether the system still knows one is how {@link isReset} finds out that the client has gone.
 */
class PeerAddressRecorder extends BlockList {
  #last: string | undefined

  /** Returns the address of the connection that has just come. */
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
 * Tells whether the client has reset the connection: it has no address any more. The primary does not read from it, so
 * nothing else shows that. A flood of such connections, each handed over, would leave hardly any time for the others. A
 * connection that only the client's side has ended is a worker's to judge.
 */
const isReset = ({ remoteAddress }: Socket): boolean => remoteAddress === undefined
