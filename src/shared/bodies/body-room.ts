// As much as 64 bodies of 1 MiB. Beyond it a body that is reported goes unchecked; one that is enforced has no room.
const usualMaxBytes = 64 * 1024 ** 2

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

  constructor(maxBytes = usualMaxBytes) {
    this.maxBytes = maxBytes
  }

  /** The bytes that are taken. */
  get bytes(): number {
    return this.#bytes
  }

  /** How many clients have some of it. */
  get clients(): number {
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
        const own = (this.#bytesByClient.get(client) ?? 0) + bytes
        if (own > this.maxBytes - this.#bytes - bytes || !this.reserve(bytes)) return false
        this.#bytesByClient.set(client, own)
        return true
      },
      release: (bytes) => {
        this.release(bytes)
        const own = (this.#bytesByClient.get(client) ?? 0) - bytes
        if (own > 0) this.#bytesByClient.set(client, own)
        else this.#bytesByClient.delete(client)
      },
    }
  }
}
