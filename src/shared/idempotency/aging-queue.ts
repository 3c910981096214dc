/**
 * Texts in the order in which they were added last. A set alone keeps the places of what was removed from its beginning
 * for a while: to look for its first text passes over all of them, a hundred thousand when it is large.
 */
export class AgingQueue {
  readonly #texts = new Set<string>()
  #rest: Iterator<string> = this.#texts.values()
  #first: string | null = null

  get size(): number {
    return this.#texts.size
  }

  /** Adds a text at the end, or moves it there. */
  add(text: string): void {
    this.delete(text)
    this.#texts.add(text)
  }

  delete(text: string): void {
    this.#texts.delete(text)
    if (text === this.#first) this.#first = null
  }

  /** Returns the text that was added before all others; null: there is none. */
  first(): string | null {
    if (this.#first !== null || this.#texts.size === 0) return this.#first
    let next = this.#rest.next()
    if (next.done === true) {
      this.#rest = this.#texts.values()
      next = this.#rest.next()
    }
    this.#first = next.value ?? null
    return this.#first
  }
}
