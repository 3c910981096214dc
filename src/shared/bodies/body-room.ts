// As much as 64 bodies of 1 MiB. Beyond it a body that is reported goes unchecked; one that is enforced has no room.
const usualMaxBytes = 64 * 1024 ** 2

// So many clients are remembered though they have none just now. A Map that each request adds to and removes from is
// copied every few requests, and what its copies hold outlives the requests.
const maxIdle = 1000

/** Room for bodies: all of a process's, or a client's share of it. */
export interface BodyShare {
  /** Takes room; false: there is none. */
  reserve(bytes: number): boolean
  release(bytes: number): void
}

/** The room of a process for bodies that are kept whole, until they were checked or sent. */
export class BodyRoom implements BodyShare {
  /** The most that is taken at once. When it becomes less, what is taken already stays. */
  maxBytes: number
  #bytes = 0
  readonly #bytesByClient = new Map<string, number>()
  /** How many of them have none. */
  #idle = 0

  constructor(maxBytes = usualMaxBytes) {
    this.maxBytes = maxBytes
  }

  /** The bytes that are taken. */
  get bytes(): number {
    return this.#bytes
  }

  /** How many clients have some of it. */
  get clients(): number {
    return this.#bytesByClient.size - this.#idle
  }

  /** How many clients it remembers, also without any. */
  get remembered(): number {
    return this.#bytesByClient.size
  }

  reserve(bytes: number): boolean {
    if (this.#bytes + bytes > this.maxBytes) return false
    this.#bytes += bytes
    return true
  }

  release(bytes: number): void {
    this.#bytes -= bytes
  }

  /**
   * Returns the share of a client, which has at most as much as is left free then. Clients that take all that they can
   * leave room for one more.
   */
  shareOf(client: string): BodyShare {
    return {
      reserve: (bytes) => {
        const own = this.#bytesOf(client) + bytes
        if (own > this.maxBytes - this.#bytes - bytes || !this.reserve(bytes)) return false
        this.#note(client, own)
        return true
      },
      release: (bytes) => {
        this.release(bytes)
        this.#note(client, Math.max(0, this.#bytesOf(client) - bytes))
      },
    }
  }

  #bytesOf(client: string): number {
    return this.#bytesByClient.get(client) ?? 0
  }

  #note(client: string, bytes: number): void {
    if (this.#bytesByClient.get(client) === 0) this.#idle--
    this.#bytesByClient.set(client, bytes)
    if (bytes > 0 || ++this.#idle <= maxIdle) return
    for (const [each, own] of this.#bytesByClient) if (own === 0) this.#bytesByClient.delete(each)
    this.#idle = 0
  }
}
