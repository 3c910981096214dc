import type { LookupAddress } from 'node:dns'
import type { LookupFunction } from 'node:net'
import { overloaded } from '../failures/errors.ts'
import { preferring } from './addresses.ts'
import type { Connector } from './connect.ts'
import type { ConnectionUser } from './connection.ts'
import { Connection, type ConnectionOwner } from './connection.ts'
import { connectFailed } from './why.ts'

interface ConnectionsOptions {
  /** Makes what connects; `lookup` replaces the system's. */
  readonly connect: (lookup?: LookupFunction) => Connector
  readonly maxConnections: number
  /** Most requests that wait for a connection: a slow endpoint must not collect the whole world's. */
  readonly maxPending: number
  /** How long a connection may be idle; 0: each carries one request. */
  readonly keepAliveMs: number
}

/** An address of the endpoint, with its connections that carry nothing, the one that was used last at the end. */
interface Target extends ConnectionOwner {
  /** Null: not known, or the endpoint's name is one. */
  readonly address: string | null
  readonly connect: Connector
  readonly idle: Connection[]
}

/**
 * The connections to one endpoint. As many requests as there may be connections are under way, and some more wait in the order in which they
 * came. The addresses of its name take turns, so that the traffic is spread over all of them and not over those that were connected to
 * first. At each, a request goes out on the connection that was used last: what is warm stays warm, and what is not needed
 * falls silent and is closed.
 */
export class Connections {
  readonly #options: ConnectionsOptions
  #addresses: readonly LookupAddress[] = []
  /** Until the addresses are known, and of a plain address, one. */
  #inTurn: readonly Target[]
  #turn = 0
  #underWay = 0
  readonly #waiting = new Set<ConnectionUser>()
  readonly #all = new Set<Connection>()
  #ending: { readonly promise: Promise<void>; resolve(): void } | null = null
  /** Why nothing is sent any more; null: it is. */
  #isCut: Error | null = null

  constructor(options: ConnectionsOptions) {
    this.#options = options
    this.#inTurn = [this.#target(null)]
  }

  /** Whether no more requests are taken: as many run as there may be connections, and as many wait as may. */
  get isFull(): boolean {
    return this.#underWay >= this.#options.maxConnections && this.#waiting.size >= this.#options.maxPending
  }

  /** Whether its connections were cut, so that nothing may be sent any more. */
  get isCut(): boolean {
    return this.#isCut !== null
  }

  /** Gives a request a connection, now or when its turn comes. Throws `overloaded`. */
  acquire(user: ConnectionUser): void {
    if (this.#underWay < this.#options.maxConnections) return this.#assign(user)
    if (this.isFull) throw overloaded('endpoint-connections')
    this.#waiting.add(user)
  }

  /** Gives a request that has its place a connection of which none has been made yet. */
  replace(user: ConnectionUser): void {
    this.#underWay++ // the place of the connection that has ended is given back after this
    this.#open(this.#next(), user)
  }

  /** Takes back a request that waits for its turn; false: it does not, or no longer. */
  withdraw(user: ConnectionUser): boolean {
    return this.#waiting.delete(user)
  }

  /** Goes over to these addresses, one at least. Connections to those that stay are kept; the others end when they carry nothing. */
  spread(addresses: readonly LookupAddress[]): void {
    const before = this.#inTurn
    this.#addresses = addresses
    this.#inTurn = addresses.map((each) => before.find(({ address }) => address === each.address) ?? this.#target(each))
    this.#turn = 0
    for (const target of before) if (!this.#inTurn.includes(target)) closeIdle(target)
  }

  /** Finishes what runs, then closes every connection. Resolves as well when they are cut in the meantime. */
  close(): Promise<void> {
    this.#ending ??= Promise.withResolvers<void>()
    for (const target of this.#inTurn) closeIdle(target)
    this.#endIfEmpty()
    return this.#ending.promise
  }

  /** Cuts every connection. */
  destroy(reason: Error): Promise<void> {
    this.#isCut = reason
    for (const connection of [...this.#all]) connection.destroy(reason)
    return this.close()
  }

  /** Gives a place back, and lets in as many as there is room for. */
  #leave(): void {
    this.#underWay--
    for (const user of this.#waiting) {
      if (this.#underWay >= this.#options.maxConnections) return
      this.#waiting.delete(user)
      this.#assign(user)
    }
    this.#endIfEmpty()
  }

  #assign(user: ConnectionUser): void {
    const target = this.#next()
    this.#underWay++
    for (let last = target.idle.pop(); last !== undefined; last = target.idle.pop()) {
      if (!last.wake()) continue
      if (!user.onConnection(last)) this.#released(target, last)
      return
    }
    this.#open(target, user)
  }

  #open(target: Target, user: ConnectionUser): void {
    if (this.#isCut !== null) {
      this.#underWay--
      return user.onError(connectFailed(this.#isCut))
    }
    this.#all.add(new Connection(target.connect, this.#options.keepAliveMs, target, user))
  }

  #next(): Target {
    if (this.#inTurn.length > 1) this.#turn = (this.#turn + 1) % this.#inTurn.length
    return this.#inTurn[this.#turn] as Target
  }

  #target(to: LookupAddress | null): Target {
    const { connect } = this.#options
    const target: Target = {
      address: to?.address ?? null,
      connect: to === null ? connect() : connect((...asked) => preferring(to, this.#addresses)(...asked)),
      idle: [],
      released: (connection) => this.#released(target, connection),
      closed: (connection) => {
        this.#all.delete(connection)
        const at = target.idle.indexOf(connection)
        if (at >= 0) target.idle.splice(at, 1)
        this.#endIfEmpty()
      },
    }
    return target
  }

  #released(target: Target, connection: Connection): void {
    if (connection.isOpen) {
      target.idle.push(connection)
      if (this.#ending === null && this.#inTurn.includes(target)) connection.rest()
      else closeIdle(target)
    }
    // More may have come behind the response, in another record of TLS say, and be read in this turn of the event loop: no request may be
    // under way by then that it could pass for the response to (RFC 9112 §9.2).
    if (this.#waiting.size === 0) this.#underWay--
    else setImmediate(() => this.#leave())
  }

  #endIfEmpty(): void {
    if (this.#all.size === 0 && this.#underWay === 0) this.#ending?.resolve()
  }
}

const closeIdle = ({ idle }: Target): void => {
  for (const connection of idle.splice(0)) connection.destroy(new Error('the connection is not needed any more'))
}
