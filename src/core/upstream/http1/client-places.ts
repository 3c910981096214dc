import type { Exchange } from '../../exchange/exchange.ts'
import { defaultIpv6Prefix } from '../../exchange/request-owner.ts'
import { toNetworkKey } from '../../lib/net/addresses.ts'
import type { ConnectionWaiter } from './connection.ts'

/** Waits for a connection, for one of a client's requests. */
export interface PlaceWaiter extends ConnectionWaiter {
  readonly exchange: PlaceRequest
}

export type PlaceRequest = Pick<Exchange, 'identity' | 'client' | 'peer'>

export class ClientPlaces {
  running = 0
  readonly waiting = new Set<PlaceWaiter>()
  #inOrder = this.waiting.values()
  #oldest: PlaceWaiter | null = null

  /**
   * The request that has waited longest; null: none waits. One iterator goes on from each to the next: a new one would
   * pass all entries that the set has lost, for each request of a long queue.
   */
  get oldest(): PlaceWaiter | null {
    if (this.waiting.size === 0) return null
    while (this.#oldest === null || !this.waiting.has(this.#oldest)) {
      const next = this.#inOrder.next()
      if (next.done) this.#inOrder = this.waiting.values()
      else this.#oldest = next.value
    }
    return this.#oldest
  }
}

/**
 * Returns whether a client that holds `held` places may take one of those that are free. It may hold as many as it then
 * leaves free. A request that is the only one of its connection may take it to twice as many: most clients of HTTP/1
 * send no others, and so a neighbor behind the same address has a place left beside connections that carry a hundred.
 */
export const mayTakePlace = (held: number, free: number, { peer }: Pick<PlaceRequest, 'peer'>): boolean =>
  held < (peer.inFlight > 1 ? free : 2 * free)

/** The requests that wait for a place. The clients take turns; the requests of one client go in the order they came. */
export class WaitingRequests {
  size = 0
  /** The clients that have some, the next in turn first. */
  readonly #clients = new Set<ClientPlaces>()

  add(waiter: PlaceWaiter, client: ClientPlaces): void {
    client.waiting.add(waiter)
    this.#clients.add(client)
    this.size++
  }

  /** Takes out a request; false: it does not wait, or no longer. */
  remove(waiter: PlaceWaiter, client: ClientPlaces): boolean {
    if (!client.waiting.delete(waiter)) return false
    if (client.waiting.size === 0) this.#clients.delete(client)
    this.size--
    return true
  }

  /** Takes out the next request that may run; null: there is none. */
  take(mayRun: (client: ClientPlaces, request: PlaceRequest) => boolean): PlaceWaiter | null {
    for (const client of this.#clients) {
      const { oldest } = client
      if (oldest === null || !mayRun(client, oldest.exchange)) continue
      this.remove(oldest, client)
      // It has had its turn.
      if (this.#clients.delete(client)) this.#clients.add(client)
      return oldest
    }
    return null
  }
}

// Clients without a request are remembered up to this number: to remove each when its request ends would cost every
// request an insertion.
const maxIdle = 1000

/**
 * Finds what each client holds at an endpoint: a client that was authenticated by its id, any other by its address, of
 * IPv6 by its network. A request costs a look into a map.
 */
export class ClientPlacesTable {
  readonly #byId = new Map<string, ClientPlaces>()
  readonly #byAddress = new Map<string, ClientPlaces>()
  /** The size at which the clients without a request are forgotten. */
  #maxSize = maxIdle

  find({ identity, client }: PlaceRequest): ClientPlaces {
    if (identity !== null) return this.#byId.get(identity.client) ?? this.#add(this.#byId, identity.client)
    return this.#byAddress.get(client) ?? this.#addAddress(client)
  }

  #addAddress(address: string): ClientPlaces {
    const network = toNetworkKey(address, defaultIpv6Prefix)
    const known = this.#byAddress.get(network) ?? this.#add(this.#byAddress, network)
    // Found by the address itself the next time. The copy keeps nothing of the field that the address was cut out of.
    if (network !== address) this.#byAddress.set(Buffer.from(address).toString(), known)
    return known
  }

  #add(table: Map<string, ClientPlaces>, key: string): ClientPlaces {
    if (this.#byId.size + this.#byAddress.size >= this.#maxSize) this.#forgetIdle()
    const added = new ClientPlaces()
    table.set(key, added)
    return added
  }

  #forgetIdle(): void {
    for (const table of [this.#byId, this.#byAddress])
      for (const [key, { running, waiting }] of table) if (running === 0 && waiting.size === 0) table.delete(key)
    this.#maxSize = maxIdle + 2 * (this.#byId.size + this.#byAddress.size)
  }
}
