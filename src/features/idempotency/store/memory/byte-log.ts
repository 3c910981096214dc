import { freeBuffer } from '../../../../core/lib/buffers.ts'

interface Segment {
  readonly number: number
  readonly memory: Buffer
  /** How many of its bytes have been given to entries. */
  used: number
  /** How many of these are of entries that were not removed. */
  live: number
  /** All entries before this were removed. */
  from: number
  previous: Segment | null
  next: Segment | null
}

// As much as is worth giving back to the system.
const usualSegmentBytes = 256 * 1024

// A place is one number: that of the segment times this, and where in it the entry begins.
const placesPerSegment = 2 ** 22

// Before each entry stand its length and whether it was removed.
const headerBytes = 8
const isRemovedAt = 4

/** The memory of several logs. A place names an entry among those of all of them. */
export class LogMemory {
  readonly #segments = new Map<number, Segment>()
  readonly #segmentBytes: number
  #last = 0

  /** A longer entry has a piece of its own. */
  constructor(segmentBytes = usualSegmentBytes) {
    this.#segmentBytes = segmentBytes
  }

  get segments(): number {
    return this.#segments.size
  }

  /** Opens a piece for an entry of so many bytes, its header included. */
  open(bytes: number): Segment {
    const memory = Buffer.allocUnsafeSlow(Math.max(bytes, this.#segmentBytes))
    const segment: Segment = { number: ++this.#last, memory, used: 0, live: 0, from: 0, previous: null, next: null }
    this.#segments.set(segment.number, segment)
    return segment
  }

  close({ number, memory }: Segment): void {
    this.#segments.delete(number)
    freeBuffer(memory)
  }

  /** Finds the piece of an entry that was not removed. */
  segmentOf(place: number): Segment {
    return this.#segments.get(Math.floor(place / placesPerSegment)) as Segment
  }

  /** Returns the memory that an entry is in. It begins there at {@link positionOf} its place. */
  memoryOf(place: number): Buffer {
    return this.segmentOf(place).memory
  }

  lengthOf(place: number): number {
    return this.memoryOf(place).readUInt32LE(positionOf(place) - headerBytes) - headerBytes
  }

  /** Reads the double that stands in an entry, so many bytes behind its beginning. */
  readNumber(place: number, offset: number): number {
    return this.memoryOf(place).readDoubleLE(positionOf(place) + offset)
  }

  writeNumber(place: number, offset: number, value: number): void {
    this.memoryOf(place).writeDoubleLE(value, positionOf(place) + offset)
  }
}

/** Returns where an entry begins in its memory. */
export const positionOf = (place: number): number => place % placesPerSegment

/** Called when an entry has got another place, where its bytes are by now. It adds and removes none. */
type OnMoved = (from: number, to: number) => void

/**
 * Entries of bytes in the order in which they were added, in few large pieces of memory: to the collector, a hundred
 * thousand entries are a handful of objects. A piece without entries is given back, and one takes the entries of the
 * next when both together are half of it at most. So at least a quarter of the memory is of entries, but for the last
 * two pieces, whichever entries are removed.
 */
export class ByteLog {
  readonly #memory: LogMemory
  readonly #onMoved: OnMoved
  /** Every piece but the last has an entry. */
  #first: Segment | null = null
  #last: Segment | null = null

  constructor(memory: LogMemory, onMoved: OnMoved) {
    this.#memory = memory
    this.#onMoved = onMoved
  }

  /** Adds an entry of so many bytes, and returns its place. The caller writes what is in it. */
  add(bytes: number): number {
    const length = headerBytes + bytes
    const last = this.#last
    const segment = last !== null && last.used + length <= last.memory.length ? last : this.#open(length)
    const at = segment.used
    segment.used += length
    segment.live += length
    segment.memory.writeUInt32LE(length, at)
    segment.memory[at + isRemovedAt] = 0
    return placeIn(segment, at)
  }

  /** Removes an entry, which must not have been removed before. Others may get another place. */
  remove(place: number): void {
    const segment = this.#memory.segmentOf(place)
    const at = positionOf(place) - headerBytes
    segment.memory[at + isRemovedAt] = 1
    segment.live -= segment.memory.readUInt32LE(at)
    if (segment !== this.#last) this.#tidy(segment)
  }

  first(): number | null {
    const first = this.#first
    if (first === null || first.live === 0) return null
    while (first.memory[first.from + isRemovedAt] === 1) first.from += first.memory.readUInt32LE(first.from)
    return placeIn(first, first.from)
  }

  /** Returns the place of the entry that was added next after one that was not removed; null: that is the last one. */
  next(place: number): number | null {
    let segment: Segment | null = this.#memory.segmentOf(place)
    let at = positionOf(place) - headerBytes
    do {
      at += segment.memory.readUInt32LE(at)
      if (at === segment.used) {
        segment = segment.next
        at = 0
      }
    } while (segment !== null && segment.memory[at + isRemovedAt] === 1)
    return segment && placeIn(segment, at)
  }

  /** Gives its memory back. Its entries are gone. */
  close(): void {
    for (let segment = this.#first; segment !== null; segment = segment.next) this.#memory.close(segment)
    this.#first = this.#last = null
  }

  #open(length: number): Segment {
    const segment = this.#memory.open(length)
    const before = this.#last
    this.#last = segment
    if (before === null) this.#first = segment
    else {
      segment.previous = before
      before.next = segment
      this.#tidy(before)
    }
    return segment
  }

  /** Gives a piece back that is empty, and joins what is left of neighbours. It is not the last one, which grows. */
  #tidy(segment: Segment): void {
    const { previous } = segment
    if (segment.live === 0) this.#unlink(segment)
    else this.#absorb(segment)
    if (previous !== null) this.#absorb(previous)
  }

  /**
   * Moves the entries of the pieces behind into this one, as long as they are few. Half of it stays free. Otherwise
   * each piece would be moved to behind the last entry of the one before.
   */
  #absorb(into: Segment): void {
    for (let next = into.next; next !== null && next !== this.#last; next = into.next) {
      if ((into.live + next.live) * 2 > into.memory.length) return
      const end = this.#move(into, into, 0)
      into.used = this.#move(next, into, end)
      into.live = into.used
      into.from = 0
      this.#unlink(next)
    }
  }

  /** Moves the entries of a piece into another, or down in the same, from `to` on. Returns where they end. */
  #move(source: Segment, target: Segment, to: number): number {
    let end = to
    for (let at = 0, length = 0; at < source.used; at += length) {
      length = source.memory.readUInt32LE(at)
      if (source.memory[at + isRemovedAt] === 1) continue
      const [before, after] = [placeIn(source, at), placeIn(target, end)]
      source.memory.copy(target.memory, end, at, at + length)
      if (before !== after) this.#onMoved(before, after)
      end += length
    }
    return end
  }

  #unlink(segment: Segment): void {
    const { previous, next } = segment
    if (previous === null) this.#first = next
    else previous.next = next
    if (next !== null) next.previous = previous
    this.#memory.close(segment)
  }
}

/** Returns the place of the entry whose header stands at `at`. */
const placeIn = ({ number }: Segment, at: number): number => number * placesPerSegment + at + headerBytes
