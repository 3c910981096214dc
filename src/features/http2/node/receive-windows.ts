import type { ServerHttp2Session } from 'node:http2'
import {
  connectionWindowBytes,
  narrowWindowBytes,
  type WideConnections,
  wideWindowBytes,
} from '../../../core/downstream/http2/wide-connections.ts'

// A narrow window, and another that Node gives the client when it reads on for a moment.
const streamAllowanceBytes = 2 * narrowWindowBytes

/**
 * RFC 9113 §5.2. Node has one window size for all streams, so all are widened and narrowed together by SETTINGS, which
 * a client may obey late. Their waiting bytes reduce the connection's window, which a client cannot exceed.
 */
export class NodeReceiveWindows {
  readonly #session: ServerHttp2Session
  readonly #wideConnections: WideConnections
  /** `narrowing`: the client has not acknowledged it, and may send as if wide. */
  #width: 'narrow' | 'wide' | 'narrowing' = 'narrow'
  #holdsWideSlot = false
  /** The waiting bytes beyond each stream's allowance. */
  #excess = 0
  #windowBytes = connectionWindowBytes

  constructor(session: ServerHttp2Session, wideConnections: WideConnections) {
    this.#session = session
    this.#wideConnections = wideConnections
    session.setLocalWindowSize(connectionWindowBytes)
    session.once('close', () => wideConnections.release(this))
  }

  createBodyWindow(): NodeBodyWindow {
    return new NodeBodyWindow(this)
  }

  /** Call it when a whole narrow window was read as fast as it came. */
  widen(): void {
    if (this.#session.destroyed) return
    if (this.#width === 'wide') this.#wideConnections.touch(this)
    if (this.#holdsWideSlot || !this.#wideConnections.tryAcquire(this)) return
    this.#holdsWideSlot = true
    this.#width = 'wide'
    this.#session.settings({ initialWindowSize: wideWindowBytes })
  }

  /** False: the client was asked before. */
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
    // Other bodies get their share before slow ones fill the window.
    if (this.#excess > wideWindowBytes) this.narrow()
    this.#updateWindow()
  }

  #updateWindow(): void {
    if (this.#session.destroyed) return
    const remaining = connectionWindowBytes - this.#excess
    // Once the streams are narrow, the waiting bytes cannot grow.
    const windowBytes = Math.max(remaining, this.#width === 'narrow' ? narrowWindowBytes : 0)
    if (windowBytes !== this.#windowBytes) this.#session.setLocalWindowSize(windowBytes)
    this.#windowBytes = windowBytes
    if (this.#width !== 'narrow' || this.#excess > 0 || !this.#holdsWideSlot) return
    this.#holdsWideSlot = false
    this.#wideConnections.release(this)
  }
}

export class NodeBodyWindow {
  readonly #connection: NodeReceiveWindows
  #consumedBytes = 0
  #excess = 0

  constructor(connection: NodeReceiveWindows) {
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
