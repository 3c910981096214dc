import type { Socket } from 'node:net'
import { maxWriteBytes } from './connection-memory.ts'
import type { FloodBudget } from './flood-budget.ts'
import { flags, frameHeadBytes, frameTypes, initialWindow, maxFrameBytes, maxWindow, writeFrameHead } from './frame.ts'
import { claimMemory, freeMemory, reserveMemory } from './frame-memory.ts'
import { HeadWriter, maxHeadBytes } from './head-writer.ts'
import type { Piece, Stream } from './stream.ts'
import { type UntakenWrite, UntakenWrites } from './untaken-writes.ts'
import { WaitingFrames } from './waiting-frames.ts'

// CVE-2019-9511: a piece that a small window has cut shorter pays for no WINDOW_UPDATE.
const minPayingBytes = 64

const flagsOffset = 4

interface SenderEvents {
  /** END_STREAM is in the next write. */
  onEndRendered(stream: Stream): void
  /** The system has taken END_STREAM. */
  onEndWritten(stream: Stream, error: Error | null): void
}

let due: FrameSender[] = []
const flushDue = (): void => {
  const senders = due
  due = []
  for (const sender of senders) sender.flush()
}

/**
 * Writes all frames of a turn in one piece, control frames first. Streams take turns by frames of 16 KiB, as far as the
 * client's windows are open (RFC 9113 §5.2).
 */
export class FrameSender {
  readonly #socket: Socket
  readonly #heads = new HeadWriter()
  readonly #budget: FloodBudget
  readonly #events: SenderEvents
  readonly #controls = new WaitingFrames()
  /** In the order of their turns. A stream whose window is shut is not queued. */
  #queue: Stream[] = []
  #window = initialWindow
  #streamWindow = initialWindow
  /** Where END_STREAM is set. */
  #lastFrameAt = 0
  #isDue = false
  #isBlocked = false
  #isEnding = false
  #hasEnded = false
  readonly #untaken = new UntakenWrites()

  constructor(socket: Socket, budget: FloodBudget, events: SenderEvents) {
    this.#socket = socket
    this.#budget = budget
    this.#events = events
    socket.on('drain', () => {
      this.#isBlocked = false
      this.flush()
    })
    socket.once('close', () => {
      while (this.#onWritten(new Error('the connection is gone'))) {}
    })
  }

  get streamWindow(): number {
    return this.#streamWindow
  }

  get controlBytes(): number {
    return this.#controls.length
  }

  /** Whether the queued bytes of a stream go out in this turn. */
  flushesNow(stream: Stream): boolean {
    return !this.#isHeld && stream.queuedBytes <= Math.min(stream.sendWindow, this.#window, maxWriteBytes)
  }

  sendControl(frame: Buffer): void {
    // A write after `end` would destroy the socket, with responses that it has not sent.
    if (this.#hasEnded) return
    this.#controls.push(frame)
    this.#schedule()
  }

  send(stream: Stream): void {
    if (stream.isQueued) return
    stream.isQueued = true
    this.#queue.push(stream)
    this.#schedule()
  }

  drop(stream: Stream): void {
    stream.dropOutput()
    // A client that takes nothing could fill the queue with streams that it resets.
    if (stream.isQueued) this.#queue = this.#queue.filter((each) => each !== stream)
    stream.isQueued = false
  }

  limitTable(size: number): void {
    this.#heads.limitTable(size)
  }

  /** Takes the client's SETTINGS_INITIAL_WINDOW_SIZE. False: a window becomes too large. */
  setStreamWindow(size: number, streams: Iterable<Stream>): boolean {
    const change = size - this.#streamWindow
    this.#streamWindow = size
    for (const stream of streams) if (!this.openWindow(stream, change)) return false
    return true
  }

  /** False: the window becomes too large (RFC 9113 §6.9.1). */
  openWindow(stream: Stream | null, bytes: number): boolean {
    if (stream === null) {
      this.#window += bytes
      if (this.#queue.length > 0) this.#schedule()
      return this.#window <= maxWindow
    }
    stream.sendWindow += bytes
    if (stream.sendWindow > 0 && (stream.queuedBytes > 0 || stream.isLast)) this.send(stream)
    return stream.sendWindow <= maxWindow
  }

  end(): void {
    this.#isEnding = true
    this.#schedule()
  }

  #schedule(): void {
    if (this.#isDue) return
    this.#isDue = true
    // After the current callback: with all its replies.
    if (due.push(this) === 1) process.nextTick(flushDue)
  }

  flush(): void {
    this.#isDue = false
    if (this.#isHeld || this.#socket.destroyed) return
    if (this.#controls.length > 0 || this.#queue.length > 0) this.#render()
    if (!this.#isEnding || this.#hasEnded || this.#controls.length > 0 || this.#queue.length > 0) return
    this.#hasEnded = true
    this.#socket.end()
  }

  get #isHeld(): boolean {
    return this.#isBlocked || this.#untaken.isFull
  }

  #render(): void {
    const { bytes, streams } = this.#estimate()
    const isWhole = streams === this.#queue.length
    const write: UntakenWrite = { memory: reserveMemory(bytes), flushed: [], ended: [] }
    const drained: Stream[] = []
    const start = this.#controls.moveTo(write.memory)
    const end = this.#renderStreams(write, start, streams, drained)
    if (end > 0) this.#write(write, end)
    for (const stream of drained) stream.events?.onDrain()
    const isDue = this.#window > 0 || !isWhole
    if (this.#queue.length > 0 && !this.#isHeld && isDue) setImmediate(() => this.flush())
  }

  /** The most bytes that a flush renders, and of how many streams. */
  #estimate(): { bytes: number; streams: number } {
    let bytes = this.#controls.length
    let headBytes = 0
    let streams = 0
    let bodyBytes = Math.min(maxWriteBytes, Math.max(0, this.#window))
    for (const { heads, queuedBytes, sendWindow } of this.#queue) {
      if (headBytes >= maxWriteBytes) break
      streams++
      for (const head of heads) headBytes += maxHeadBytes(head)
      const own = Math.min(queuedBytes, Math.max(0, sendWindow), bodyBytes)
      bodyBytes -= own
      // One frame for each 16 KiB, one that a window cuts short, one for END_STREAM.
      bytes += own + frameHeadBytes * (Math.ceil(own / maxFrameBytes) + 2)
    }
    return { bytes: bytes + headBytes, streams }
  }

  #renderStreams(write: UntakenWrite, start: number, count: number, drained: Stream[]): number {
    const { memory: out, ended } = write
    let at = start
    let bodyBytes = maxWriteBytes
    const round = this.#queue
    this.#queue = round.splice(count)
    for (let stream = round.shift(); stream !== undefined; stream = round.shift()) {
      stream.isQueued = false
      const begin = at
      for (const head of stream.heads.splice(0)) {
        this.#lastFrameAt = at
        at = this.#heads.write(out, at, stream.id, head)
      }
      const bytes = Math.min(stream.queuedBytes, stream.sendWindow, this.#window, bodyBytes, maxFrameBytes)
      if (bytes > 0) {
        bodyBytes -= bytes
        at = this.#renderData(write, at, stream, bytes)
      }
      if (stream.queuedBytes === 0 && stream.isLast) {
        if (at === begin) {
          this.#lastFrameAt = at
          at = writeFrameHead(out, at, 0, frameTypes.data, 0, stream.id)
        }
        out[this.#lastFrameAt + flagsOffset] = (out[this.#lastFrameAt + flagsOffset] as number) | flags.endStream
        this.#events.onEndRendered(stream)
        ended.push(stream)
      } else if (stream.queuedBytes === 0) {
        if (bytes > 0) drained.push(stream)
      } else if (stream.sendWindow > 0) {
        stream.isQueued = true
        // Waits for the next write, or for its next turn in this one.
        if (bodyBytes === 0 || this.#window <= 0) this.#queue.push(stream)
        else round.push(stream)
      }
    }
    return at
  }

  #renderData({ memory: out, flushed }: UntakenWrite, start: number, stream: Stream, bytes: number): number {
    stream.sendWindow -= bytes
    this.#window -= bytes
    stream.queuedBytes -= bytes
    if (bytes >= minPayingBytes || stream.queuedBytes === 0) this.#budget.payUpdates(bytes)
    this.#lastFrameAt = start
    let at = writeFrameHead(out, start, bytes, frameTypes.data, 0, stream.id)
    const end = at + bytes
    while (at < end) {
      const { data, onFlushed } = stream.pieces[0] as Piece
      const from = stream.pieceAt
      const to = Math.min(data.length, from + end - at)
      if (typeof data !== 'string') data.copy(out, at, from, to)
      else out.write(to - from === data.length ? data : data.slice(from, to), at, 'latin1')
      at += to - from
      stream.pieceAt = to
      if (to < data.length) break
      stream.pieces.shift()
      stream.pieceAt = 0
      if (onFlushed !== undefined) flushed.push(onFlushed)
    }
    return end
  }

  #write(write: UntakenWrite, bytes: number): void {
    this.#untaken.push(write)
    this.#isBlocked = !this.#socket.write(claimMemory(write.memory, bytes), this.#onWritten)
  }

  /** False: the socket has closed, and the callback of every write was called. */
  readonly #onWritten = (error?: Error | null): boolean => {
    const wasHeld = this.#isHeld
    const written = this.#untaken.shift()
    if (written === undefined) return false
    if (wasHeld && !this.#isHeld) this.#schedule()
    const { memory, flushed, ended } = written
    if (!error) freeMemory(memory)
    for (const onFlushed of flushed) onFlushed(error)
    for (const stream of ended) this.#events.onEndWritten(stream, error ?? null)
    return true
  }
}
