import type { HeaderFields } from '../../../exchange/header-fields.ts'
import { copyText } from '../../../lib/buffers.ts'
import { maxTableSize } from '../connection-memory.ts'
import { fieldOverhead } from './field.ts'
import { findStaticName, findStaticStatus } from './static-table.ts'

// A longer value would evict all other entries.
const maxEntryShare = 1 / 4

const indexed = { flags: 0x80, mask: 0x7f }
const withIndexing = { flags: 0x40, mask: 0x3f }
const withoutIndexing = { flags: 0x00, mask: 0x0f }
/** RFC 7541 §7.1.3: no proxy may index it either. */
const neverIndexed = { flags: 0x10, mask: 0x0f }
const sizeUpdate = { flags: 0x20, mask: 0x1f }

type Representation = typeof indexed

/** Fields whose values never repeat. */
const unrepeated: ReadonlySet<string> = new Set([
  'age',
  'content-length',
  'content-range',
  'etag',
  'last-modified',
  'location',
  'set-cookie',
  'x-request-id',
])

interface KnownName {
  readonly name: string
  /** In the static table; 0: none. */
  readonly index: number
  readonly literal: Representation
}

const knownNames = new Map<string, KnownName>()
// Upstreams choose the names, so the cache is bounded.
const maxKnownNames = 1000

const knowName = (spelled: string): KnownName => {
  const found = knownNames.get(spelled)
  if (found !== undefined) return found
  const kept = copyText(spelled)
  const name = kept.toLowerCase()
  const once = unrepeated.has(name) ? withoutIndexing : withIndexing
  const known = { name, index: findStaticName(name), literal: name === 'set-cookie' ? neverIndexed : once }
  if (knownNames.size < maxKnownNames) knownNames.set(kept, known)
  return known
}

interface Entry {
  readonly name: string
  readonly value: string
  /** The number of entries that were inserted before it. */
  readonly nth: number
}

/** RFC 7541, without Huffman codes. */
export class HpackEncoder {
  /** Oldest first. */
  readonly #entries: Entry[] = []
  readonly #newest = new Map<string, Entry>()
  #inserted = 0
  #size = 0
  #maxSize = maxTableSize
  /** The smallest size since the last block; null: unchanged. */
  #smallestSize: number | null = null

  /** Takes the peer's SETTINGS_HEADER_TABLE_SIZE. */
  limitTable(size: number): void {
    // Repeated values are short: a larger table would only cost memory.
    this.#maxSize = Math.min(maxTableSize, size)
    this.#smallestSize = Math.min(this.#smallestSize ?? this.#maxSize, this.#maxSize)
    this.#evict(this.#maxSize)
  }

  /** Needs {@link maxBlockBytes}. Returns the end. */
  encode(out: Buffer, start: number, status: string, fields: HeaderFields): number {
    let at = this.#announceSizes(out, start)
    const statusIndex = findStaticStatus(status)
    if (statusIndex > 0) at = writeInteger(out, at, indexed, statusIndex)
    else at = writeString(out, writeInteger(out, at, withoutIndexing, findStaticName(':status')), status)
    for (let i = 0; i < fields.length; i += 2)
      at = this.#encodeField(out, at, knowName(fields[i] as string), fields[i + 1] as string)
    return at
  }

  #encodeField(out: Buffer, start: number, { name, index, literal }: KnownName, value: string): number {
    let representation = literal
    if (literal === withIndexing) {
      const entry = this.#newest.get(name)
      if (entry?.value === value) return writeInteger(out, start, indexed, 61 + this.#inserted - entry.nth)
      if (!this.#insert(name, value)) representation = withoutIndexing
    }
    let at = writeInteger(out, start, representation, index)
    if (index === 0) at = writeString(out, at, name)
    return writeString(out, at, value)
  }

  /** RFC 7541 §4.2: the smallest size in between is announced too. */
  #announceSizes(out: Buffer, start: number): number {
    if (this.#smallestSize === null) return start
    let at = start
    if (this.#smallestSize < this.#maxSize) at = writeInteger(out, at, sizeUpdate, this.#smallestSize)
    this.#smallestSize = null
    return writeInteger(out, at, sizeUpdate, this.#maxSize)
  }

  #insert(name: string, value: string): boolean {
    const size = fieldOverhead + name.length + value.length
    if (size > this.#maxSize * maxEntryShare) return false
    this.#evict(this.#maxSize - size)
    const entry = { name, value: copyText(value), nth: this.#inserted++ }
    this.#entries.push(entry)
    this.#newest.set(name, entry)
    this.#size += size
    return true
  }

  #evict(size: number): void {
    while (this.#size > size) {
      const { name, value, nth } = this.#entries.shift() as Entry
      if (this.#newest.get(name)?.nth === nth) this.#newest.delete(name)
      this.#size -= fieldOverhead + name.length + value.length
    }
  }
}

// Two integers of HPACK: the length of the value, and the index or the length of the name.
const maxIntegerBytes = 8

export const maxBlockBytes = (fields: HeaderFields): number =>
  fields.reduce((sum, text) => sum + text.length + maxIntegerBytes, 32)

/** RFC 7541 §5.1. */
const writeInteger = (out: Buffer, start: number, { flags, mask }: Representation, value: number): number => {
  let at = start
  if (value < mask) {
    out[at++] = flags | value
    return at
  }
  out[at++] = flags | mask
  let rest = value - mask
  for (; rest >= 0x80; rest >>>= 7) out[at++] = (rest & 0x7f) | 0x80
  out[at++] = rest
  return at
}

const plainString: Representation = { flags: 0, mask: 0x7f }
// Up to here, the loop costs less than a call into C++.
const shortString = 24

const writeString = (out: Buffer, start: number, text: string): number => {
  const { length } = text
  const at = writeInteger(out, start, plainString, length)
  if (length > shortString) out.write(text, at, length, 'latin1')
  else for (let i = 0; i < length; i++) out[at + i] = text.charCodeAt(i)
  return at + length
}
