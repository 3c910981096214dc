import { now } from '../../lib/clock.ts'

/** The bytes of a body that a client may send before any is read (RFC 9113 §6.9.2). */
export const narrowWindowBytes = 65_535
/** For clients slower than their reader: at 50 ms a round trip, 40 MiB/s. */
export const wideWindowBytes = 2 * 1024 * 1024
/** One wide stream leaves a third of the connection's window to the others. */
export const connectionWindowBytes = 1.5 * wideWindowBytes
/** Wide connections hold at most 64 MiB beyond the allowances of their streams. */
export const maxWideConnections = Math.floor((64 * 1024 * 1024) / connectionWindowBytes)
// After this long without a full window, a connection becomes narrow when another needs the width.
const unusedAfterMs = 5_000

interface WideConnection {
  /** False: it is narrow already. */
  narrow(): boolean
}

/** The wide connections of a process. Their number limits the memory that clients can make it hold. */
export class WideConnections {
  /** When each last filled a whole window, oldest first. */
  readonly #lastUsedAt = new Map<WideConnection, number>()

  /** Where there is no room, narrows the longest unused connection, for a later try. */
  tryAcquire(connection: WideConnection): boolean {
    if (this.#lastUsedAt.size < maxWideConnections) {
      this.#lastUsedAt.set(connection, now())
      return true
    }
    for (const [each, at] of this.#lastUsedAt) if (now() - at < unusedAfterMs || each.narrow()) break
    return false
  }

  touch(connection: WideConnection): void {
    this.#lastUsedAt.delete(connection)
    this.#lastUsedAt.set(connection, now())
  }

  release(connection: WideConnection): void {
    this.#lastUsedAt.delete(connection)
  }
}
