import type { HeaderFields } from '../../exchange/header-fields.ts'
import type { BodyWindow } from './receive-windows.ts'
import type { StreamHead } from './request-head.ts'

export interface StreamEvents {
  /** Valid during the call. */
  onData(piece: Buffer): void
  onRequestEnd(): void
  /** All queued bytes are written. */
  onDrain(): void
  /** The system has taken the whole response. */
  onSent(): void
  /** Both sides have ended, or one has reset the stream, or the connection is gone. */
  onClose(): void
}

export type OnFlushed = (error?: Error | null) => void

export interface Piece {
  readonly data: Buffer | string
  readonly onFlushed: OnFlushed | undefined
}

export interface Head {
  readonly status: string
  readonly fields: HeaderFields
}

export class Stream {
  readonly id: number
  readonly head: StreamHead
  events: StreamEvents | null = null
  /** How the client broke the protocol, if the gateway has reset the stream for it. */
  fault: string | null = null
  hasRequestEnded: boolean
  /** The bytes of `content-length` that have not come yet; null: no such field. */
  contentLeft: number | null
  bodyWindow: BodyWindow | null = null
  /** Below 0 after a client's setting (RFC 9113 §6.9.2). */
  sendWindow: number
  /** Interim ones, then the final one. */
  readonly heads: Head[] = []
  readonly pieces: Piece[] = []
  /** Written bytes of the first piece. */
  pieceAt = 0
  queuedBytes = 0
  /** The response ends with the queued bytes. */
  isLast = false
  /** END_STREAM has been written. */
  hasResponseEnded = false
  /** The system has taken END_STREAM, or the connection is gone. */
  isSent = false
  isClosed = false
  isQueued = false

  constructor(id: number, head: StreamHead, hasRequestEnded: boolean, sendWindow: number) {
    this.id = id
    this.head = head
    this.hasRequestEnded = hasRequestEnded
    this.contentLeft = head.contentLength
    this.sendWindow = sendWindow
  }

  dropOutput(): void {
    this.heads.length = 0
    this.pieces.length = 0
    this.queuedBytes = 0
    this.isLast = false
  }
}
