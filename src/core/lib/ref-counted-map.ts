/**
 * Values with several users at once, by name: created for the first user, and returned for closing when the last has
 * released them.
 */
export class RefCountedMap<T> {
  readonly #all = new Map<string, { readonly value: T; users: number }>()

  acquire(name: string, make: () => T): T {
    const entry = this.#all.get(name) ?? { value: make(), users: 0 }
    entry.users++
    this.#all.set(name, entry)
    return entry.value
  }

  /** Releases a value. Returns it when it has no user any more, else null. */
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
