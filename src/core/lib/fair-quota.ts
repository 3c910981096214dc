// Idle owners stay: a Map that each request adds to and removes from is copied every few requests, and the copies keep
// their contents alive.
const maxIdle = 1000

/**
 * The memory of a process for whole bodies of one kind: 64 of 1 MiB. Beyond it, a body whose check only reports goes
 * unchecked; one whose check is enforced has no room.
 */
export const usualBodyBytes = 64 * 1024 ** 2

export interface QuotaShare {
  reserve(amount: number): boolean
  release(amount: number): void
}

export class FairQuota implements QuotaShare {
  /** A lower maximum takes nothing back. */
  max: number
  #used = 0
  readonly #usedByOwner = new Map<string, number>()
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

  /** An owner has at most half of the room that the others leave, so n owners leave 1/(n+1) of it free. */
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
