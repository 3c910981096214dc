import type { ServerHttp2Session } from 'node:http2'
import { now } from '../../clock.ts'

/** RFC 9113 §6.9.2: what a client may send of a body before any of it is taken. */
export const narrowWindowBytes = 65_535
/** The same for a connection on which a body was taken as fast as it came: at 50 ms a round trip, 40 MiB/s. */
export const wideWindowBytes = 2 * 1024 * 1024
/** The window of a connection. One stream alone, however wide, leaves a third of it to the others. */
export const connectionWindowBytes = 1.5 * wideWindowBytes
// What a stream may hold for itself: a narrow window, and another that Node gives the client when it reads on for a moment.
const streamAllowanceBytes = 2 * narrowWindowBytes
/** How many connections are wide at a time: what waits on them is at most 64 MiB beside what every stream may hold by itself. */
export const maxWideConnections = Math.floor((64 * 1024 * 1024) / connectionWindowBytes)
// One that took no whole window for so long does without, when another could use it.
const unusedAfterMs = 5_000

/** What a {@link WideConnections} keeps: a connection that is wide. */
interface WideConnection {
  /** Asks the client to send less. False: it was asked before. */
  narrow(): boolean
}

/** The connections of a process whose windows are wide. Their number bounds what clients can have it hold. */
export class WideConnections {
  /** When each last took a whole window, oldest first. */
  readonly #lastUsedAt = new Map<WideConnection, number>()

  /** Admits a connection, or has the one that rests longest make room for a later try. */
  tryAcquire(connection: WideConnection): boolean {
    if (this.#lastUsedAt.size < maxWideConnections) {
      this.#lastUsedAt.set(connection, now())
      return true
    }
    for (const [each, at] of this.#lastUsedAt) if (now() - at < unusedAfterMs || each.narrow()) break
    return false
  }

  /** Notes that a connection still uses what it has. */
  touch(connection: WideConnection): void {
    this.#lastUsedAt.delete(connection)
    this.#lastUsedAt.set(connection, now())
  }

  release(connection: WideConnection): void {
    this.#lastUsedAt.delete(connection)
  }
}

/**
 * The flow control of one connection, for what it receives (RFC 9113 §5.2). Node gives the window of a connection back as soon as
 * something arrives and that of a stream when it is read, and knows one size for all streams of a connection. So the streams are widened
 * and narrowed together, by SETTINGS, which a client may be slow to obey. What waits of their bodies is taken off the window of the
 * connection, which it cannot exceed.
 */
export class ReceiveWindows implements WideConnection {
  readonly #session: ServerHttp2Session
  readonly #wideConnections: WideConnections
  /** `narrowing`: the client has not yet acknowledged it, and may send as to a wide one. */
  #width: 'narrow' | 'wide' | 'narrowing' = 'narrow'
  #holdsWideSlot = false
  /** What waits, in all streams, beyond what each may hold by itself. */
  #excess = 0
  #windowBytes = connectionWindowBytes

  constructor(session: ServerHttp2Session, wideConnections: WideConnections) {
    this.#session = session
    this.#wideConnections = wideConnections
    session.setLocalWindowSize(connectionWindowBytes)
    session.once('close', () => wideConnections.release(this))
  }

  /** Begins the flow control of one body. */
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

  /** Notes that so much more waits, or less. */
  addPending(bytes: number): void {
    this.#excess += bytes
    // More than one body can be behind: before they have all there is, the others are to have theirs.
    if (this.#excess > wideWindowBytes) this.narrow()
    this.#updateWindow()
  }

  #updateWindow(): void {
    if (this.#session.destroyed) return
    const remaining = connectionWindowBytes - this.#excess
    // Once the streams are narrow, what waits cannot grow, and what is left over is for bodies that are taken.
    const windowBytes = Math.max(remaining, this.#width === 'narrow' ? narrowWindowBytes : 0)
    if (windowBytes !== this.#windowBytes) this.#session.setLocalWindowSize(windowBytes)
    this.#windowBytes = windowBytes
    if (this.#width !== 'narrow' || this.#excess > 0 || !this.#holdsWideSlot) return
    this.#holdsWideSlot = false
    this.#wideConnections.release(this)
  }
}

/** The flow control of one body. */
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

  /** Notes how much waits to be taken. Where something does, it is not the client's window that is in the way. */
  setPending(bytes: number): void {
    if (bytes > 0) this.#consumedBytes = 0
    const excess = Math.max(0, bytes - streamAllowanceBytes)
    if (excess === this.#excess) return
    this.#connection.addPending(excess - this.#excess)
    this.#excess = excess
  }
}
