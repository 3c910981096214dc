import { createFrame, flags, frameTypes, maxFrameBytes, maxWindow } from './frame.ts'
import { ConnectionError, errorCodes } from './http2-error.ts'

/** RFC 9113 §6.5.2. */
const names = {
  headerTableSize: 0x1,
  enablePush: 0x2,
  maxConcurrentStreams: 0x3,
  initialWindowSize: 0x4,
  maxFrameSize: 0x5,
  maxHeaderListSize: 0x6,
} as const

const settingBytes = 6

/** Settings that differ from their defaults. */
export const renderSettings = (settings: {
  readonly maxConcurrentStreams: number
  readonly maxListSize: number
}): Buffer => {
  const payload = Buffer.alloc(2 * settingBytes)
  payload.writeUInt16BE(names.maxConcurrentStreams, 0)
  payload.writeUInt32BE(settings.maxConcurrentStreams, 2)
  payload.writeUInt16BE(names.maxHeaderListSize, settingBytes)
  payload.writeUInt32BE(settings.maxListSize, settingBytes + 2)
  return createFrame(frameTypes.settings, 0, 0, payload)
}

/** The settings of a client that the gateway obeys. The last of several values counts. */
export interface ClientSettings {
  readonly headerTableSize?: number
  /** RFC 7541 §4.2: of several values in one frame. */
  readonly smallestTableSize?: number
  readonly initialWindowSize?: number
}

/** Throws {@link ConnectionError}. Unknown settings are ignored. */
export const readSettings = (payload: Buffer): ClientSettings => {
  if (payload.length % settingBytes !== 0)
    throw new ConnectionError(errorCodes.frameSizeError, 'SETTINGS of a wrong length')
  const settings: { headerTableSize?: number; smallestTableSize?: number; initialWindowSize?: number } = {}
  for (let at = 0; at < payload.length; at += settingBytes) {
    const value = payload.readUInt32BE(at + 2)
    switch (payload.readUInt16BE(at)) {
      case names.headerTableSize:
        settings.headerTableSize = value
        settings.smallestTableSize = Math.min(settings.smallestTableSize ?? value, value)
        break
      case names.enablePush:
        if (value > 1) throw new ConnectionError(errorCodes.protocolError, 'ENABLE_PUSH above 1')
        break
      case names.initialWindowSize:
        if (value > maxWindow) throw new ConnectionError(errorCodes.flowControlError, 'INITIAL_WINDOW_SIZE too large')
        settings.initialWindowSize = value
        break
      case names.maxFrameSize:
        // The gateway sends no frame above the smallest value.
        if (value < maxFrameBytes || value >= 2 ** 24)
          throw new ConnectionError(errorCodes.protocolError, 'MAX_FRAME_SIZE out of its range')
        break
      default:
    }
  }
  return settings
}

export const settingsAck = createFrame(frameTypes.settings, flags.ack, 0, Buffer.alloc(0))
