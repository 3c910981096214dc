/** A command that was executed at least in part. */
interface Order {
  /** Milliseconds since the epoch. */
  readonly at: number
  readonly by: string
  readonly text: string
}

const maxOrders = 20

export class OrderHistory {
  #last: readonly Order[] = []

  /** Newest first. */
  get last(): readonly Order[] {
    return this.#last
  }

  add(order: Order): void {
    this.#last = [order, ...this.#last].slice(0, maxOrders)
  }
}
