import type { ReasonFor } from '../../exchange/failures/errors.ts'

/** RFC 9113 §7. */
export const errorCodes = {
  noError: 0x0,
  protocolError: 0x1,
  internalError: 0x2,
  flowControlError: 0x3,
  settingsTimeout: 0x4,
  streamClosed: 0x5,
  frameSizeError: 0x6,
  refusedStream: 0x7,
  cancel: 0x8,
  compressionError: 0x9,
  connectError: 0xa,
  enhanceYourCalm: 0xb,
} as const

export type ErrorCode = (typeof errorCodes)[keyof typeof errorCodes]

/** Ends the connection (RFC 9113 §5.4.1). */
export class ConnectionError extends Error {
  readonly code: ErrorCode
  readonly reason: ReasonFor<'bad-request'>

  constructor(code: ErrorCode, message: string, reason: ReasonFor<'bad-request'> = 'bad-frames') {
    super(message)
    this.code = code
    this.reason = reason
  }
}

export const protocolError = (message: string): ConnectionError =>
  new ConnectionError(errorCodes.protocolError, message)
