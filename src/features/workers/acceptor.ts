import { type AddressInfo, BlockList, createServer, type Server, type Socket } from 'node:net'
import type { ListenConfig } from '../../core/config/config.ts'
import { listenerParts } from '../../core/downstream/listener/listener-parts.ts'
import { PerAddressConnectionLimit } from '../../core/downstream/listener/open-connections.ts'
import { sleep } from '../../core/lib/clock.ts'
import { maxOpenFiles } from '../../core/lib/file-descriptor.ts'
import { normalizeAddress } from '../../core/lib/net/addresses.ts'
import { type BindTarget, listenAt } from '../../core/lib/net/bind-target.ts'
import type { RejectedConnectionLog } from '../../core/log/rejected-connections.ts'
import { ConnectionDistributor } from './connection-distributor.ts'
import type { WorkerProcess } from './worker-process.ts'

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
