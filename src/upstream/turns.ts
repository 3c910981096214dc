import { overloaded } from '../errors.ts'

/**
 * Lets so many run at once and has so many more wait, in the order in which they came: a slow endpoint must not collect the whole
 * world's requests. It is ours and not the pool's, because what has been given up must not keep its place in the line.
 */
export class Turns<Key, Work> {
  readonly #maxRunning: number
  readonly #maxWaiting: number
  readonly #run: (key: Key, work: Work) => void
  readonly #waiting = new Map<Key, Work>()
  #running = 0
  #lettingIn = false

  constructor(maxRunning: number, maxWaiting: number, run: (key: Key, work: Work) => void) {
    this.#maxRunning = maxRunning
    this.#maxWaiting = maxWaiting
    this.#run = run
  }

  /** Tells whether it takes no more. */
  get full(): boolean {
    return this.#running >= this.#maxRunning && this.#waiting.size >= this.#maxWaiting
  }

  /** Runs work now or when its turn comes. Throws `overloaded` when too many wait already. */
  enter(key: Key, work: Work): void {
    if (this.#running < this.#maxRunning) {
      this.#running++
      return this.#run(key, work)
    }
    if (this.full) throw overloaded('endpoint-connections')
    this.#waiting.set(key, work)
  }

  /** Takes back what waits; false: it does not, or no longer. */
  withdraw(key: Key): boolean {
    return this.#waiting.delete(key)
  }

  /** Counts out what has run, and lets the next in. */
  leave(): void {
    this.#running--
    // Work may leave while it is being run (a pool that was cut refuses at once). One inside the other, a long line would overflow the stack.
    if (this.#lettingIn) return
    this.#lettingIn = true
    try {
      for (const [key, work] of this.#waiting) {
        if (this.#running >= this.#maxRunning) return
        this.#waiting.delete(key)
        this.#running++
        this.#run(key, work)
      }
    } finally {
      this.#lettingIn = false
    }
  }
}
