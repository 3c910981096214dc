/** Is things that several need at once, by name: made when the first asks, given back when the last has let go. */
export class RefCountedMap<T> {
  readonly #all = new Map<string, { readonly value: T; users: number }>()

  /** Makes it, or takes the one that there is. */
  acquire(name: string, make: () => T): T {
    const entry = this.#all.get(name) ?? { value: make(), users: 0 }
    entry.users++
    this.#all.set(name, entry)
    return entry.value
  }

  /** Gives back the thing when nobody needs it any more. */
  release(name: string): T | null {
    const entry = this.#all.get(name)
    if (entry === undefined || --entry.users > 0) return null
    this.#all.delete(name)
    return entry.value
  }

  get(name: string): T | undefined {
    return this.#all.get(name)?.value
  }
}
