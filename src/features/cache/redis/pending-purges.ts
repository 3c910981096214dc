// Beyond so many, one purge covers all of the operation that has the most.
const maxPending = 10_000
const batchSize = 500

/** Sends purges; resolves with whether Redis acknowledged them within `waitMs`, or a time of its own. Never rejects. */
type SendPurges = (keys: readonly string[], waitMs?: number) => Promise<boolean>

/**
 * The purges that Redis has not acknowledged. While Redis is down its entries stay, and when it is back they must not
 * be believed before it has the purges.
 */
export class PendingPurges {
  readonly #send: SendPurges
  readonly #operations: readonly string[]
  /** By key, the number of its last purge: a purge that is repeated while it is sent stays pending. */
  readonly #keys = new Map<string, number>()
  #last = 0
  #sending = 0

  /**
   * `operations`: the keys of operations; each other key begins with one of them and a colon, and is of a part of it.
   * `pending`: those of purges that are pending already.
   */
  constructor(operations: readonly string[], send: SendPurges, pending: readonly string[] = []) {
    this.#operations = operations
    this.#send = send
    for (const key of pending) this.#keys.set(key, ++this.#last)
  }

  get keys(): readonly string[] {
    return [...this.#keys.keys()]
  }

  /** Tells whether one of these keys is pending; if any is, the pending purges are sent again. */
  has(keys: readonly string[]): boolean {
    if (this.#keys.size === 0) return false
    if (this.#sending === 0) void this.resend()
    return keys.some((key) => this.#keys.has(key))
  }

  /** Sends the pending purges again, until Redis does not acknowledge some. */
  async resend(): Promise<void> {
    const { keys } = this
    for (let at = 0; at < keys.length; at += batchSize)
      if (!(await this.#sendAll(keys.slice(at, at + batchSize)))) return
  }

  add(keys: readonly string[], waitMs?: number): Promise<boolean> {
    for (const key of keys) this.#keys.set(key, ++this.#last)
    if (this.#keys.size > maxPending) this.#widenLargest()
    return this.#sendAll(keys, waitMs)
  }

  /** Has one purge cover all of the operation that has the most: a client that causes many takes no other with it. */
  #widenLargest(): void {
    const { keys } = this
    const [largest] = this.#operations
      .map((operation) => ({ operation, parts: keys.filter((key) => key.startsWith(`${operation}:`)) }))
      .sort((one, other) => other.parts.length - one.parts.length)
    if (largest === undefined) return
    for (const key of largest.parts) this.#keys.delete(key)
    this.#keys.set(largest.operation, ++this.#last)
  }

  async #sendAll(keys: readonly string[], waitMs?: number): Promise<boolean> {
    const when = new Map(keys.map((key) => [key, this.#keys.get(key)]))
    this.#sending++
    const isAcknowledged = await this.#send(keys, waitMs)
    this.#sending--
    if (isAcknowledged) for (const [key, last] of when) if (this.#keys.get(key) === last) this.#keys.delete(key)
    return isAcknowledged
  }
}
