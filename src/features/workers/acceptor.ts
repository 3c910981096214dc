import { type AddressInfo, BlockList, createServer, type Socket } from 'node:net'
import type { ListenConfig } from '../../core/config/config.ts'
import { listenerParts } from '../../core/downstream/listener/listener-parts.ts'
import { PerAddressConnectionLimit } from '../../core/downstream/listener/open-connections.ts'
import { sleep } from '../../core/lib/clock.ts'
import { maxOpenFiles } from '../../core/lib/file-descriptors.ts'
import { normalizeAddress } from '../../core/lib/net/addresses.ts'
import { type BindTarget, listenAt } from '../../core/lib/net/bind-target.ts'
import type { RejectedConnectionLog } from '../../core/log/rejected-connections.ts'
import { createConnectionDistributor } from './connection-distributor.ts'
import type { WorkerProcess } from './worker-process.ts'

type RejectCounters = Readonly<Record<'overLimit' | 'overAddressLimit', Pick<RejectedConnectionLog, 'record'>>>

export type Acceptor = ReturnType<typeof openAcceptor>

export const openAcceptor = (
  { overLimit, overAddressLimit }: RejectCounters,
  ackTimeoutMs?: number,
  maxWaiting = maxOpenFiles() / 2,
) => {
  const distributor = createConnectionDistributor(ackTimeoutMs, isReset)
  const tracker = createConnectionTracker<WorkerProcess>()
  const blockList = new PeerAddressRecorder()
  const server = createServer({ pauseOnConnect: true, allowHalfOpen: true, blockList }, (socket) => {
    socket.on('error', () => {})
    if (tracker.acquire(socket, blockList.take())) return distributor.distribute(socket)
    overAddressLimit.record()
    socket.destroy()
  })
  server.on('drop', () => overLimit.record())
  server.on('error', () => {})
  return {
    distributor,
    tracker,
    /**
     * Closes a connection while `maxConnections` others wait for a worker; those handed over do not count. Half of the
     * descriptors stay free: without one, no worker can be started.
     */
    applyConfig(listen: ListenConfig): void {
      tracker.applyConfig(listen)
      server.maxConnections = Math.min(listen.maxConnections ?? Number.POSITIVE_INFINITY, maxWaiting)
    },
    async listen(bindTarget: BindTarget): Promise<AddressInfo> {
      await listenAt(server, bindTarget)
      return server.address() as AddressInfo
    },
    isListening: () => server.listening,
    stopAccepting(): void {
      if (server.listening) server.close()
    },
    async drained(timeoutMs: number): Promise<void> {
      for (let left = timeoutMs; left > 0 && !distributor.isIdle(); left -= 10) await sleep(10)
    },
  }
}

/**
 * Records addresses and blocks none. Reading `remoteAddress` would cache it, and then {@link isReset} sees no reset.
 */
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
 * A connection that the client has reset has no address. Nothing else shows a reset, since the primary reads nothing; a
 * flood of resets, each handed over, would starve other connections. A half-closed connection goes to a worker.
 */
const isReset = ({ remoteAddress }: Socket): boolean => remoteAddress === undefined

export type ConnectionTracker<Worker extends object> = ReturnType<typeof createConnectionTracker<Worker>>

/** The primary counts a connection when it arrives. The worker, or its exit, reports the end. */
export const createConnectionTracker = <Worker extends object>() => {
  const perAddress = new PerAddressConnectionLimit()
  const unassigned = new WeakMap<Socket, string>()
  const byWorker = new WeakMap<Worker, Map<string, number>>()
  let introducers: readonly ((address: string) => boolean)[] = []

  const increment = (worker: Worker, addressKey: string): void => {
    const counts = byWorker.get(worker) ?? new Map<string, number>()
    counts.set(addressKey, (counts.get(addressKey) ?? 0) + 1)
    byWorker.set(worker, counts)
  }
  const decrement = (worker: Worker, addressKey: string): boolean => {
    const counts = byWorker.get(worker)
    const count = counts?.get(addressKey) ?? 0
    if (count === 1) counts?.delete(addressKey)
    else if (count > 1) counts?.set(addressKey, count - 1)
    return count > 0
  }
  return {
    applyConfig(listen: ListenConfig): void {
      perAddress.applyConfig(listen)
      introducers = listenerParts.flatMap((part) => part.compileIntroducers?.(listen) ?? [])
    },
    /** False: the address has too many connections. */
    acquire(socket: Socket, address: string | undefined): boolean {
      // The first bytes name a load balancer's client, and only workers read them.
      const from = normalizeAddress(address ?? '')
      if (!perAddress.isLimited || introducers.some((isIntroducer) => isIntroducer(from))) return true
      const addressKey = perAddress.acquire(address)
      if (addressKey === false) return false
      if (addressKey === null) return true
      unassigned.set(socket, addressKey)
      socket.once('close', () => {
        if (unassigned.delete(socket)) perAddress.release(addressKey)
      })
      return true
    },
    /** Returns the key of the count. Null: not counted. False: too many connections of the address. */
    acquireFor(worker: Worker, address: string): string | null | false {
      const addressKey = perAddress.acquire(address)
      if (typeof addressKey === 'string') increment(worker, addressKey)
      return addressKey
    },
    assign(worker: Worker, socket: Socket): string | null {
      const addressKey = unassigned.get(socket)
      if (addressKey === undefined) return null
      unassigned.delete(socket)
      increment(worker, addressKey)
      return addressKey
    },
    unassign(worker: Worker, socket: Socket, addressKey: string | null): void {
      if (addressKey !== null && decrement(worker, addressKey)) unassigned.set(socket, addressKey)
    },
    release(worker: Worker, addressKeys: readonly string[]): void {
      for (const addressKey of addressKeys) if (decrement(worker, addressKey)) perAddress.release(addressKey)
    },
    releaseAll(worker: Worker): void {
      for (const [addressKey, count] of byWorker.get(worker) ?? [])
        for (let n = 0; n < count; n++) perAddress.release(addressKey)
      byWorker.delete(worker)
    },
  }
}
