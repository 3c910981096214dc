import type { FloodBudget } from './flood-budget.ts'
import { flags, maxFrameBytes, readUint31 } from './frame.ts'
import { HpackDecoder } from './hpack/decoder.ts'
import type { HpackField } from './hpack/field.ts'
import { ConnectionError, errorCodes } from './http2-error.ts'

export interface FieldBlock {
  readonly streamId: number
  /** END_STREAM. */
  readonly isLast: boolean
  /** Valid until the next block. */
  readonly fields: readonly HpackField[]
  /** False: the list is longer than allowed, and `fields` is its beginning. */
  readonly isWhole: boolean
  /** RFC 9113 §5.3.1. */
  readonly dependsOnItself: boolean
}

const priorityBytes = 5

/** Joins and decodes the field blocks of HEADERS and CONTINUATION (RFC 9113 §4.3). */
export class FieldBlockReader {
  readonly #budget: FloodBudget
  readonly #decoder: HpackDecoder
  readonly #maxListSize: number
  readonly #maxBlockBytes: number
  #parts: Buffer[] = []
  #bytes = 0
  #isLast = false
  #dependsOnItself = false
  readonly #fields: HpackField[] = []

  constructor(budget: FloodBudget, maxListSize: number, maxBlockBytes: number) {
    this.#budget = budget
    this.#decoder = new HpackDecoder(() => budget.take('tableSize'))
    this.#maxListSize = maxListSize
    this.#maxBlockBytes = maxBlockBytes
  }

  /** Null: CONTINUATION follows. Throws {@link ConnectionError}. */
  readHeaders(frameFlags: number, id: number, payload: Buffer, start: number, end: number): FieldBlock | null {
    let [from, to] = [start, end]
    if ((frameFlags & flags.padded) !== 0) to -= from < to ? (payload[from++] as number) : 1
    const hasPriority = (frameFlags & flags.priority) !== 0
    if (hasPriority) from += priorityBytes
    // RFC 9113 §4.2.
    if (from > end) throw new ConnectionError(errorCodes.frameSizeError, 'HEADERS too short for their priority')
    if (from > to) throw new ConnectionError(errorCodes.protocolError, 'padding longer than its frame')
    this.#dependsOnItself = hasPriority && readUint31(payload, from - priorityBytes) === id
    this.#isLast = (frameFlags & flags.endStream) !== 0
    if ((frameFlags & flags.endHeaders) !== 0) return this.#decode(id, payload, from, to)
    this.#hold(payload, from, to, false)
    return null
  }

  readContinuation(frameFlags: number, id: number, payload: Buffer, from: number, to: number): FieldBlock | null {
    const isLast = (frameFlags & flags.endHeaders) !== 0
    this.#hold(payload, from, to, isLast)
    if (!isLast) return null
    const whole = Buffer.concat(this.#parts, this.#bytes)
    this.#parts = []
    this.#bytes = 0
    return this.#decode(id, whole, 0, whole.length)
  }

  #hold(payload: Buffer, from: number, to: number, isLast: boolean): void {
    // An honest client continues a block only behind a full frame.
    if (!isLast && to - from < maxFrameBytes / 2) this.#budget.take('continuation')
    this.#bytes += to - from
    if (this.#bytes > this.#maxBlockBytes) {
      const message = 'a field block that is too large'
      throw new ConnectionError(errorCodes.enhanceYourCalm, message, 'too-many-continuations')
    }
    // The payload is valid during the call; a copy in Node's pool would keep the pool.
    const part = Buffer.allocUnsafeSlow(to - from)
    payload.copy(part, 0, from, to)
    this.#parts.push(part)
  }

  #decode(streamId: number, bytes: Buffer, from: number, to: number): FieldBlock {
    this.#fields.length = 0
    const isWhole = this.#decoder.decode(bytes, from, to, this.#fields, this.#maxListSize)
    return { streamId, isLast: this.#isLast, fields: this.#fields, isWhole, dependsOnItself: this.#dependsOnItself }
  }
}
