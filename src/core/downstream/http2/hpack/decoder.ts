import { noBytes } from '../../../lib/buffers.ts'
import { maxTableSize } from '../connection-memory.ts'
import { ConnectionError, errorCodes } from '../http2-error.ts'
import { createHpackField, fieldOverhead, type HpackField, kindOfName } from './field.ts'
import { decodeHuffman } from './huffman.ts'
import { staticNameKinds, staticTable } from './static-table.ts'

// Each entry counts at least 32 bytes.
const ringLength = maxTableSize / fieldOverhead
// RFC 7541 §4.2: the smallest size in between, and the last.
const maxSizeUpdates = 2
// Of seven bits each, behind the prefix: far above any length in a block.
const maxIntegerBytes = 4

const broken = (message: string): ConnectionError => new ConnectionError(errorCodes.compressionError, message)

/** RFC 7541. Blocks of rejected requests are decoded too: later blocks refer to their entries. */
export class HpackDecoder {
  /** The newest entry is before `#next`. */
  readonly #ring: (HpackField | undefined)[] = new Array(ringLength).fill(undefined)
  #next = 0
  #count = 0
  #size = 0
  #maxSize = maxTableSize
  readonly #onResize: () => void
  // The block that is being decoded.
  #bytes: Buffer = noBytes
  #at = 0
  #end = 0

  /** `onResize`: the client has changed the size of the table. */
  constructor(onResize: () => void = () => {}) {
    this.#onResize = onResize
  }

  get tableSize(): number {
    return this.#size
  }

  /**
   * Appends the fields of a block to `fields`. False: longer than `maxListSize` (RFC 9113 §6.5.2), and only the
   * beginning is appended. Throws {@link ConnectionError}.
   */
  decode(bytes: Buffer, from: number, to: number, fields: HpackField[], maxListSize: number): boolean {
    this.#bytes = bytes
    this.#at = from
    this.#end = to
    let listSize = 0
    let sizeUpdates = 0
    while (this.#at < to) {
      const byte = bytes[this.#at] as number
      if ((byte & 0xe0) === 0x20) {
        if (listSize > 0) throw broken('a table size update behind a field')
        if (++sizeUpdates > maxSizeUpdates) throw broken('a third table size update in a block')
        this.#resize(this.#readInteger(0x1f))
        continue
      }
      const field = this.#readField(byte)
      listSize += field.size
      if (listSize <= maxListSize) fields.push(field)
    }
    this.#bytes = noBytes
    return listSize <= maxListSize
  }

  #readField(byte: number): HpackField {
    if (byte >= 0x80) return this.#lookUp(this.#readInteger(0x7f))
    if (byte < 0x40) return this.#readLiteral(0x0f)
    const field = this.#readLiteral(0x3f)
    this.#insert(field)
    return field
  }

  #readLiteral(mask: number): HpackField {
    const index = this.#readInteger(mask)
    const name = index === 0 ? this.#readString() : this.#lookUp(index).name
    const kind = index > 0 && index <= staticTable.length ? staticNameKinds[index - 1] : kindOfName(name)
    return createHpackField(name, this.#readString(), kind)
  }

  #lookUp(index: number): HpackField {
    if (index === 0) throw broken('an index of 0')
    if (index <= staticTable.length) return staticTable[index - 1] as HpackField
    const age = index - staticTable.length
    if (age > this.#count) throw broken('an index beyond the tables')
    return this.#ring[(this.#next - age + ringLength) % ringLength] as HpackField
  }

  #insert(field: HpackField): void {
    // RFC 7541 §4.4: a field larger than the table empties it.
    this.#evict(Math.max(0, this.#maxSize - field.size))
    if (field.size > this.#maxSize) return
    this.#ring[this.#next] = field
    this.#next = (this.#next + 1) % ringLength
    this.#count++
    this.#size += field.size
  }

  #resize(size: number): void {
    if (size > maxTableSize) throw broken('a table size above the limit')
    if (size !== this.#maxSize) this.#onResize()
    this.#maxSize = size
    this.#evict(size)
  }

  #evict(size: number): void {
    while (this.#size > size) {
      const oldest = (this.#next - this.#count + ringLength) % ringLength
      this.#size -= this.#ring[oldest]?.size ?? 0
      this.#ring[oldest] = undefined
      this.#count--
    }
  }

  /** RFC 7541 §5.1. */
  #readInteger(mask: number): number {
    let value = this.#readByte() & mask
    if (value < mask) return value
    for (let nth = 0; nth < maxIntegerBytes; nth++) {
      const byte = this.#readByte()
      value += (byte & 0x7f) << (7 * nth)
      if (byte < 0x80) return value
    }
    throw broken('an integer that is too large')
  }

  #readString(): string {
    const isHuffman = (this.#bytes[this.#at] as number) >= 0x80
    const length = this.#readInteger(0x7f)
    const from = this.#at
    const to = from + length
    if (to > this.#end) throw broken('a string that ends early')
    this.#at = to
    return isHuffman ? decodeHuffman(this.#bytes, from, to) : this.#bytes.toString('latin1', from, to)
  }

  #readByte(): number {
    if (this.#at >= this.#end) throw broken('a block that ends early')
    return this.#bytes[this.#at++] as number
  }
}
