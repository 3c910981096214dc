import type { LookupAddress } from 'node:dns'
import type { LookupFunction } from 'node:net'
import { overloadedError, type ReasonFor, StacklessError } from '../../exchange/failures/errors.ts'
import { now } from '../../lib/clock.ts'
import { mayConnectUpstream, upstreamFiles } from '../../lib/file-descriptors.ts'
import { connectFailedError } from '../classify-error.ts'
import { lookupHostname, preferredLookup } from '../endpoints/dns.ts'
import {
  ClientPlaces,
  ClientPlacesTable,
  mayTakePlace,
  type PlaceRequest,
  type PlaceWaiter,
  WaitingRequests,
} from './client-places.ts'
import { type ConnectionOwner, UpstreamConnection } from './connection.ts'
import type { Connector } from './connector.ts'

interface ConnectionPoolOptions {
  readonly connect: (lookup?: LookupFunction) => Connector
  readonly maxConnections: number
  readonly maxPending: number
  /** 0: each connection carries one request. */
  readonly keepAliveMs: number
  readonly isFair: boolean
}

interface AddressPool extends ConnectionOwner {
  /** Null: not resolved yet, or the endpoint is configured by address. */
  readonly address: string | null
  readonly connect: Connector
  readonly idle: UpstreamConnection[]
  /** When the address is tried again (monotonic clock). Null: the address was reached. */
  retryAt: number | null
  retryMs: number
}

// Each request to an unresponsive address waits 250 ms, until Node tries the next address.
const minRetryMs = 1000
const maxRetryMs = 30_000

/** No client may take all places (decision 084). The connection used last is reused, so that unneeded ones close. */
export class ConnectionPool {
  readonly #options: ConnectionPoolOptions
  #addresses: readonly LookupAddress[] = []
  #rotation: readonly AddressPool[]
  #position = 0
  #lookupPosition = 0
  #activeCount = 0
  readonly #clients: ClientPlacesTable | null
  readonly #unshared = new ClientPlaces()
  readonly #pending = new WaitingRequests()
  readonly #all = new Set<UpstreamConnection>()
  #closing: { readonly promise: Promise<void>; resolve(): void } | null = null
  #destroyReason: Error | null = null

  constructor(options: ConnectionPoolOptions) {
    this.#options = options
    this.#clients = options.isFair ? new ClientPlacesTable() : null
    this.#rotation = [this.#createAddressPool(null)]
  }

  get isFull(): boolean {
    return this.#activeCount >= this.#options.maxConnections && this.#pending.size >= this.#options.maxPending
  }

  get pendingCount(): number {
    return this.#pending.size
  }

  get isDestroyed(): boolean {
    return this.#destroyReason !== null
  }

  rejects(exchange: PlaceRequest): ReasonFor<'overloaded'> | null {
    // While less than half is taken, no client is over its share, and the lookup is saved.
    if (2 * this.#activeCount < this.#options.maxConnections) return null
    return this.#rejects(this.#find(exchange), exchange)
  }

  acquire(waiter: PlaceWaiter): void {
    const client = this.#find(waiter.exchange)
    if (this.#mayRun(client, waiter.exchange)) return this.#assign(waiter, client)
    const reason = this.#rejects(client, waiter.exchange)
    if (reason !== null) throw overloadedError(reason)
    this.#pending.add(waiter, client)
  }

  acquireFresh(waiter: PlaceWaiter): void {
    this.#assign(waiter, this.#find(waiter.exchange), false)
  }

  cancel(waiter: PlaceWaiter): boolean {
    return this.#pending.remove(waiter, this.#find(waiter.exchange))
  }

  /** Connections to removed addresses end when idle. */
  updateAddresses(addresses: readonly LookupAddress[]): void {
    const before = this.#rotation
    this.#addresses = addresses
    this.#rotation = addresses.map(
      (each) => before.find(({ address }) => address === each.address) ?? this.#createAddressPool(each),
    )
    this.#position = 0
    for (const pool of before) if (!this.#rotation.includes(pool)) closeIdle(pool)
  }

  /** Each known address comes first in turn. Asks the system only while no address is known. */
  readonly lookup: LookupFunction = (...args) => {
    const first = this.#addresses[this.#lookupPosition++ % this.#addresses.length]
    const lookup = first === undefined ? lookupHostname : preferredLookup(first, this.#addresses)
    lookup(...args)
  }

  close(): Promise<void> {
    this.#closing ??= Promise.withResolvers<void>()
    for (const pool of this.#rotation) closeIdle(pool)
    this.#closeIfEmpty()
    return this.#closing.promise
  }

  destroy(reason: Error): Promise<void> {
    this.#destroyReason = reason
    for (const connection of [...this.#all]) connection.destroy(reason)
    return this.close()
  }

  #find(exchange: PlaceRequest): ClientPlaces {
    return this.#clients === null ? this.#unshared : this.#clients.find(exchange)
  }

  #rejects(client: ClientPlaces, request: PlaceRequest): ReasonFor<'overloaded'> | null {
    if (this.#mayRun(client, request)) return null
    const free = this.#options.maxPending - this.#pending.size
    if (this.#mayTake(client, client.waiting.size, free, request)) return null
    return this.isFull ? 'endpoint-connections' : 'endpoint-share'
  }

  readonly #mayRun = (client: ClientPlaces, request: PlaceRequest): boolean =>
    this.#mayTake(client, client.running, this.#options.maxConnections - this.#activeCount, request)

  #mayTake(client: ClientPlaces, held: number, free: number, request: PlaceRequest): boolean {
    return free > 0 && (client === this.#unshared || mayTakePlace(held, free, request))
  }

  #releaseSlot(client: UpstreamConnection['places']): void {
    this.#freeSlot(client)
    for (let next = this.#pending.take(this.#mayRun); next !== null; next = this.#pending.take(this.#mayRun))
      this.#assign(next, this.#find(next.exchange))
    this.#closeIfEmpty()
  }

  #freeSlot(client: UpstreamConnection['places']): void {
    this.#activeCount--
    if (client !== null) client.running--
  }

  #assign(waiter: PlaceWaiter, client: ClientPlaces, mayReuse = true): void {
    this.#activeCount++
    client.running++
    let pool = this.#nextPool()
    for (let left = this.#rotation.length; !(mayReuse && this.#reuse(pool, waiter, client)); pool = this.#nextPool())
      if (--left === 0 || mayConnect(pool)) return this.#connect(pool, waiter, client)
  }

  #reuse(pool: AddressPool, waiter: PlaceWaiter, client: ClientPlaces): boolean {
    for (let last = pool.idle.pop(); last !== undefined; last = pool.idle.pop()) {
      if (!last.tryReuse()) continue
      last.places = client
      if (!waiter.onConnection(last)) this.#onReleased(pool, last)
      return true
    }
    return false
  }

  #connect(pool: AddressPool, waiter: PlaceWaiter, client: ClientPlaces): void {
    const hindrance = this.#destroyReason ?? (mayConnectUpstream() ? null : createNoFileError())
    if (hindrance !== null) {
      this.#freeSlot(client)
      return waiter.onError(connectFailedError(hindrance))
    }
    // An address may be removed while it is connected to.
    const rotation = this.#rotation
    const findOwner = (address: string | null): AddressPool =>
      address === null ? pool : findReached(pool, address, rotation)
    const connection = new UpstreamConnection(pool.connect, this.#options.keepAliveMs, findOwner, waiter)
    connection.places = client
    this.#all.add(connection)
    upstreamFiles.open++
  }

  #nextPool(): AddressPool {
    if (this.#rotation.length > 1) this.#position = (this.#position + 1) % this.#rotation.length
    return this.#rotation[this.#position] as AddressPool
  }

  #createAddressPool(to: LookupAddress | null): AddressPool {
    const { connect } = this.#options
    const pool: AddressPool = {
      address: to?.address ?? null,
      connect: to === null ? connect() : connect((...args) => preferredLookup(to, this.#addresses)(...args)),
      idle: [],
      retryAt: null,
      retryMs: minRetryMs,
      onReleased: (connection) => this.#onReleased(pool, connection),
      onClosed: (connection) => {
        if (this.#all.delete(connection)) upstreamFiles.open--
        const at = pool.idle.indexOf(connection)
        if (at >= 0) pool.idle.splice(at, 1)
        this.#closeIfEmpty()
      },
    }
    return pool
  }

  #onReleased(pool: AddressPool, connection: UpstreamConnection): void {
    if (connection.isOpen) {
      pool.idle.push(connection)
      if (this.#closing === null && this.#rotation.includes(pool)) connection.markIdle()
      else closeIdle(pool)
    }
    // Bytes behind the response, e.g. in another TLS record, may be read later in this turn of the event loop. A
    // request under way by then would get them as its response (RFC 9112 §9.2).
    const { places } = connection
    if (this.#pending.size > 0) return void setImmediate(() => this.#releaseSlot(places))
    this.#freeSlot(places)
  }

  #closeIfEmpty(): void {
    if (this.#all.size === 0 && this.#activeCount === 0) this.#closing?.resolve()
  }
}

const createNoFileError = (): Error =>
  Object.assign(new StacklessError('the last file descriptors are kept for operators and probes'), { code: 'EMFILE' })

const mayConnect = (pool: AddressPool): boolean => {
  if (pool.retryAt === null) return true
  const at = now()
  if (at < pool.retryAt) return false
  pool.retryMs = Math.min(2 * pool.retryMs, maxRetryMs)
  pool.retryAt = at + pool.retryMs
  return true
}

/** Behind address translation, the address that accepted may be unknown: it counts as `tried`. */
const findReached = (tried: AddressPool, address: string, rotation: readonly AddressPool[]): AddressPool => {
  const reached = rotation.find((each) => each.address === address) ?? tried
  tried.retryAt = now() + tried.retryMs
  reached.retryAt = null
  reached.retryMs = minRetryMs
  return reached
}

const closeIdle = ({ idle }: AddressPool): void => {
  for (const connection of idle.splice(0)) connection.destroy(new Error('the connection is not needed any more'))
}
