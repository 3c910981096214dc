import { flags, frameHeadBytes, frameTypes, maxFrameBytes, writeFrameHead } from './frame.ts'
import { HpackEncoder, maxBlockBytes } from './hpack/encoder.ts'
import type { Head } from './stream.ts'

/** The most bytes that {@link HeadWriter.write} takes, heads of frames included. */
export const maxHeadBytes = ({ fields }: Head): number => {
  const blockBytes = maxBlockBytes(fields)
  return blockBytes + frameHeadBytes * (1 + Math.floor(blockBytes / maxFrameBytes))
}

/** HEADERS, and CONTINUATION where the block is longer than a frame (RFC 9113 §4.3). */
export class HeadWriter {
  readonly #encoder = new HpackEncoder()

  limitTable(size: number): void {
    this.#encoder.limitTable(size)
  }

  write(out: Buffer, start: number, id: number, { status, fields }: Head): number {
    const most = maxBlockBytes(fields)
    if (most > maxFrameBytes) return this.#writeLong(out, start, id, { status, fields }, most)
    const from = start + frameHeadBytes
    const end = this.#encoder.encode(out, from, status, fields)
    writeFrameHead(out, start, end - from, frameTypes.headers, flags.endHeaders, id)
    return end
  }

  #writeLong(out: Buffer, start: number, id: number, { status, fields }: Head, most: number): number {
    const block = Buffer.allocUnsafe(most)
    const length = this.#encoder.encode(block, 0, status, fields)
    let at = start
    for (let from = 0; from < length; from += maxFrameBytes) {
      const to = Math.min(length, from + maxFrameBytes)
      const type = from === 0 ? frameTypes.headers : frameTypes.continuation
      at = writeFrameHead(out, at, to - from, type, to === length ? flags.endHeaders : 0, id)
      at += block.copy(out, at, from, to)
    }
    return at
  }
}
