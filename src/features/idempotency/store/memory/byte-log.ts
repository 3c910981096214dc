import { freeBuffer } from '../../../../core/lib/buffers.ts'

interface Segment {
  readonly number: number
  readonly memory: Buffer
  used: number // given to entries
  live: number // of entries that were not removed
  from: number // all entries before it were removed
  previous: Segment | null
  next: Segment | null
}

// Large enough to be worth returning to the system.
const usualSegmentBytes = 256 * 1024

// A place: the segment's number × this + the entry's offset.
const placesPerSegment = 2 ** 22

// Before each entry: its length, and whether it was removed.
const headerBytes = 8
const isRemovedAt = 4

/** Places are unique among logs, and invalid after removal. A longer entry gets its own segment. */
export const createLogMemory = (segmentBytes = usualSegmentBytes) => {
  const segments = new Map<number, Segment>()
  let last = 0
  const segmentOf = (place: number): Segment => segments.get(Math.floor(place / placesPerSegment)) as Segment
  /** The entry starts at {@link positionOf} its place. */
  const memoryOf = (place: number): Buffer => segmentOf(place).memory
  return {
    ...{ segments, segmentOf, memoryOf },
    open(bytes: number): Segment {
      const memory = Buffer.allocUnsafeSlow(Math.max(bytes, segmentBytes))
      const segment: Segment = { number: ++last, memory, used: 0, live: 0, from: 0, previous: null, next: null }
      segments.set(segment.number, segment)
      return segment
    },
    close({ number, memory }: Segment): void {
      segments.delete(number)
      freeBuffer(memory)
    },
    lengthOf: (place: number): number => memoryOf(place).readUInt32LE(positionOf(place) - headerBytes) - headerBytes,
    readNumber: (place: number, offset: number): number => memoryOf(place).readDoubleLE(positionOf(place) + offset),
    writeNumber(place: number, offset: number, value: number): void {
      memoryOf(place).writeDoubleLE(value, positionOf(place) + offset)
    },
  }
}

export type LogMemory = ReturnType<typeof createLogMemory>

export const positionOf = (place: number): number => place % placesPerSegment

/** The log moved an entry's bytes. Must not add or remove entries. */
type OnMoved = (from: number, to: number) => void

export type ByteLog = ReturnType<typeof createByteLog>

/**
 * Entries in order, in few segments, because 100,000 objects would keep the garbage collector busy. A segment absorbs
 * the next while both fill at most half, so entries fill at least a quarter of all but the last two.
 */
export const createByteLog = (memory: LogMemory, onMoved: OnMoved) => {
  /** Every segment except the last has an entry that was not removed. */
  let first: Segment | null = null
  let last: Segment | null = null

  const unlink = (segment: Segment): void => {
    const { previous, next } = segment
    if (previous === null) first = next
    else previous.next = next
    if (next !== null) next.previous = previous
    memory.close(segment)
  }

  /** Only while both fill at most half: otherwise each removal would move a segment. */
  const absorb = (into: Segment): void => {
    for (let next = into.next; next !== null && next !== last; next = into.next) {
      if ((into.live + next.live) * 2 > into.memory.length) return
      into.used = moveEntries(next, into, moveEntries(into, into, 0, onMoved), onMoved)
      into.live = into.used
      into.from = 0
      unlink(next)
    }
  }

  /** Frees an empty segment, or merges it with its neighbors. Not for the last, which grows. */
  const tidy = (segment: Segment): void => {
    const { previous } = segment
    if (segment.live === 0) unlink(segment)
    else absorb(segment)
    if (previous !== null) absorb(previous)
  }

  const open = (length: number): Segment => {
    const segment = memory.open(length)
    const before = last
    last = segment
    if (before === null) first = segment
    else {
      segment.previous = before
      before.next = segment
      tidy(before)
    }
    return segment
  }

  return {
    /** Returns the place for the caller to fill. */
    add(bytes: number): number {
      const length = headerBytes + bytes
      const segment = last !== null && last.used + length <= last.memory.length ? last : open(length)
      const at = segment.used
      segment.used += length
      segment.live += length
      segment.memory.writeUInt32LE(length, at)
      segment.memory[at + isRemovedAt] = 0
      return placeIn(segment, at)
    },
    /** Other entries may move. */
    remove(place: number): void {
      const segment = memory.segmentOf(place)
      const at = positionOf(place) - headerBytes
      segment.memory[at + isRemovedAt] = 1
      segment.live -= segment.memory.readUInt32LE(at)
      if (segment !== last) tidy(segment)
    },
    first(): number | null {
      if (first === null || first.live === 0) return null
      while (first.memory[first.from + isRemovedAt] === 1) first.from += first.memory.readUInt32LE(first.from)
      return placeIn(first, first.from)
    },
    /** Null: it is the last. */
    next(place: number): number | null {
      let segment: Segment | null = memory.segmentOf(place)
      let at = positionOf(place) - headerBytes
      do {
        at += segment.memory.readUInt32LE(at)
        if (at === segment.used) {
          segment = segment.next
          at = 0
        }
      } while (segment !== null && segment.memory[at + isRemovedAt] === 1)
      return segment && placeIn(segment, at)
    },
    close(): void {
      for (let segment = first; segment !== null; segment = segment.next) memory.close(segment)
      first = last = null
    },
  }
}

/** Into another segment, or down in the same. Returns the end of the moved entries. */
const moveEntries = (source: Segment, target: Segment, to: number, onMoved: OnMoved): number => {
  let end = to
  for (let at = 0, length = 0; at < source.used; at += length) {
    length = source.memory.readUInt32LE(at)
    if (source.memory[at + isRemovedAt] === 1) continue
    const [before, after] = [placeIn(source, at), placeIn(target, end)]
    source.memory.copy(target.memory, end, at, at + length)
    if (before !== after) onMoved(before, after)
    end += length
  }
  return end
}

const placeIn = ({ number }: Segment, at: number): number => number * placesPerSegment + at + headerBytes
