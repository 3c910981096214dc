/** An order that an operator gave, and that was carried out, or part of it. */
interface Order {
  /** Milliseconds since the epoch. */
  readonly at: number
  /** The operator's name, else the address. */
  readonly by: string
  /** What was done, as a sentence. */
  readonly text: string
}

const maxOrders = 20

/** The last orders of operators, since the process started. */
export class OrderHistory {
  #last: readonly Order[] = []

  /** The newest first. */
  get last(): readonly Order[] {
    return this.#last
  }

  add(order: Order): void {
    this.#last = [order, ...this.#last].slice(0, maxOrders)
  }
}
