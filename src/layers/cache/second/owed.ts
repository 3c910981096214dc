// Beyond so many, everything is owed: what is told of all operations is told of each of these.
const most = 10_000
const atOnce = 500

/**
 * Is what Redis has to be told and does not know yet. While it is down, what it has goes on being there, and when it is back it must not be believed
 * before it knows.
 */
export class Owed {
  readonly #tell: (keys: readonly string[]) => Promise<boolean>
  readonly #all: readonly string[]
  /** By key, when it was owed last: what is owed again while it is told stays owed. */
  readonly #keys = new Map<string, number>()
  #last = 0
  #telling = 0

  /** `all`: of which each answer has one at least. */
  constructor(all: readonly string[], tell: (keys: readonly string[]) => Promise<boolean>) {
    this.#all = all
    this.#tell = tell
  }

  /** Tells whether any of these is owed; if so, what is owed is told again. */
  has(keys: readonly string[]): boolean {
    if (this.#keys.size === 0) return false
    if (this.#telling === 0) void this.#tellAll([...this.#keys.keys()].slice(0, atOnce))
    return keys.some((key) => this.#keys.has(key))
  }

  /** Owes these, and tells them; resolves with whether that was heard. */
  add(keys: readonly string[]): Promise<boolean> {
    for (const key of keys) this.#keys.set(key, ++this.#last)
    if (this.#keys.size > most) {
      this.#keys.clear()
      for (const key of this.#all) this.#keys.set(key, ++this.#last)
    }
    return this.#tellAll(keys)
  }

  async #tellAll(keys: readonly string[]): Promise<boolean> {
    const when = new Map(keys.map((key) => [key, this.#keys.get(key)]))
    this.#telling++
    const isHeard = await this.#tell(keys)
    this.#telling--
    if (isHeard) for (const [key, last] of when) if (this.#keys.get(key) === last) this.#keys.delete(key)
    return isHeard
  }
}
