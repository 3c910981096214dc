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

type RejectCounters = Readonly<Record<'overLimit' | 'overAddressLimit', Pick<RejectedConnectionLog, 'record'>>>

export class Acceptor {
  readonly distributor: ConnectionDistributor
  readonly tracker = new ConnectionTracker<WorkerProcess>()
  readonly #server: Server
  readonly #maxWaiting: number

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
   * A connection is closed when `maxConnections` others wait for a worker; those handed over do not count. Half of the
   * descriptors are left in any case: without one no worker can be started, and every connection would wait for ever.
   */
  applyConfig(listen: ListenConfig): void {
    this.tracker.applyConfig(listen)
    this.#server.maxConnections = Math.min(listen.maxConnections ?? Number.POSITIVE_INFINITY, this.#maxWaiting)
  }

  async listen(bindTarget: BindTarget): Promise<AddressInfo> {
    await listenAt(this.#server, bindTarget)
    return this.#server.address() as AddressInfo
  }

  get isListening(): boolean {
    return this.#server.listening
  }

  stopAccepting(): void {
    if (this.#server.listening) this.#server.close()
  }

  async drained(timeoutMs: number): Promise<void> {
    for (let left = timeoutMs; left > 0 && !this.distributor.isIdle; left -= 10) await sleep(10)
  }
}

/** Records each address, and blocks none. Reading `remoteAddress` would cache it, which blinds {@link isReset}. */
class PeerAddressRecorder extends BlockList {
  #last: string | undefined

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
 * A connection that the client has reset has no address. The primary reads nothing, so nothing else shows a reset; a
 * flood of such connections, each handed over, would starve the others. A half-closed connection goes to a worker.
 */
const isReset = ({ remoteAddress }: Socket): boolean => remoteAddress === undefined

/** The primary sees a connection arrive; the worker that has it, or the worker's exit, reports its end. */
export class ConnectionTracker<Worker extends object> {
  readonly #perAddress = new PerAddressConnectionLimit()
  readonly #unassigned = new WeakMap<Socket, string>()
  readonly #byWorker = new WeakMap<Worker, Map<string, number>>()
  #introducers: readonly ((address: string) => boolean)[] = []

  applyConfig(listen: ListenConfig): void {
    this.#perAddress.applyConfig(listen)
    this.#introducers = listenerParts.flatMap((part) => part.compileIntroducers?.(listen) ?? [])
  }

  /** False: the address has too many connections. */
  acquire(socket: Socket, address: string | undefined): boolean {
    // Behind a load balancer, the first bytes name the client, and only workers read them.
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

  /** Returns the key of the count. Null: not counted. False: the address has too many connections. */
  acquireFor(worker: Worker, address: string): string | null | false {
    const addressKey = this.#perAddress.acquire(address)
    if (typeof addressKey === 'string') this.#increment(worker, addressKey)
    return addressKey
  }

  /** As {@link acquireFor}, for a connection that {@link acquire} has counted. */
  assign(worker: Worker, socket: Socket): string | null {
    const addressKey = this.#unassigned.get(socket)
    if (addressKey === undefined) return null
    this.#unassigned.delete(socket)
    this.#increment(worker, addressKey)
    return addressKey
  }

  /** Undoes {@link assign} for a connection that could not be handed over. */
  unassign(worker: Worker, socket: Socket, addressKey: string | null): void {
    if (addressKey !== null && this.#decrement(worker, addressKey)) this.#unassigned.set(socket, addressKey)
  }

  release(worker: Worker, addressKeys: readonly string[]): void {
    for (const addressKey of addressKeys) if (this.#decrement(worker, addressKey)) this.#perAddress.release(addressKey)
  }

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
