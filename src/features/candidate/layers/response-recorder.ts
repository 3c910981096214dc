import { createHash, type Hash } from 'node:crypto'
import { BodyCopy } from '../../../core/exchange/bodies/body-copy.ts'
import type { ResponseBody } from '../../../core/exchange/body.ts'
import type { ProxyResponse } from '../../../core/exchange/exchange.ts'
import type { GatewayError } from '../../../core/exchange/failures/errors.ts'
import type { FailureKind } from '../../../core/exchange/failures/failure-table.ts'
import type { HeaderFields } from '../../../core/exchange/header-fields.ts'
import { freeBuffer } from '../../../core/lib/buffers.ts'
import { now } from '../../../core/lib/clock.ts'
import type { QuotaShare } from '../../../core/lib/fair-quota.ts'
import type { ShadowResponse } from '../observe/compare/comparison.ts'

// An endless body is given up at 16 × `maxBytes`.
const hashedTimes = 16

/** Keeps a body up to `maxBytes`, and hashes a longer one. */
export class ResponseRecorder {
  /** Monotonic clock. */
  sentAt = now()
  #status: number | null = null
  #fields: HeaderFields = []
  #headMs: number | null = null
  #response: ShadowResponse | null = null
  #isCut = false
  #length = 0
  readonly #maxHashedBytes: number
  readonly #copy: BodyCopy
  /** Null: the bytes are kept, or the body is too long to hash. */
  #hash: Hash | null = null
  #isKept: boolean
  readonly #isRead: boolean

  /** Without `isRead`, the bytes are only counted. */
  constructor(maxBytes: number, room: QuotaShare, isRead = true) {
    this.#isKept = isRead
    this.#isRead = isRead
    this.#maxHashedBytes = maxBytes * hashedTimes
    this.#copy = new BodyCopy(maxBytes, room)
  }

  get status(): number | null {
    return this.#status
  }

  get response(): ShadowResponse | null {
    return this.#response
  }

  /** The rest was not read: the body is much longer than the primary's. */
  get isCut(): boolean {
    return this.#isCut
  }

  get length(): number {
    return this.#length
  }

  head({ status, fields }: ProxyResponse): void {
    this.#status = status
    this.#fields = fields
    this.#headMs = now() - this.sentAt
  }

  /** False: the body is given up, too long to hash. */
  push(chunk: Buffer): boolean {
    this.#length += chunk.length
    if (this.#isKept && !this.#copy.push(chunk)) this.#beginHash()
    if (this.#length > this.#maxHashedBytes) {
      this.#drop()
      return false
    }
    this.#hash?.update(chunk)
    return true
  }

  /** Takes the body without a copy. Its memory must never be freed by hand. */
  keep(whole: Buffer): void {
    this.#length = whole.length
    if (!this.#isRead || this.#copy.keep(whole)) return
    this.#beginHash()
    if (whole.length <= this.#maxHashedBytes) this.#hash?.update(whole)
    else this.#drop()
  }

  cut(): void {
    this.#isCut = true
    this.#drop()
  }

  /** `failure` null: the response is complete. */
  end(failure: FailureKind | null): ShadowResponse {
    if (this.#response !== null) return this.#response
    const sha256 = this.#hash?.digest('hex') ?? null
    const body = { length: this.#length, bytes: this.#isKept ? this.#copy.bytes : null, sha256 }
    this.#response = { status: this.#status, fields: this.#fields, body, headMs: this.#headMs, failure }
    return this.#response
  }

  free(): void {
    this.#copy.close()
    this.#hash = null
  }

  #drop(): void {
    this.#isKept = false
    this.free()
  }

  #beginHash(): void {
    this.#isKept = false
    this.#hash = createHash('sha256').update(this.#copy.bytes)
    this.#copy.close()
  }
}

const readAnyway = 64 * 1024
const readTimes = 4

/**
 * A body more than four times as long as the primary's, and longer than 64 KiB, waits for the primary's end and is then
 * cut: more bytes would not change the result, and would slow clients' requests.
 */
export class CandidateReader {
  readonly #candidate: ResponseRecorder
  readonly #primary: ResponseRecorder
  readonly #onEnd: (error: GatewayError | null) => void
  #body: ResponseBody | null = null

  /** `onEnd`, called once, gets null for a body that is complete or cut. */
  constructor(candidate: ResponseRecorder, primary: ResponseRecorder, onEnd: (error: GatewayError | null) => void) {
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
      this.#candidate.keep(whole)
      return this.end(null)
    }
    this.#body = body
    body.consume({
      data: (chunk) => {
        if (this.#hasEnded) return true
        const isRead = this.#candidate.push(chunk)
        if (!body.isShared) freeBuffer(chunk)
        if (isRead) return this.#readsOn()
        this.#stop(body)
        return false
      },
      end: () => this.end(null),
      fail: (error) => this.end(error),
    })
  }

  readOn(): void {
    if (this.#body !== null && !this.#hasEnded && this.#readsOn()) this.#body.resume()
  }

  end(error: GatewayError | null): void {
    if (this.#hasEnded) return
    this.#candidate.end(error?.kind ?? null)
    this.#onEnd(error)
  }

  get #hasEnded(): boolean {
    return this.#candidate.response !== null
  }

  #readsOn(): boolean {
    if (this.#candidate.length <= Math.max(readAnyway, this.#primary.length * readTimes)) return true
    if (this.#primary.response !== null && this.#body !== null) {
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
