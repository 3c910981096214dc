import { LRUCache } from 'lru-cache'
import type { OperationId } from '../../catalog.ts'
import { now } from '../../clock.ts'
import { type CacheOutcome, type Exchange, noOutcomes } from '../../exchange.ts'
import type { NotStored } from './policy/storing.ts'
import type { CacheStore, Name, Reservation, Resource } from './store.ts'
import type { Stored, StoredBody } from './stored.ts'

/** Is what is stored of one operation, as long as its configuration and its upstream stay as they are. */
export class Part {
  readonly operation: OperationId
  readonly uncacheable = new Uncacheable()
  /** How many exchanges went which way. */
  readonly counts: Record<CacheOutcome, number> = { ...noOutcomes }
  /** Bytes of what is stored. */
  bytes = 0
  /** How many answers are stored. */
  entries = 0
  readonly #store: CacheStore
  readonly #id: string
  /** The keys of each query. */
  readonly #keys = new Map<string, Set<string>>()
  #closed = false

  /** `id` is no other part's. */
  constructor(store: CacheStore, operation: OperationId, id: string) {
    this.#store = store
    this.operation = operation
    this.#id = id
  }

  /** Makes the key of a resource. No client's id and no query holds a line break, so no two are the same. */
  keyOf({ client, site, query }: Name): string {
    return `${this.#id}\n${client}\n${site}\n${query}`
  }

  find(key: string): Resource | undefined {
    return this.#store.find(key)
  }

  /** Notes that a fetch begins: what is cleared or invalidated until it ends, it does not store. */
  reserve(name: Name): Reservation {
    const reservation = this.#store.reserve(this, name)
    reservation.isVoid = this.#closed
    return reservation
  }

  /** Stores what has come, in place of the variants that it replaces. The room that was reserved for it becomes its own. */
  put(reservation: Reservation, variant: Stored, replaces: (other: Stored) => boolean): void {
    reservation.release()
    if (reservation.isVoid) return
    const { name } = reservation
    this.#store.put(this.keyOf(name), { part: this, ...name }, variant, replaces)
  }

  /** Counts a body until the client of an exchange that is answered with it has taken it, or never will. */
  lend(exchange: Exchange, body: StoredBody): void {
    const { lending } = this.#store
    if (lending.lend(body)) exchange.whenOver(() => lending.back(body))
  }

  /** Removes those variants that are meant. */
  remove(key: string, meant: (variant: Stored) => boolean): void {
    this.#store.remove(key, meant)
  }

  /** Removes what is stored for a query, and what is on its way for it (RFC 9111 §4.4): of all clients, and of all names of this gateway. */
  invalidate(query: string): void {
    this.#store.void((reservation) => reservation.part === this && reservation.name.query === query)
    for (const key of [...(this.#keys.get(query) ?? [])]) this.#store.remove(key, () => true)
  }

  /** Removes all that it has; what is still on its way for it is not stored. */
  close(): void {
    this.#closed = true
    this.#store.void((reservation) => reservation.part === this)
    this.#store.drop(this)
  }

  /** Is told by the store what has come under a key. */
  came(key: string, query: string, bytes: number, variants: number): void {
    this.bytes += bytes
    this.entries += variants
    const keys = this.#keys.get(query)
    if (keys === undefined) this.#keys.set(query, new Set([key]))
    else keys.add(key)
  }

  /** Is told by the store what has left. */
  left(key: string, query: string, bytes: number, variants: number): void {
    this.bytes -= bytes
    this.entries -= variants
    const keys = this.#keys.get(query)
    if (keys?.delete(key) === true && keys.size === 0) this.#keys.delete(query)
  }
}

// Short, because the next answer may be one that can be stored; and little memory, because who asks may invent keys.
const rememberedMs = 5_000
const mostBytes = 256 * 1024

interface Remembered {
  readonly why: NotStored
  readonly until: number
}

/**
 * Remembers keys whose answers could not be shared: while it does, requests for them wait for nobody and are forwarded as they came. Otherwise
 * they would wait in groups for an answer that each has to fetch for itself in the end.
 */
class Uncacheable {
  readonly #remembered = new LRUCache<string, Remembered>({
    maxSize: mostBytes,
    sizeCalculation: (_, key) => key.length + 128,
  })

  /** Notes a key, unless it was for what only one client sent that its answer could not be shared: the next is likely to be another. */
  note(key: string, why: NotStored): void {
    if (why === 'authorization' || why === 'credentials') return
    this.#remembered.set(key, { why, until: now() + rememberedMs })
  }

  has(key: string): boolean {
    return this.why(key) !== null
  }

  /** Says why the last answer under a key could not be shared; null: it could, or that is too long ago. */
  why(key: string): NotStored | null {
    if (this.#remembered.size === 0) return null
    const remembered = this.#remembered.get(key)
    if (remembered === undefined) return null
    if (now() < remembered.until) return remembered.why
    this.#remembered.delete(key)
    return null
  }
}
