/** A client of HTTP/2 that sends as much as it may: it keeps the windows of RFC 9113 §6.9 as the gateway gives them. */
import { type Frame, type FrameClient, frame } from './http2.ts'

const initialWindowBytes = 65_535
const maxFrameBytes = 16_384

/**
 * Whether a frame makes windows wide: Node's codec says so to all streams, in SETTINGS of one setting (those at the
 * beginning have two); the gateway's own to the stream that needs it.
 */
export const isWidening = ({ type, stream, payload }: Frame): boolean =>
  type === 4 ? payload.length === 6 : type === 8 && stream > 0 && payload.readUInt32BE(0) > 1024 * 1024

/** Reads what a connection may send from the frames that came on it. */
export class FlowControlWindows {
  readonly #client: FrameClient
  readonly #sent = new Map<number, number>()
  readonly #obeys: boolean
  #acknowledged = 0
  #pings = 0
  sentBytes = 0

  /** `obeys` false: from the SETTINGS on that narrow a window, none are followed, nor acknowledged. */
  constructor(client: FrameClient, obeys = true) {
    this.#client = client
    this.#obeys = obeys
  }

  /** What a stream may send now, in bytes. */
  of(stream: number): number {
    return Math.min(this.#window(stream), this.#given(0) + initialWindowBytes - this.sentBytes)
  }

  /** Sends all that a stream may send, up to a number of bytes. Returns how many went out. */
  async spend(stream: number, most = Number.POSITIVE_INFINITY): Promise<number> {
    const bytes = Math.min(most, Math.max(0, this.of(stream)))
    const frames: Buffer[] = []
    for (let left = bytes; left > 0; left -= maxFrameBytes)
      frames.push(frame(0, 0, stream, Buffer.alloc(Math.min(left, maxFrameBytes))))
    this.#sent.set(stream, (this.#sent.get(stream) ?? 0) + bytes)
    this.sentBytes += bytes
    if (bytes > 0) await this.#client.send(...frames)
    return bytes
  }

  /** Waits until the gateway has read what was sent, and what it had to say of it has come; obeys its SETTINGS. */
  async round(): Promise<void> {
    const payload = Buffer.alloc(8)
    payload.writeUInt32BE(++this.#pings)
    await this.#client.send(frame(6, 0, 0, payload))
    const response = (each: Frame): boolean => each.type === 6 && (each.flags & 1) === 1 && each.payload.equals(payload)
    if ((await this.#client.frame(response)) === undefined) throw new Error('the connection has ended')
    const due = this.#settings().length
    for (; this.#acknowledged < due; this.#acknowledged++) await this.#client.send(frame(4, 1, 0))
  }

  #window(stream: number): number {
    return this.#initial() + this.#given(stream) - (this.#sent.get(stream) ?? 0)
  }

  #initial(): number {
    return this.#settings().at(-1) ?? initialWindowBytes
  }

  /** Lists the windows that SETTINGS have named, as far as this client follows them. */
  #settings(): number[] {
    const windows: number[] = []
    for (const { type, flags, payload } of this.#client.frames) {
      if (type !== 4 || (flags & 1) === 1) continue
      const before = windows.at(-1) ?? initialWindowBytes
      let window = before
      for (let at = 0; at < payload.length; at += 6)
        if (payload.readUInt16BE(at) === 4) window = payload.readUInt32BE(at + 2)
      if (window < before && !this.#obeys) break
      windows.push(window)
    }
    return windows
  }

  #given(stream: number): number {
    let bytes = 0
    for (const each of this.#client.frames)
      if (each.type === 8 && each.stream === stream) bytes += each.payload.readUInt32BE()
    return bytes
  }
}
