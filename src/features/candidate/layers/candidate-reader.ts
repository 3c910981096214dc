import type { ResponseBody } from '../../../core/exchange/body.ts'
import type { ProxyResponse } from '../../../core/exchange/exchange.ts'
import type { GatewayError } from '../../../core/exchange/failures/errors.ts'
import { freeBuffer } from '../../../core/lib/buffers.ts'
import type { AnswerRecorder } from './answer-recorder.ts'

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
      this.#candidate.whole(whole)
      return this.end(null)
    }
    this.#body = body
    body.consume({
      data: (chunk) => {
        if (this.#hasEnded) return true
        const isRead = this.#candidate.data(chunk)
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
    if (this.#candidate.length <= Math.max(readAnyway, this.#primary.length * readTimes)) return true
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
