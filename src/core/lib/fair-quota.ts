// So many owners are remembered though they have nothing just now. A Map that each request adds to and removes from is
// copied every few requests, and what its copies hold outlives the requests.
const maxIdle = 1000

/**
 * The memory of a process for bodies of one kind that are kept whole, until they were checked or sent: as much as 64 of
 * 1 MiB. Beyond it a body that is reported goes unchecked; one that is enforced has no room.
 */
export const usualBodyBytes = 64 * 1024 ** 2

/** A quota of a process, or an owner's share of it. */
export interface QuotaShare {
  /** Takes some of it; false: there is not so much left. */
  reserve(amount: number): boolean
  release(amount: number): void
}

/** A quota of a process, such as memory for bodies. However much some owners take, there is some left for another. */
export class FairQuota implements QuotaShare {
  /** The most that is taken at once. When it becomes less, what is taken already stays. */
  max: number
  #used = 0
  readonly #usedByOwner = new Map<string, number>()
  /** How many of them have nothing. */
  #idle = 0

  constructor(max: number) {
    this.max = max
  }

  get used(): number {
    return this.#used
  }

  get owners(): number {
    return this.#usedByOwner.size - this.#idle
  }

  /** How many owners it remembers, also without any. */
  get remembered(): number {
    return this.#usedByOwner.size
  }

  reserve(amount: number): boolean {
    if (this.#used + amount > this.max) return false
    this.#used += amount
    return true
  }

  release(amount: number): void {
    this.#used -= amount
  }

  /**
   * Returns the share of an owner, which has at most as much as is left free then. Owners that take all that they can
   * leave room for one more.
   */
  shareOf(owner: string): QuotaShare {
    return {
      reserve: (amount) => {
        const own = this.#usedBy(owner) + amount
        if (own > this.max - this.#used - amount || !this.reserve(amount)) return false
        this.#note(owner, own)
        return true
      },
      release: (amount) => {
        this.release(amount)
        this.#note(owner, Math.max(0, this.#usedBy(owner) - amount))
      },
    }
  }

  #usedBy(owner: string): number {
    return this.#usedByOwner.get(owner) ?? 0
  }

  #note(owner: string, used: number): void {
    if (this.#usedByOwner.get(owner) === 0) this.#idle--
    this.#usedByOwner.set(owner, used)
    if (used > 0 || ++this.#idle <= maxIdle) return
    for (const [each, own] of this.#usedByOwner) if (own === 0) this.#usedByOwner.delete(each)
    this.#idle = 0
  }
}
