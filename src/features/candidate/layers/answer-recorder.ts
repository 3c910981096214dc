import { createHash, type Hash } from 'node:crypto'
import { BodyCopy } from '../../../core/exchange/bodies/body-copy.ts'
import type { ResponseBody } from '../../../core/exchange/body.ts'
import type { ProxyResponse } from '../../../core/exchange/exchange.ts'
import type { GatewayError } from '../../../core/exchange/failures/errors.ts'
import type { FailureKind } from '../../../core/exchange/failures/kinds.ts'
import type { HeaderFields } from '../../../core/exchange/header-fields.ts'
import { freeBuffer } from '../../../core/lib/buffers.ts'
import { now } from '../../../core/lib/clock.ts'
import type { QuotaShare } from '../../../core/lib/fair-quota.ts'
import type { ShadowAnswer, ShadowBody } from '../observe/compare/comparison.ts'

export class AnswerRecorder {
  /** When its request was sent last, on the monotonic clock. */
  sentAt = now()
  readonly body: RecordedBody
  #status: number | null = null
  #fields: HeaderFields = []
  #headMs: number | null = null
  #answer: ShadowAnswer | null = null
  #isCut = false

  /** A body of more than `maxBytes` is hashed. Where answers are not compared, its bytes are only counted. */
  constructor(maxBytes: number, room: QuotaShare, isCompared: boolean) {
    this.body = new RecordedBody(maxBytes, room, isCompared)
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

  /** Gives up the body: the rest of it is not read. */
  cut(): void {
    this.#isCut = true
    this.body.cut()
  }

  /** Ends the answer; `failure` is why it is not complete, null: it is. */
  end(failure: FailureKind | null): ShadowAnswer {
    this.#answer ??= {
      status: this.#status,
      fields: this.#fields,
      body: this.body.end(),
      headMs: this.#headMs,
      failure,
    }
    return this.#answer
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

  /** Takes the whole body without a copy, in memory that is never freed by hand. */
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

// So much of an answer is read, however little the primary has answered; beyond it, so many times as much.
const readAnyway = 64 * 1024
const readTimes = 4

/**
 * Reads what the candidate answers, as far as that can be compared. A body that is much longer than that of the primary
 * waits for it, and is cut when that has ended: to read on would say no more, and would cost clients their time.
 */
export class CandidateReader {
  readonly #candidate: AnswerRecorder
  readonly #primary: AnswerRecorder
  readonly #onEnd: (error: GatewayError | null) => void
  /** Null: it does not stream, or not yet. */
  #body: ResponseBody | null = null

  /** `onEnd` is called once, with why the answer is not complete; null: it is, or it was cut. */
  constructor(candidate: AnswerRecorder, primary: AnswerRecorder, onEnd: (error: GatewayError | null) => void) {
    this.#candidate = candidate
    this.#primary = primary
    this.#onEnd = onEnd
  }

  take(response: ProxyResponse): void {
    const { body } = response
    if (this.#hasEnded) return body.discard()
    this.#candidate.head(response)
    const whole = body.takeBuffered()
    if (whole !== null) {
      this.#candidate.body.keep(whole)
      return this.end(null)
    }
    this.#body = body
    body.consume({
      data: (chunk) => {
        if (this.#hasEnded) return true
        const isRead = this.#candidate.body.push(chunk)
        if (!body.isShared) freeBuffer(chunk)
        if (isRead) return this.#readsOn()
        this.#stop(body)
        return false
      },
      end: () => this.end(null),
      fail: (error) => this.end(error),
    })
  }

  /** Goes on, if it waits for more of the primary's answer. */
  readOn(): void {
    if (this.#body !== null && !this.#hasEnded && this.#readsOn()) this.#body.resume()
  }

  /** Ends the answer; null: there is nothing more to read. */
  end(error: GatewayError | null): void {
    if (this.#hasEnded) return
    this.#candidate.end(error?.kind ?? null)
    this.#onEnd(error)
  }

  get #hasEnded(): boolean {
    return this.#candidate.answer !== null
  }

  #readsOn(): boolean {
    if (this.#candidate.body.length <= Math.max(readAnyway, this.#primary.body.length * readTimes)) return true
    if (this.#primary.answer !== null && this.#body !== null) {
      this.#candidate.cut()
      this.#stop(this.#body)
    }
    return false
  }

  #stop(body: ResponseBody): void {
    body.discard()
    this.end(null)
  }
}
