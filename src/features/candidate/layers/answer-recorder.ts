import type { ProxyResponse } from '../../../core/exchange/exchange.ts'
import type { FailureKind } from '../../../core/exchange/failures/kinds.ts'
import type { HeaderFields } from '../../../core/exchange/header-fields.ts'
import { now } from '../../../core/lib/clock.ts'
import type { QuotaShare } from '../../../core/lib/fair-quota.ts'
import type { ShadowAnswer } from '../observe/shadow-pair.ts'
import { RecordedBody } from './recorded-body.ts'

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
