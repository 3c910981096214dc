import { freeBuffer } from '../../buffers.ts'

/** A piece of memory of a log. */
interface Segment {
  readonly number: number
  readonly memory: Buffer
  /** How many of its bytes have been given to entries. */
  used: number
  next: Segment | null
}

// As much as is worth giving back to the system.
const segmentBytes = 256 * 1024

// A place is one number: that of the segment times this, and where in it the entry begins.
const placesPerSegment = 2 ** 22

// Before each entry stand its length and whether it was removed.
const headerBytes = 8
const isRemovedAt = 4

/** The memory of several logs. A place names an entry among those of all of them. */
export class LogMemory {
  readonly #segments = new Map<number, Segment>()
  #last = 0

  /** How many pieces of memory there are. */
  get segments(): number {
    return this.#segments.size
  }

  /** Opens a piece for an entry of so many bytes, its header included. */
  open(bytes: number): Segment {
    const memory = Buffer.allocUnsafeSlow(Math.max(bytes, segmentBytes))
    const segment = { number: ++this.#last, memory, used: 0, next: null }
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

  /** Returns how many bytes an entry has. */
  lengthOf(place: number): number {
    return this.memoryOf(place).readUInt32LE(positionOf(place) - headerBytes) - headerBytes
  }
}

/** Returns where an entry begins in its memory. */
export const positionOf = (place: number): number => place % placesPerSegment

/**
 * Entries of bytes in the order in which they were added, in few large pieces of memory: to the collector, a hundred
 * thousand entries are a handful of objects. Those that are removed give their memory back when all before them are
 * removed, too. So it is for entries that end in the order in which they came, but for a few.
 */
export class ByteLog {
  readonly #memory: LogMemory
  /** The piece with the first entry that was not removed, and where its header stands; null: none was added yet. */
  #first: Segment | null = null
  #firstAt = 0
  #last: Segment | null = null

  constructor(memory: LogMemory) {
    this.#memory = memory
  }

  /** Adds an entry of so many bytes, and returns its place. The caller writes what is in it. */
  add(bytes: number): number {
    const length = headerBytes + bytes
    const last = this.#last
    const segment = last !== null && last.used + length <= last.memory.length ? last : this.#open(length)
    const at = segment.used
    segment.used += length
    segment.memory.writeUInt32LE(length, at)
    segment.memory[at + isRemovedAt] = 0
    return segment.number * placesPerSegment + at + headerBytes
  }

  /** Removes an entry, which must not have been removed before. */
  remove(place: number): void {
    const { memory } = this.#memory.segmentOf(place)
    memory[positionOf(place) - headerBytes + isRemovedAt] = 1
    this.#skipRemoved()
  }

  /** Returns the place of the first entry; null: there is none. */
  first(): number | null {
    return this.#first && this.#placeIn(this.#first, this.#firstAt)
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
    return segment && this.#placeIn(segment, at)
  }

  /** Gives its memory back. Its entries are gone. */
  close(): void {
    for (let segment = this.#first; segment !== null; segment = segment.next) this.#memory.close(segment)
    this.#first = this.#last = null
  }

  #placeIn(segment: Segment, at: number): number | null {
    return at === segment.used ? null : segment.number * placesPerSegment + at + headerBytes
  }

  #open(length: number): Segment {
    const segment = this.#memory.open(length)
    if (this.#last === null) {
      this.#first = segment
      this.#firstAt = 0
    } else this.#last.next = segment
    this.#last = segment
    this.#skipRemoved()
    return segment
  }

  #skipRemoved(): void {
    for (;;) {
      const first = this.#first
      if (first === null) return
      if (this.#firstAt < first.used) {
        if (first.memory[this.#firstAt + isRemovedAt] !== 1) return
        this.#firstAt += first.memory.readUInt32LE(this.#firstAt)
      } else if (first.next !== null) {
        this.#first = first.next
        this.#firstAt = 0
        this.#memory.close(first)
      } else return // the next entry goes there
    }
  }
}
