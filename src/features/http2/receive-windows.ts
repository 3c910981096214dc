import type { ServerHttp2Session } from 'node:http2'
import { now } from '../../core/lib/clock.ts'

/** The bytes of a body that a client may send before any of it is taken (RFC 9113 §6.9.2). */
export const narrowWindowBytes = 65_535
/** The same for a connection on which a body was taken as fast as it came: at 50 ms a round trip, 40 MiB/s. */
export const wideWindowBytes = 2 * 1024 * 1024
/** The window of a connection. One stream alone, however wide, leaves a third of it to the others. */
export const connectionWindowBytes = 1.5 * wideWindowBytes
// The bytes that a stream may hold on its own account: a narrow window, and another that Node gives the client when it
// reads on for a moment.
const streamAllowanceBytes = 2 * narrowWindowBytes
/** The maximum of wide connections: together they hold at most 64 MiB beyond what every stream may hold by itself. */
export const maxWideConnections = Math.floor((64 * 1024 * 1024) / connectionWindowBytes)
// A connection that filled no whole window for this long becomes narrow, when another could use its width.
const unusedAfterMs = 5_000

/** A connection with wide windows, as {@link WideConnections} holds it. */
interface WideConnection {
  /** Asks the client to send less. False: it was asked before. */
  narrow(): boolean
}

/**
 * The connections of a process whose windows are wide. Their number limits the memory that clients can make it hold.
 */
export class WideConnections {
  /** When each last filled a whole window, oldest first. */
  readonly #lastUsedAt = new Map<WideConnection, number>()

  /** Adds a connection, or makes the one that has been unused longest give way to a later try. */
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
 * The flow control of one connection, for what it receives (RFC 9113 §5.2). Node gives the window of a connection back
 * as soon as something arrives and that of a stream when it is read, and knows one size for all streams of a
 * connection. So the streams are widened and narrowed together, by SETTINGS, which a client may be slow to obey. The
 * bytes of their bodies that wait are taken off the window of the connection, which the client cannot exceed.
 */
export class ReceiveWindows implements WideConnection {
  readonly #session: ServerHttp2Session
  readonly #wideConnections: WideConnections
  /** `narrowing`: the client has not yet acknowledged it, and may send as to a wide one. */
  #width: 'narrow' | 'wide' | 'narrowing' = 'narrow'
  #holdsWideSlot = false
  /** Waiting bytes, in all streams, beyond what each may hold by itself. */
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

  /** Notes that a whole narrow window of a body was taken as fast as it came: the client could have sent more. */
  widen(): void {
    if (this.#session.destroyed) return
    if (this.#width === 'wide') this.#wideConnections.touch(this)
    if (this.#holdsWideSlot || !this.#wideConnections.tryAcquire(this)) return
    this.#holdsWideSlot = true
    this.#width = 'wide'
    this.#session.settings({ initialWindowSize: wideWindowBytes })
  }

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

  /** Adds to the waiting bytes; a negative number takes off. */
  addPending(bytes: number): void {
    this.#excess += bytes
    // More than one body can be slow: before they fill all of the window, the others are to have their share.
    if (this.#excess > wideWindowBytes) this.narrow()
    this.#updateWindow()
  }

  #updateWindow(): void {
    if (this.#session.destroyed) return
    const remaining = connectionWindowBytes - this.#excess
    // Once the streams are narrow, the waiting bytes cannot grow, and the rest of the window is for bodies that are
    // taken.
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

  /** Notes bytes that were taken as fast as they came. */
  consumed(bytes: number): void {
    this.#consumedBytes += bytes
    if (this.#consumedBytes < narrowWindowBytes) return
    this.#consumedBytes = 0
    this.#connection.widen()
  }

  /**
   * Sets the number of bytes that wait to be taken. Where some do, it is not the client's window that is in the way.
   */
  setPending(bytes: number): void {
    if (bytes > 0) this.#consumedBytes = 0
    const excess = Math.max(0, bytes - streamAllowanceBytes)
    if (excess === this.#excess) return
    this.#connection.addPending(excess - this.#excess)
    this.#excess = excess
  }
}
