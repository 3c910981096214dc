/**
 * Keeps the last of what is added, so many and no more, and some of each key: what is full gives up the oldest of the key that it has most
 * of. A flood of one key then pushes out only itself. Keys are bounded words.
 */
export class FairList<T> {
  readonly #max: number
  readonly #keyOf: (one: T) => string
  /** By key, the oldest first. */
  readonly #byKey = new Map<string, T[]>()
  #size = 0

  constructor(max: number, keyOf: (one: T) => string) {
    this.#max = max
    this.#keyOf = keyOf
  }

  add(one: T): void {
    const key = this.#keyOf(one)
    const same = this.#byKey.get(key)
    if (same === undefined) this.#byKey.set(key, [one])
    else same.push(one)
    if (this.#size < this.#max) this.#size++
    else this.#drop(key, same)
  }

  /** All that is kept, those of one key together. */
  get all(): readonly T[] {
    return [...this.#byKey.values()].flat()
  }

  #drop(added: string, same: T[] | undefined): void {
    // One that has its share already gives up its own, so a flood looks no further.
    const hasShare = same !== undefined && same.length * this.#byKey.size > this.#max
    const key = hasShare ? added : this.#largest()
    const all = this.#byKey.get(key) ?? []
    all.shift()
    if (all.length === 0) this.#byKey.delete(key)
  }

  #largest(): string {
    let found = ''
    let most = 0
    for (const [key, { length }] of this.#byKey) if (length > most) [found, most] = [key, length]
    return found
  }
}
