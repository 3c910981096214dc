import type { Part } from './part.ts'
import type { CacheStore, Name } from './store.ts'

/** Is room for an answer that is on its way: what it takes until it is stored, or is not. */
export class Reservation implements Name {
  readonly part: Part
  readonly client: string
  readonly site: string
  readonly query: string
  /** Whether what it is for has become invalid since: what comes is not stored, and nobody who asks from now on may have it. */
  isVoid = false
  readonly #store: CacheStore
  #bytes = 0

  constructor(store: CacheStore, part: Part, { client, site, query }: Name) {
    this.#store = store
    this.part = part
    this.client = client
    this.site = site
    this.query = query
  }

  /** Takes more room; false: there is none. */
  grow(bytes: number): boolean {
    if (!this.#store.take(bytes)) return false
    this.#bytes += bytes
    return true
  }

  /** Gives all of it back. */
  release(): void {
    this.#store.giveBack(this.#bytes)
    this.#bytes = 0
    this.#store.forget(this)
  }
}
