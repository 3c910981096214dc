import { freeBuffer, minFreeBytes, noBytes } from '../../lib/buffers.ts'
import type { QuotaShare } from '../../lib/fair-quota.ts'
import { addDataListener, type RequestBody, type ResponseBody } from '../body.ts'
import { ObservedResponseBody } from './response-bodies.ts'

const firstBytes = 4 * 1024

// A client may declare more than it sends.
const maxExpectedBytes = 128 * 1024

/** Copies a body into one piece of memory, however small its chunks. */
export class BodyCopy {
  /** `busy`: the process has no room. Null: complete. */
  failure: 'too-large' | 'busy' | null = null
  readonly #maxBytes: number
  readonly #room: QuotaShare
  readonly #expected: number
  #memory: Buffer = noBytes
  /** No other owner reads `#memory`. */
  #isOwn = false
  #isClosed = false
  #length = 0
  #reserved = 0

  constructor(maxBytes: number, room: QuotaShare, expected: number | null = null) {
    this.#maxBytes = maxBytes
    this.#room = room
    this.#expected = Math.min(expected ?? 0, maxExpectedBytes)
  }

  get bytes(): Buffer {
    return this.#length === this.#memory.length ? this.#memory : this.#memory.subarray(0, this.#length)
  }

  /** False: the chunk does not fit, and the copy has ended. */
  push(chunk: Buffer): boolean {
    if (this.failure !== null || this.#isClosed) return false
    if (this.#length === 0 && chunk.length < minFreeBytes) return this.keep(Buffer.from(chunk))
    const length = this.#length + chunk.length
    if (length > this.#maxBytes) return this.#fail('too-large')
    if (length > this.#memory.length) {
      const wanted = length <= this.#expected ? this.#expected : Math.max(length, this.#memory.length * 2, firstBytes)
      const size = Math.min(this.#maxBytes, wanted)
      if (!this.#reserve(size)) return this.#fail('busy')
      const memory = Buffer.allocUnsafeSlow(size)
      this.#memory.copy(memory, 0, 0, this.#length)
      if (this.#isOwn) freeBuffer(this.#memory)
      this.#memory = memory
      this.#isOwn = true
    }
    chunk.copy(this.#memory, this.#length)
    this.#length = length
    return true
  }

  /** Keeps the body without a copy: no other owner may free its memory. False: too large or busy. */
  keep(chunk: Buffer): boolean {
    if (chunk.length > this.#maxBytes) return this.#fail('too-large')
    if (!this.#reserve(chunk.length)) return this.#fail('busy')
    this.#memory = chunk
    this.#length = chunk.length
    return true
  }

  /** Returns the room. The memory may still be read. */
  release(): void {
    this.#room.release(this.#reserved)
    this.#reserved = this.#length = 0
    this.#memory = noBytes
  }

  /** Returns the room and the memory, which must have no reader. */
  free(): void {
    const [memory, length] = [this.#memory, this.#length]
    this.release()
    // A small copy may share a large buffer with other readers.
    if (this.#isOwn && length >= minFreeBytes) freeBuffer(memory)
  }

  close(): void {
    this.#isClosed = true
    this.free()
  }

  #reserve(bytes: number): boolean {
    if (!this.#room.reserve(bytes - this.#reserved)) return false
    this.#reserved = bytes
    return true
  }

  #fail(why: 'too-large' | 'busy'): false {
    this.failure = why
    return false
  }
}

export const copyRequestBody = (body: RequestBody, copy: BodyCopy, onEnd: () => void): void =>
  addDataListener(body, (chunk) => {
    if (chunk === null) onEnd()
    else if (!copy.push(chunk)) copy.free()
  })

export const copyResponseBody = (body: ResponseBody, copy: BodyCopy, onEnd: () => void): ResponseBody =>
  new ObservedResponseBody(body, {
    onChunk(chunk) {
      if (!copy.push(chunk)) copy.free()
    },
    onWhole(whole) {
      if (!copy.keep(whole)) copy.free()
    },
    onEnd,
    onCut: () => copy.free(),
  })
