/** Keeps the last of what is added, so many and no more. */
export class Ring<T> {
  readonly #kept: T[] = []
  readonly #most: number
  #next = 0

  constructor(most: number) {
    this.#most = most
  }

  add(one: T): void {
    this.#kept[this.#next] = one
    this.#next = (this.#next + 1) % this.#most
  }

  /** Is all that is kept, in no order. */
  get all(): readonly T[] {
    return this.#kept
  }
}
