import { freeBuffer, minFreeBytes } from '../../lib/buffers.ts'
import type { QuotaShare } from '../../lib/fair-quota.ts'
import { addDataListener, type RequestBody, type ResponseBody } from '../body.ts'
import { ObservedResponseBody } from './response-bodies.ts'

const firstBytes = 4 * 1024

// A client may declare what it never sends.
const maxExpectedBytes = 128 * 1024

/**
 * The bytes of a body, as far as the bounds allow: in one piece of memory, however small the chunks are. The chunks
 * themselves belong to the one that sends them.
 */
export class BodyCopy {
  /** Why it is not complete: it is larger than the bound, or the process has no room. Null: it is. */
  failure: 'too-large' | 'busy' | null = null
  readonly #maxBytes: number
  readonly #room: QuotaShare
  readonly #expected: number
  #memory: Buffer = noBytes
  /** Whether nothing else reads the memory. */
  #isOwn = false
  #isClosed = false
  #length = 0
  #reserved = 0

  /** `expected` is the length that the message declares; null: it declares none. */
  constructor(maxBytes: number, room: QuotaShare, expected: number | null = null) {
    this.#maxBytes = maxBytes
    this.#room = room
    this.#expected = Math.min(expected ?? 0, maxExpectedBytes)
  }

  get bytes(): Buffer {
    return this.#length === this.#memory.length ? this.#memory : this.#memory.subarray(0, this.#length)
  }

  /** Adds a chunk; false: it does not fit, and nothing is added any more. */
  push(chunk: Buffer): boolean {
    if (this.failure !== null || this.#isClosed) return false
    // No memory of this size is freed by hand, so the chunk is as good as a copy.
    if (this.#length === 0 && chunk.length < minFreeBytes) return this.keep(chunk)
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

  /** Takes a chunk as the whole so far, without a copy: no other owner frees its memory. False: it does not fit. */
  keep(chunk: Buffer): boolean {
    if (chunk.length > this.#maxBytes) return this.#fail('too-large')
    if (!this.#reserve(chunk.length)) return this.#fail('busy')
    this.#memory = chunk
    this.#length = chunk.length
    return true
  }

  /** Gives the room back. Others may go on reading the memory. */
  release(): void {
    this.#room.release(this.#reserved)
    this.#reserved = this.#length = 0
    this.#memory = noBytes
  }

  /** Gives the room back, and the memory, which nothing reads any more. */
  free(): void {
    const [memory, length] = [this.#memory, this.#length]
    this.release()
    // Another copy may keep a few bytes as they are, however large the memory around them is.
    if (this.#isOwn && length >= minFreeBytes) freeBuffer(memory)
  }

  /** Gives both back, and takes nothing any more. */
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

const noBytes = Buffer.alloc(0)

/** Copies the body of a request while it is read. `onEnd` is called when all of it has come. */
export const copyRequestBody = (body: RequestBody, copy: BodyCopy, onEnd: () => void): void =>
  addDataListener(body, (chunk) => {
    if (chunk === null) onEnd()
    else if (!copy.push(chunk)) copy.free()
  })

/** Creates the body of a response that is copied while it is sent. `onEnd` is called when all of it was handed on. */
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
