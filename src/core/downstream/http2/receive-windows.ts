import { streamAllowanceBytes } from './connection-memory.ts'
import { initialWindow } from './frame.ts'
import { connectionWindowBytes, narrowWindowBytes, type WideConnections, wideWindowBytes } from './wide-connections.ts'

/**
 * The windows for request bodies (RFC 9113 §5.2). A stream's window reopens as its bytes are read, the connection's as
 * bytes arrive, less the waiting bytes of wide streams: a slow reader holds back its own stream.
 */
export class ReceiveWindows {
  readonly #wideConnections: WideConnections
  readonly #sendUpdate: (streamId: number, bytes: number) => void
  #isWide = false
  #holdsWideSlot = false
  /** Bytes beyond one narrow window for each stream, which may still come or wait. */
  #granted = 0
  /** The waiting bytes beyond each stream's allowance. */
  #excess = 0
  #window = initialWindow

  constructor(wideConnections: WideConnections, sendUpdate: (streamId: number, bytes: number) => void) {
    this.#wideConnections = wideConnections
    this.#sendUpdate = sendUpdate
    this.giveBack()
  }

  /** `granted`: this stream's part of `#granted`. All granted bytes can come at once, so the sum is bounded. */
  streamTarget(granted: number): number {
    if (!this.#isWide) return narrowWindowBytes
    return Math.min(wideWindowBytes, narrowWindowBytes + connectionWindowBytes - this.#granted + granted)
  }

  /** False: the window of the connection is exceeded (RFC 9113 §6.9.1). */
  take(bytes: number): boolean {
    this.#window -= bytes
    return this.#window >= 0
  }

  /** Call it after the arrived bytes are counted in the window of their stream. */
  giveBack(): void {
    // Streams with narrow windows cannot have more unread bytes together; the rest is for bodies that are being read.
    const target = Math.max(connectionWindowBytes - this.#excess, narrowWindowBytes)
    const bytes = target - this.#window
    if (bytes < target / 2) return
    this.#window += bytes
    this.#sendUpdate(0, bytes)
  }

  createBodyWindow(streamId: number): BodyWindow {
    return new BodyWindow(this, streamId)
  }

  /** Call it when a whole narrow window was read as fast as it came. */
  widen(): void {
    if (this.#isWide) this.#wideConnections.touch(this)
    if (this.#holdsWideSlot || !this.#wideConnections.tryAcquire(this)) return
    this.#holdsWideSlot = true
    this.#isWide = true
  }

  /** Takes back no granted bytes. False: it was narrow already. */
  narrow(): boolean {
    if (!this.#isWide) return false
    this.#isWide = false
    this.#releaseSlot()
    return true
  }

  close(): void {
    this.#wideConnections.release(this)
  }

  change(excess: number, granted: number): void {
    this.#excess += excess
    this.#granted += granted
    // Other bodies get their share before slow ones fill the window.
    if (this.#excess > wideWindowBytes) this.narrow()
    this.#releaseSlot()
    if (excess < 0) this.giveBack()
  }

  sendUpdate(streamId: number, bytes: number): void {
    this.#sendUpdate(streamId, bytes)
  }

  #releaseSlot(): void {
    if (this.#isWide || !this.#holdsWideSlot || this.#granted > 0) return
    this.#holdsWideSlot = false
    this.#wideConnections.release(this)
  }
}

export class BodyWindow {
  readonly #connection: ReceiveWindows
  readonly #streamId: number
  #window = narrowWindowBytes
  #waiting = 0
  #readSinceWait = 0
  #excess = 0
  #granted = 0
  #hasEnded = false

  constructor(connection: ReceiveWindows, streamId: number) {
    this.#connection = connection
    this.#streamId = streamId
  }

  take(bytes: number): boolean {
    this.#window -= bytes
    this.#waiting += bytes
    return this.#window >= 0
  }

  /** `isWaiting`: the bytes waited for their reader, so the window is not too small. */
  read(bytes: number, isWaiting: boolean): void {
    this.#waiting -= bytes
    if (this.#hasEnded) return this.settle()
    this.#readSinceWait = isWaiting ? 0 : this.#readSinceWait + bytes
    if (this.#readSinceWait >= narrowWindowBytes) {
      this.#readSinceWait = 0
      this.#connection.widen()
    }
    const target = this.#connection.streamTarget(this.#granted)
    const room = target - this.#window - this.#waiting
    if (room >= target / 2) {
      this.#window += room
      this.#connection.sendUpdate(this.#streamId, room)
    }
    this.settle()
  }

  /** Reports the waiting bytes to the connection, after a piece has arrived or was read. */
  settle(): void {
    const excess = Math.max(0, this.#waiting - streamAllowanceBytes)
    const granted = Math.max(0, (this.#hasEnded ? 0 : this.#window) + this.#waiting - narrowWindowBytes)
    if (excess === this.#excess && granted === this.#granted) return
    this.#connection.change(excess - this.#excess, granted - this.#granted)
    this.#excess = excess
    this.#granted = granted
  }

  /** The client sends no more; waiting bytes still count. */
  end(): void {
    this.#hasEnded = true
    this.settle()
  }

  /** No byte of the body is held any more. */
  close(): void {
    this.#connection.change(-this.#excess, -this.#granted)
    this.#excess = 0
    this.#granted = 0
  }
}
