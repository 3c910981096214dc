import { createHash, type Hash } from 'node:crypto'
import { BodyCopy } from '../../../core/exchange/bodies/body-copy.ts'
import type { ProxyResponse } from '../../../core/exchange/exchange.ts'
import type { FailureKind } from '../../../core/exchange/failures/kinds.ts'
import type { HeaderFields } from '../../../core/exchange/header-fields.ts'
import { now } from '../../../core/lib/clock.ts'
import type { QuotaShare } from '../../../core/lib/fair-quota.ts'
import type { ShadowAnswer, ShadowBody } from '../observe/shadow-pair.ts'

export class AnswerRecorder {
  /** When its request was sent last, on the monotonic clock. */
  sentAt = now()
  readonly #body: RecordedBody
  #status: number | null = null
  #fields: HeaderFields = []
  #headMs: number | null = null
  #answer: ShadowAnswer | null = null
  #isCut = false

  /** A body of more than `maxBytes` is hashed. Where answers are not compared, its bytes are only counted. */
  constructor(maxBytes: number, room: QuotaShare, isCompared: boolean) {
    this.#body = new RecordedBody(maxBytes, room, isCompared)
  }

  /** Null: it has not ended. */
  get answer(): ShadowAnswer | null {
    return this.#answer
  }

  /** Whether its body was given up: it is out of proportion. */
  get isCut(): boolean {
    return this.#isCut
  }

  /** Null: no head has come. */
  get status(): number | null {
    return this.#status
  }

  head({ status, fields }: ProxyResponse): void {
    this.#status = status
    this.#fields = fields
    this.#headMs = now() - this.sentAt
  }

  /** Adds a chunk of the body; false: it is longer than is read. */
  data(chunk: Buffer): boolean {
    return this.#body.push(chunk)
  }

  /** Gives up the body: the rest of it is not read. */
  cut(): void {
    this.#isCut = true
    this.#body.cut()
  }

  get length(): number {
    return this.#body.length
  }

  /** Takes the whole body, in memory that is never freed by hand. */
  whole(bytes: Buffer): void {
    this.#body.keep(bytes)
  }

  /** Ends the answer; `failure` is why it is not complete, null: it is. */
  end(failure: FailureKind | null): ShadowAnswer {
    this.#answer ??= {
      status: this.#status,
      fields: this.#fields,
      body: this.#body.end(),
      headMs: this.#headMs,
      failure,
    }
    return this.#answer
  }

  free(): void {
    this.#body.free()
  }
}

// Of a body that is longer than is kept, so many times as much is hashed: enough for a report, and an end to a body
// that has none.
const hashedTimes = 16

/** The body of one side's answer as it comes: kept up to a bound, and hashed beyond it. */
export class RecordedBody {
  readonly #maxHashedBytes: number
  readonly #copy: BodyCopy
  #length = 0
  /** Null: the bytes are kept, or too many have come. */
  #hash: Hash | null = null
  #sha256: string | null = null
  #isKept: boolean
  /** Whether its bytes are kept or hashed; else they are only counted. */
  readonly #isRead: boolean

  constructor(maxBytes: number, room: QuotaShare, isRead = true) {
    this.#isKept = isRead
    this.#isRead = isRead
    this.#maxHashedBytes = maxBytes * hashedTimes
    this.#copy = new BodyCopy(maxBytes, room)
  }

  /** Adds a chunk; false: it is longer than is read. */
  push(chunk: Buffer): boolean {
    this.#length += chunk.length
    if (this.#isKept && !this.#copy.push(chunk)) this.#beginHash()
    if (this.#length > this.#maxHashedBytes) {
      this.cut()
      return false
    }
    this.#hash?.update(chunk)
    return true
  }

  get length(): number {
    return this.#length
  }

  /** Gives up what has come: the rest is not read. */
  cut(): void {
    this.#isKept = false
    this.#hash = null
    this.#copy.close()
  }

  /** Takes the whole body, without a copy. */
  keep(whole: Buffer): void {
    this.#length = whole.length
    if (!this.#isRead) return
    if (this.#copy.keep(whole)) return
    this.#beginHash()
    if (whole.length <= this.#maxHashedBytes) this.#hash?.update(whole)
    else this.cut()
  }

  end(): ShadowBody {
    this.#sha256 ??= this.#hash?.digest('hex') ?? null
    return { length: this.#length, bytes: this.#isKept ? this.#copy.bytes : null, sha256: this.#sha256 }
  }

  free(): void {
    this.#copy.close()
    this.#hash = null
  }

  #beginHash(): void {
    this.#isKept = false
    this.#hash = createHash('sha256').update(this.#copy.bytes)
    this.#copy.close()
  }
}
