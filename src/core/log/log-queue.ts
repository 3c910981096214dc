import { fstatSync, write } from 'node:fs'
import { Socket } from 'node:net'
import { Writable } from 'node:stream'
import { unrefTimeout } from '../lib/clock.ts'

// A write of 200 lines costs hardly more than one of one line.
const batchBytes = 64 * 1024
const flushIntervalMs = 100

const newline = 10
const emptyBuffer = Buffer.alloc(0)

// UTF-8 bytes of a UTF-16 code unit: beyond U+FFFF, two units take 4 bytes.
const maxBytesPerCodeUnit = 3

export type LogDestination = Pick<Writable, 'write' | 'on'>

/**
 * For a reader that may be slow. Beyond `maxBytes`, the batch being written included, lines are dropped and counted.
 * Never waits, and never throws.
 */
export class LogQueue {
  readonly #sink: LogDestination
  readonly #maxBytes: number
  readonly #batchBytes: number
  readonly #onDrain: () => void
  #batches: Buffer[] = []
  #waitingBytes = 0
  /** The batch that lines are added to, and its filled bytes. */
  #current = emptyBuffer
  #currentBytes = 0
  #writing = false
  #broken = false
  #timer: NodeJS.Timeout | null = null
  #onEmpty: (() => void)[] = []
  dropped = 0

  /** `onDrain`: a batch has been written, and half the room is free. */
  constructor(sink: LogDestination, maxBytes: number, onDrain: () => void) {
    this.#sink = sink
    this.#maxBytes = maxBytes
    this.#batchBytes = Math.min(batchBytes, maxBytes / 4)
    this.#onDrain = onDrain
    sink.on('error', () => {
      this.#broken = true
      this.#writing = false
      this.#batches = []
      this.#current = emptyBuffer
      this.#currentBytes = 0
      this.#waitingBytes = 0
      this.#notifyIfEmpty()
    })
  }

  write(line: string): void {
    if (this.#broken || this.#waitingBytes + line.length > this.#maxBytes) return void this.dropped++
    const room = maxBytesPerCodeUnit * line.length
    if (this.#currentBytes + room > this.#current.length) {
      if (this.#currentBytes > 0) this.#endBatch()
      this.#current = Buffer.allocUnsafeSlow(this.#batchBytes + room)
    }
    // Encoded at once: a string joined from 200 lines is read from all over the memory.
    const bytes = this.#current.write(line, this.#currentBytes)
    this.#currentBytes += bytes
    this.#waitingBytes += bytes
    if (this.#currentBytes >= this.#batchBytes) this.#endBatch()
    this.#timer ??= setTimeout(this.#flush, flushIntervalMs)
  }

  forward(lines: Buffer): void {
    const room = this.#broken ? 0 : this.#maxBytes - this.#waitingBytes
    const end = room >= lines.length ? lines.length : room <= 0 ? 0 : lines.lastIndexOf(newline, room - 1) + 1
    for (let at = lines.indexOf(newline, end); at !== -1; at = lines.indexOf(newline, at + 1)) this.dropped++
    if (end === 0) return
    if (this.#currentBytes > 0) this.#endBatch()
    this.#waitingBytes += end
    this.#batches.push(lines.subarray(0, end))
    this.#next()
  }

  end(): Promise<void> {
    return new Promise((resolve) => {
      this.#onEmpty.push(resolve)
      this.#flush()
    })
  }

  readonly #flush = (): void => {
    if (this.#timer !== null) clearTimeout(this.#timer)
    this.#timer = null
    if (this.#currentBytes > 0) this.#endBatch()
    this.#notifyIfEmpty()
  }

  #endBatch(): void {
    const batch = this.#current.subarray(0, this.#currentBytes)
    // A batch that is hardly filled would hold its whole buffer.
    const isFull = 2 * batch.length >= this.#current.length
    this.#batches.push(isFull ? batch : Buffer.from(batch))
    if (isFull) this.#current = emptyBuffer
    this.#currentBytes = 0
    this.#next()
  }

  #next(): void {
    if (this.#writing) return
    const batch = this.#batches.shift()
    if (batch === undefined) return
    this.#writing = true
    this.#sink.write(batch, (error) => {
      if (error) return // the `error` listener has it
      this.#writing = false
      this.#waitingBytes -= batch.length
      this.#next()
      if (this.#waitingBytes <= this.#maxBytes / 2) this.#onDrain()
      this.#notifyIfEmpty()
    })
  }

  #notifyIfEmpty(): void {
    if (this.#waitingBytes > 0) return
    for (const notify of this.#onEmpty.splice(0)) notify()
  }
}

/** Through the event loop: in Node's thread pool, a stalled reader would hold one of four threads. */
export const openStdout = (fd = 1): LogDestination => {
  const stat = fstatSync(fd)
  if (stat.isFIFO() || stat.isSocket()) return new Socket({ fd, readable: false, writable: true }).unref()
  return new Writable({ write: (batch: Buffer, _, done) => writeToFile(fd, batch, done) })
}

const retryDelayMs = 250

/** A full disk is a reader that stalls. A stream of Node's would end with its first error. */
const writeToFile = (fd: number, bytes: Buffer, done: () => void): void =>
  write(fd, bytes, (_, taken) => {
    const rest = bytes.subarray(taken) // all of them after an error
    if (rest.length === 0) done()
    else if (rest.length < bytes.length) writeToFile(fd, rest, done)
    else unrefTimeout(retryDelayMs, () => writeToFile(fd, bytes, done))
  })
