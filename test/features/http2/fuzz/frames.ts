/** The frames of a sequence: how they are rendered and split, and how they read in words. */
import { createFrame, frameTypes } from '../../../../src/core/downstream/http2/frame.ts'
import { staticTable } from '../../../../src/core/downstream/http2/hpack/static-table.ts'
import { random } from '../../../core/upstream/http1/fuzz/mutate.ts'

export type Draw = ReturnType<typeof random>
export const one = <T>(draw: Draw, of: readonly T[]): T => of[draw(of.length)] as T

export interface Frame {
  readonly type: number
  readonly flags: number
  readonly id: number
  readonly payload: Buffer
}

/** A frame to send. Flags and payload are without PADDED and PRIORITY. */
export interface FuzzFrame extends Frame {
  /** Name, value, name, value, … of HEADERS: `seed` draws how the block is encoded. */
  readonly fields?: readonly string[] | undefined
  readonly seed: number
  readonly priority?: Buffer | undefined
  readonly padding?: number | undefined
  /** Excess of the announced padding, and of the announced frame length. */
  readonly paddingOff?: number
  readonly lengthOff?: number
  /** The number of CONTINUATION frames. */
  readonly continuations?: number
  /** Flags that are turned. */
  readonly turned?: number
}

export const [endHeaders, padded, prioritized] = [0x4, 0x8, 0x20]

const readFrame = (bytes: Buffer): Frame => {
  const [type, flags, id] = [bytes.readUInt8(3), bytes.readUInt8(4), bytes.readUInt32BE(5) & 0x7f_ff_ff_ff]
  return { type, flags, id, payload: bytes.subarray(9, 9 + bytes.readUIntBE(0, 3)) }
}

/** `begun`: the incomplete frame; `rest`: the part of it that has come. */
export const splitFrames = (bytes: Buffer) => {
  const frames: Frame[] = []
  let rest = bytes
  while (rest.length >= 9 && rest.length >= 9 + rest.readUIntBE(0, 3)) {
    const frame = readFrame(rest)
    frames.push(frame)
    rest = rest.subarray(9 + frame.payload.length)
  }
  return { frames, rest, begun: rest.length >= 9 ? readFrame(rest) : null }
}

/** Returns the payload of HEADERS or DATA without padding and priority. */
export const contentOf = ({ type, flags, payload }: Frame): Buffer => {
  const isPadded = type <= 1 && (flags & padded) !== 0
  const from = Number(isPadded) + (type === 1 && (flags & prioritized) !== 0 ? 5 : 0)
  return payload.subarray(from, payload.length - (isPadded ? (payload[0] ?? 0) : 0))
}

/** Renders frames, each as one piece. */
export const renderFrames = (frames: readonly FuzzFrame[]): Buffer[] => {
  const encoder = new RandomEncoder()
  return frames.map((frame) => {
    const { type, id, flags, priority, padding, continuations = 0, lengthOff = 0, paddingOff = 0, turned = 0 } = frame
    const block = frame.fields === undefined ? frame.payload : encoder.encode(frame.fields, random(frame.seed))
    const part = Math.ceil(block.length / (continuations + 1))
    const payload = [priority ?? '', block.subarray(0, part), Buffer.alloc(padding ?? 0)].map((each) =>
      Buffer.from(each),
    )
    if (padding !== undefined) payload.unshift(Buffer.from([padding + paddingOff]))
    const more = (padding === undefined ? 0 : padded) | (priority === undefined ? 0 : prioritized)
    const first = continuations > 0 ? flags & ~endHeaders : flags
    const rendered = [createFrame(type, (first | more) ^ turned, id, Buffer.concat(payload))]
    for (let nth = 1; nth <= continuations; nth++) {
      const piece = block.subarray(nth * part, (nth + 1) * part)
      rendered.push(createFrame(frameTypes.continuation, nth < continuations ? 0 : flags & endHeaders, id, piece))
    }
    const bytes = Buffer.concat(rendered)
    bytes.writeUIntBE((bytes.readUIntBE(0, 3) + lengthOff) & 0xff_ff_ff, 0, 3)
    return bytes
  })
}

/** Writes a frame in words. */
export const describeFrame = ({ type, id, flags, payload: _, turned = 0, seed: _seed, ...rest }: FuzzFrame): string => {
  const [name = `type ${type}`] = Object.entries(frameTypes).flatMap(([key, value]) => (value === type ? [key] : []))
  return `${name} on ${id}, flags ${(flags ^ turned).toString(2)} ${JSON.stringify(rest)}`
}

const staticPlaces = Map.groupBy(staticTable.keys(), (at) => staticTable[at]?.name)

/** Encodes field blocks in drawn representations (RFC 7541 §6), and keeps the resulting table. */
class RandomEncoder {
  readonly #entries: (readonly [name: string, value: string])[] = []
  #maxSize = 4096

  encode(fields: readonly string[], draw: Draw): Buffer {
    const parts: Buffer[] = []
    for (let left = draw(30) === 0 ? 1 + draw(2) + draw(2) : 0; left > 0; left--) {
      this.#maxSize = one(draw, [0, 40, 100, 4096, 4096, 4097])
      parts.push(integer(0x20, 5, this.#maxSize, draw))
      this.#evict()
    }
    for (let at = 0; at < fields.length; at += 2) parts.push(this.#field(fields[at] ?? '', fields[at + 1] ?? '', draw))
    return Buffer.concat(parts)
  }

  #field(name: string, value: string, draw: Draw): Buffer {
    const places = [...(staticPlaces.get(name) ?? [])]
    for (const [at, entry] of this.#entries.entries()) if (entry[0] === name) places.push(staticTable.length + at)
    const valueAt = (at: number) => staticTable[at]?.value ?? this.#entries[at - staticTable.length]?.[1]
    const whole = places.filter((at) => valueAt(at) === value)
    if (whole.length > 0 && draw(4) > 0) return integer(0x80, 7, one(draw, whole) + 1, draw)
    const isIndexed = draw(2) === 0
    const index = places.length > 0 && draw(4) > 0 ? one(draw, places) + 1 : 0
    const literal = isIndexed ? integer(0x40, 6, index, draw) : integer(one(draw, [0, 0x10]), 4, index, draw)
    if (isIndexed) this.#entries.unshift([name, value])
    this.#evict()
    return Buffer.concat([literal, index === 0 ? text(name, draw) : Buffer.alloc(0), text(value, draw)])
  }

  #evict(): void {
    let size = 0
    for (const [at, [name, value]] of this.#entries.entries()) {
      size += 32 + name.length + value.length
      if (size > this.#maxSize) this.#entries.length = at
    }
  }
}

/** RFC 7541 §5.1; sometimes with a byte more than necessary. */
const integer = (prefix: number, bits: number, value: number, draw: Draw): Buffer => {
  const mask = 2 ** bits - 1
  if (value < mask) return Buffer.from([prefix | value])
  const bytes = [prefix | mask]
  let rest = value - mask
  for (; rest >= 128; rest >>>= 7) bytes.push((rest & 127) | 128)
  return Buffer.from(draw(20) === 0 ? [...bytes, rest | 128, 0] : [...bytes, rest])
}

const text = (value: string, draw: Draw): Buffer => {
  const isCoded = draw(2) === 0
  const bytes = isCoded ? encodeHuffman(value) : Buffer.from(value, 'latin1')
  return Buffer.concat([integer(isCoded ? 0x80 : 0, 7, bytes.length, draw), bytes])
}

/**
 * RFC 7541 appendix B: the length of each symbol's code in base 36. The lengths determine the codes, which are
 * canonical.
 */
const codeLengths =
  'dnsssssssoussussssssssusssssssss6aacd68baa8b8666555666666678f6cad67777777777777777777777878djde6f565656665776665' +
  '67655677777fbedskmkkmmmnmnnnnnonoomnonnnnlmnmnnomlkmmnnlnmmolmnnllmlnmnnkmmmnmmnqqkjmnmpqqqrrqopjlqrrqrollqqsrrr' +
  'koklmllnmmppooqnqrqqrrrrrsrrrrrqu'

const codes = (() => {
  const found: string[] = []
  const lengths = [...codeLengths].map((digit) => Number.parseInt(digit, 36))
  let [code, last] = [0, 0]
  for (const [length, symbol] of lengths.map((each, at) => [each, at] as const).sort(([a], [b]) => a - b)) {
    code <<= length - last
    last = length
    found[symbol] = (code++).toString(2).padStart(length, '0')
  }
  return found
})()

const encodeHuffman = (value: string): Buffer => {
  const bits = Array.from(value, (letter) => codes[letter.charCodeAt(0)]).join('')
  const bytes = bits.padEnd(Math.ceil(bits.length / 8) * 8, '1').match(/.{8}/g) ?? []
  return Buffer.from(bytes.map((byte) => Number.parseInt(byte, 2)))
}
