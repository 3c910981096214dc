import type { ServerHttp2Session } from 'node:http2'
import { now } from '../../core/lib/clock.ts'

/** The bytes of a body that a client may send before any is read (RFC 9113 §6.9.2). */
export const narrowWindowBytes = 65_535
/** For a connection whose client is slower than its reader: at 50 ms a round trip, 40 MiB/s. */
export const wideWindowBytes = 2 * 1024 * 1024
/** One stream, however wide, leaves a third of the connection's window to the others. */
export const connectionWindowBytes = 1.5 * wideWindowBytes
// A narrow window, and another that Node gives the client when it reads on for a moment.
const streamAllowanceBytes = 2 * narrowWindowBytes
/** Wide connections hold at most 64 MiB beyond the allowances of their streams. */
export const maxWideConnections = Math.floor((64 * 1024 * 1024) / connectionWindowBytes)
// A connection that filled no whole window for this long becomes narrow when another needs the width.
const unusedAfterMs = 5_000

type WideConnection = Pick<ReceiveWindows, 'narrow'>

/** Those of a process. Their number limits the memory that clients can make it hold. */
export class WideConnections {
  /** When each last filled a whole window, oldest first. */
  readonly #lastUsedAt = new Map<WideConnection, number>()

  /** Where there is no room, narrows the connection that has been unused longest, for a later try. */
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

/**
 * Of one connection (RFC 9113 §5.2). Node returns a connection's window when bytes arrive and a stream's when they are
 * read, and has one size for all streams. So all are widened and narrowed together by SETTINGS, which a client may obey
 * late. Their waiting bytes reduce the connection's window, which a client cannot exceed.
 */
export class ReceiveWindows {
  readonly #session: ServerHttp2Session
  readonly #wideConnections: WideConnections
  /** `narrowing`: the client has not acknowledged it, and may send as if wide. */
  #width: 'narrow' | 'wide' | 'narrowing' = 'narrow'
  #holdsWideSlot = false
  /** The waiting bytes of all streams, beyond each one's allowance. */
  #excess = 0
  #windowBytes = connectionWindowBytes

  constructor(session: ServerHttp2Session, wideConnections: WideConnections) {
    this.#session = session
    this.#wideConnections = wideConnections
    session.setLocalWindowSize(connectionWindowBytes)
    session.once('close', () => wideConnections.release(this))
  }

  createBodyWindow(): BodyWindow {
    return new BodyWindow(this)
  }

  /** Called when a whole narrow window was read as fast as it came: the client could have sent more. */
  widen(): void {
    if (this.#session.destroyed) return
    if (this.#width === 'wide') this.#wideConnections.touch(this)
    if (this.#holdsWideSlot || !this.#wideConnections.tryAcquire(this)) return
    this.#holdsWideSlot = true
    this.#width = 'wide'
    this.#session.settings({ initialWindowSize: wideWindowBytes })
  }

  /** Returns false where the client was asked before. */
  narrow(): boolean {
    if (this.#width !== 'wide' || this.#session.destroyed) return false
    this.#width = 'narrowing'
    this.#session.settings({ initialWindowSize: narrowWindowBytes }, (error) => {
      if (error) return
      this.#width = 'narrow'
      this.#updateWindow()
    })
    return true
  }

  addPending(bytes: number): void {
    this.#excess += bytes
    // Several bodies can be slow: the others get their share before these fill the whole window.
    if (this.#excess > wideWindowBytes) this.narrow()
    this.#updateWindow()
  }

  #updateWindow(): void {
    if (this.#session.destroyed) return
    const remaining = connectionWindowBytes - this.#excess
    // Once the streams are narrow, the waiting bytes cannot grow: the rest of the window is for bodies that are read.
    const windowBytes = Math.max(remaining, this.#width === 'narrow' ? narrowWindowBytes : 0)
    if (windowBytes !== this.#windowBytes) this.#session.setLocalWindowSize(windowBytes)
    this.#windowBytes = windowBytes
    if (this.#width !== 'narrow' || this.#excess > 0 || !this.#holdsWideSlot) return
    this.#holdsWideSlot = false
    this.#wideConnections.release(this)
  }
}

export class BodyWindow {
  readonly #connection: ReceiveWindows
  #consumedBytes = 0
  #excess = 0

  constructor(connection: ReceiveWindows) {
    this.#connection = connection
  }

  consumed(bytes: number): void {
    this.#consumedBytes += bytes
    if (this.#consumedBytes < narrowWindowBytes) return
    this.#consumedBytes = 0
    this.#connection.widen()
  }

  /** Waiting bytes show that the reader is slow, not that the client's window is too small. */
  setPending(bytes: number): void {
    if (bytes > 0) this.#consumedBytes = 0
    const excess = Math.max(0, bytes - streamAllowanceBytes)
    if (excess === this.#excess) return
    this.#connection.addPending(excess - this.#excess)
    this.#excess = excess
  }
}
