import type { HeaderFields } from '../../exchange/header-fields.ts'
import type { BodyWindow } from './receive-windows.ts'
import type { StreamHead } from './request-head.ts'

/** What a stream tells its owner. */
export interface StreamEvents {
  /** A piece of the body, valid during the call. */
  onData(piece: Buffer): void
  onRequestEnd(): void
  /** All that was queued has been written. */
  onDrain(): void
  /** The system has taken the whole response. */
  onSent(): void
  /** Nothing comes or goes any more: both sides have ended, or one has reset it, or the connection is gone. */
  onClose(): void
}

export type OnFlushed = (error?: Error | null) => void

/** A piece of a body that waits to be sent. */
export interface Piece {
  readonly data: Buffer | string
  readonly onFlushed: OnFlushed | undefined
}

export interface Head {
  readonly status: string
  readonly fields: HeaderFields
}

/** A request and its response: their state, and what waits to be sent. */
export class Stream {
  readonly id: number
  readonly head: StreamHead
  events: StreamEvents | null = null
  /** Why the gateway has reset it, if the client has broken the protocol. */
  fault: string | null = null
  hasRequestEnded: boolean
  /** Of `content-length`, what has not come yet; null: the request has none. */
  contentLeft: number | null
  /** What the client may send of the body; null: there is none. */
  bodyWindow: BodyWindow | null = null
  /** What the client takes; below 0 after a setting of its own (RFC 9113 §6.9.2). */
  sendWindow: number
  /** Interim ones, and the last. */
  readonly heads: Head[] = []
  readonly pieces: Piece[] = []
  /** How many bytes of the first piece are written. */
  pieceAt = 0
  queuedBytes = 0
  /** The response ends with what is queued. */
  isLast = false
  /** END_STREAM has been written. */
  hasResponseEnded = false
  /** The system has taken it, or the connection is gone. */
  isSent = false
  /** Its owner knows that nothing comes or goes any more. */
  isClosed = false
  /** Whether it waits in the queue of the sender. */
  isQueued = false

  constructor(id: number, head: StreamHead, hasRequestEnded: boolean, sendWindow: number) {
    this.id = id
    this.head = head
    this.hasRequestEnded = hasRequestEnded
    this.contentLeft = head.contentLength
    this.sendWindow = sendWindow
  }

  /** Nothing of what waits is sent. */
  dropOutput(): void {
    this.heads.length = 0
    this.pieces.length = 0
    this.queuedBytes = 0
    this.isLast = false
  }
}
