import type { ServerHttp2Session } from 'node:http2'
import { now } from '../../clock.ts'

/** RFC 9113 §6.9.2: what a client may send of a body before any of it is taken. */
export const narrowBytes = 65_535
/** The same for a connection on which a body was taken as fast as it came: at 50 ms a round trip, 40 MiB/s. */
export const wideBytes = 2 * 1024 * 1024
/** The window of a connection. One stream alone, however wide, leaves a third of it to the others. */
export const connectionBytes = 1.5 * wideBytes
// What a stream may hold for itself: a narrow window, and another that Node gives the client when it reads on for a moment.
const ownBytes = 2 * narrowBytes
/** How many connections are wide at a time: what waits on them is at most 64 MiB beside what every stream may hold by itself. */
export const mostWide = Math.floor((64 * 1024 * 1024) / connectionBytes)
// One that took no whole window for so long does without, when another could use it.
const restMs = 5_000

/** What a {@link WideConnections} keeps: a connection that is wide. */
interface Wide {
  /** Asks the client to send less. False: it was asked before. */
  narrow(): boolean
}

/** The connections of a process whose windows are wide. Their number bounds what clients can have it hold. */
export class WideConnections {
  /** When each last took a whole window, oldest first. */
  readonly #takenAt = new Map<Wide, number>()

  /** Admits a connection, or has the one that rests longest make room for a later try. */
  admit(connection: Wide): boolean {
    if (this.#takenAt.size < mostWide) {
      this.#takenAt.set(connection, now())
      return true
    }
    for (const [each, at] of this.#takenAt) if (now() - at < restMs || each.narrow()) break
    return false
  }

  /** Notes that a connection still uses what it has. */
  used(connection: Wide): void {
    this.#takenAt.delete(connection)
    this.#takenAt.set(connection, now())
  }

  release(connection: Wide): void {
    this.#takenAt.delete(connection)
  }
}

/**
 * The flow control of one connection, for what it receives (RFC 9113 §5.2). Node gives the window of a connection back as soon as
 * something arrives and that of a stream when it is read, and knows one size for all streams of a connection. So the streams are widened
 * and narrowed together, by SETTINGS, which a client may be slow to obey. What waits of their bodies is taken off the window of the
 * connection, which it cannot exceed.
 */
export class ReceiveWindows implements Wide {
  readonly #session: ServerHttp2Session
  readonly #wideConnections: WideConnections
  /** `narrowing`: the client has not yet acknowledged it, and may send as to a wide one. */
  #width: 'narrow' | 'wide' | 'narrowing' = 'narrow'
  #isAdmitted = false
  /** What waits, in all streams, beyond what each may hold by itself. */
  #excess = 0
  #given = connectionBytes

  constructor(session: ServerHttp2Session, wideConnections: WideConnections) {
    this.#session = session
    this.#wideConnections = wideConnections
    session.setLocalWindowSize(connectionBytes)
    session.once('close', () => wideConnections.release(this))
  }

  /** Begins the flow control of one body. */
  body(): BodyWindow {
    return new BodyWindow(this)
  }

  /** Notes that a whole narrow window of a body was taken as fast as it came: the client could have sent more. */
  widen(): void {
    if (this.#session.destroyed) return
    if (this.#width === 'wide') this.#wideConnections.used(this)
    if (this.#isAdmitted || !this.#wideConnections.admit(this)) return
    this.#isAdmitted = true
    this.#width = 'wide'
    this.#session.settings({ initialWindowSize: wideBytes })
  }

  narrow(): boolean {
    if (this.#width !== 'wide' || this.#session.destroyed) return false
    this.#width = 'narrowing'
    this.#session.settings({ initialWindowSize: narrowBytes }, (error) => {
      if (error) return
      this.#width = 'narrow'
      this.#settle()
    })
    return true
  }

  /** Notes that so much more waits, or less. */
  wait(bytes: number): void {
    this.#excess += bytes
    // More than one body can be behind: before they have all there is, the others are to have theirs.
    if (this.#excess > wideBytes) this.narrow()
    this.#settle()
  }

  #settle(): void {
    if (this.#session.destroyed) return
    const left = connectionBytes - this.#excess
    // Once the streams are narrow, what waits cannot grow, and what is left over is for bodies that are taken.
    const given = Math.max(left, this.#width === 'narrow' ? narrowBytes : 0)
    if (given !== this.#given) this.#session.setLocalWindowSize(given)
    this.#given = given
    if (this.#width !== 'narrow' || this.#excess > 0 || !this.#isAdmitted) return
    this.#isAdmitted = false
    this.#wideConnections.release(this)
  }
}

/** The flow control of one body. */
export class BodyWindow {
  readonly #connection: ReceiveWindows
  #taken = 0
  #excess = 0

  constructor(connection: ReceiveWindows) {
    this.#connection = connection
  }

  /** Notes bytes that were taken as fast as they came. */
  took(bytes: number): void {
    this.#taken += bytes
    if (this.#taken < narrowBytes) return
    this.#taken = 0
    this.#connection.widen()
  }

  /** Notes how much waits to be taken. Where something does, it is not the client's window that is in the way. */
  waiting(bytes: number): void {
    if (bytes > 0) this.#taken = 0
    const excess = Math.max(0, bytes - ownBytes)
    if (excess === this.#excess) return
    this.#connection.wait(excess - this.#excess)
    this.#excess = excess
  }
}
