// As much as 64 bodies of 1 MiB. Beyond it a body that is reported goes unchecked; one that is enforced has no room.
const maxBytes = 64 * 1024 ** 2

/** The room of a process for bodies that are kept whole, until they were checked or sent. */
export class BodyRoom {
  #bytes = 0

  /** The bytes that are taken. */
  get bytes(): number {
    return this.#bytes
  }

  /** Takes room; false: there is none. */
  reserve(bytes: number): boolean {
    if (this.#bytes + bytes > maxBytes) return false
    this.#bytes += bytes
    return true
  }

  release(bytes: number): void {
    this.#bytes -= bytes
  }
}
