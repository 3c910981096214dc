import type { Exchange } from '../../exchange/exchange.ts'
import { defaultIpv6Prefix } from '../../exchange/request-owner.ts'
import { toNetworkKey } from '../../lib/net/addresses.ts'
import type { ConnectionWaiter } from './connection.ts'

export interface PlaceWaiter extends ConnectionWaiter {
  readonly exchange: PlaceRequest
}

export type PlaceRequest = Pick<Exchange, 'identity' | 'client' | 'peer'>

export class ClientPlaces {
  running = 0
  readonly waiting = new Set<PlaceWaiter>()
  #inOrder = this.waiting.values()
  #oldest: PlaceWaiter | null = null

  /** A new iterator would pass all deleted entries of a long queue. */
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
 * A client may hold fewer places than are free, or fewer than twice that if its request is alone on its connection
 * (decision 084).
 */
export const mayTakePlace = (held: number, free: number, { peer }: Pick<PlaceRequest, 'peer'>): boolean =>
  held < (peer.inFlight > 1 ? free : 2 * free)

export class WaitingRequests {
  size = 0
  readonly #clients = new Set<ClientPlaces>()

  add(waiter: PlaceWaiter, client: ClientPlaces): void {
    client.waiting.add(waiter)
    this.#clients.add(client)
    this.size++
  }

  remove(waiter: PlaceWaiter, client: ClientPlaces): boolean {
    if (!client.waiting.delete(waiter)) return false
    if (client.waiting.size === 0) this.#clients.delete(client)
    this.size--
    return true
  }

  take(mayRun: (client: ClientPlaces, request: PlaceRequest) => boolean): PlaceWaiter | null {
    for (const client of this.#clients) {
      const { oldest } = client
      if (oldest === null || !mayRun(client, oldest.exchange)) continue
      this.remove(oldest, client)
      if (this.#clients.delete(client)) this.#clients.add(client)
      return oldest
    }
    return null
  }
}

// Idle clients stay in the table: removing and adding one would cost each request an insertion.
const maxIdle = 1000

/** Clients without an id count by address (IPv6: by network). */
export class ClientPlacesTable {
  readonly #byId = new Map<string, ClientPlaces>()
  readonly #byAddress = new Map<string, ClientPlaces>()
  #maxSize = maxIdle

  find({ identity, client }: PlaceRequest): ClientPlaces {
    if (identity !== null) return this.#byId.get(identity.client) ?? this.#add(this.#byId, identity.client)
    return this.#byAddress.get(client) ?? this.#addAddress(client)
  }

  #addAddress(address: string): ClientPlaces {
    const network = toNetworkKey(address, defaultIpv6Prefix)
    const known = this.#byAddress.get(network) ?? this.#add(this.#byAddress, network)
    // A copy: a slice would keep the whole header field in memory.
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
