/** RFC 9113 §6; `priorityUpdate`: RFC 9218 §7.1. */
export const frameTypes = {
  data: 0x0,
  headers: 0x1,
  priority: 0x2,
  rstStream: 0x3,
  settings: 0x4,
  pushPromise: 0x5,
  ping: 0x6,
  goAway: 0x7,
  windowUpdate: 0x8,
  continuation: 0x9,
  priorityUpdate: 0x10,
} as const

/** 1 is END_STREAM of DATA and HEADERS, and ACK of SETTINGS and PING. */
export const flags = { endStream: 0x1, ack: 0x1, endHeaders: 0x4, padded: 0x8, priority: 0x20 } as const

export const frameHeadBytes = 9

/** The default of SETTINGS_MAX_FRAME_SIZE (RFC 9113 §6.5.2). The gateway sends and takes no larger frame. */
export const maxFrameBytes = 16_384

/** For each stream and for the connection (RFC 9113 §6.9.2). */
export const initialWindow = 65_535

export const maxWindow = 2 ** 31 - 1

/** RFC 9113 §4.1. Returns the end. */
export const writeFrameHead = (
  out: Buffer,
  at: number,
  length: number,
  type: number,
  frameFlags: number,
  streamId: number,
): number => {
  out[at] = length >>> 16
  out[at + 1] = length >>> 8
  out[at + 2] = length
  out[at + 3] = type
  out[at + 4] = frameFlags
  out[at + 5] = streamId >>> 24
  out[at + 6] = streamId >>> 16
  out[at + 7] = streamId >>> 8
  out[at + 8] = streamId
  return at + frameHeadBytes
}

export const createFrame = (type: number, frameFlags: number, streamId: number, payload: Uint8Array): Buffer => {
  const frame = Buffer.allocUnsafe(frameHeadBytes + payload.length)
  frame.set(payload, writeFrameHead(frame, 0, payload.length, type, frameFlags, streamId))
  return frame
}

export const createNumberFrame = (type: number, streamId: number, value: number): Buffer => {
  const frame = Buffer.allocUnsafe(frameHeadBytes + 4)
  frame.writeUInt32BE(value, writeFrameHead(frame, 0, 4, type, 0, streamId))
  return frame
}

/** The bit before the 31 is reserved. */
export const readUint31 = (bytes: Buffer, at: number): number => bytes.readUInt32BE(at) & 0x7f_ff_ff_ff
