import type { Claim } from '../idempotency-store.ts'
import { NameIndex } from './name-index.ts'

/** Times are of the monotonic clock. */
export interface Attempt {
  readonly claim: Claim
  /** When the first attempt with its key was claimed. */
  readonly claimedAt: number
  /** Whether an attempt before this one may have been processed. */
  readonly wasUnknown: boolean
  /** When it counts as unknown. */
  leaseUntil: number
}

/**
 * The attempts that are under way, by their names. They come and go with each request, for which a Map is the wrong
 * place: it is copied for each few that were removed, and what an old copy holds is kept until the next collection of
 * everything, half a kilobyte a request.
 */
export class AttemptTable {
  readonly #attempts: (Attempt | null)[] = []
  readonly #free: number[] = []
  // Places begin at 1.
  readonly #index = new NameIndex((place, name) => this.#attempts[place - 1]?.claim.name === name)

  get size(): number {
    return this.#index.size
  }

  get(name: string): Attempt | null {
    const place = this.#index.find(name)
    return place === null ? null : (this.#attempts[place - 1] ?? null)
  }

  add(attempt: Attempt): void {
    const at = this.#free.pop() ?? this.#attempts.length
    this.#attempts[at] = attempt
    this.#index.add(attempt.claim.name, at + 1)
  }

  delete(name: string): void {
    const place = this.#index.find(name)
    if (place === null) return
    this.#index.delete(name)
    this.#attempts[place - 1] = null
    this.#free.push(place - 1)
  }

  /** Lists all, which may be removed meanwhile. */
  list(): readonly Attempt[] {
    return this.#attempts.filter((attempt) => attempt !== null)
  }
}
