/** Is things that several need at once, by name: made when the first asks, given back when the last has let go. */
export class Kept<T> {
  readonly #all = new Map<string, { readonly thing: T; users: number }>()

  /** Makes it, or takes the one that there is. */
  hold(name: string, make: () => T): T {
    const kept = this.#all.get(name) ?? { thing: make(), users: 0 }
    kept.users++
    this.#all.set(name, kept)
    return kept.thing
  }

  /** Gives back the thing when nobody needs it any more. */
  release(name: string): T | null {
    const kept = this.#all.get(name)
    if (kept === undefined || --kept.users > 0) return null
    this.#all.delete(name)
    return kept.thing
  }

  find(name: string): T | undefined {
    return this.#all.get(name)?.thing
  }
}
