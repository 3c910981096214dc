import { WholeBody } from '../../../core/exchange/bodies/buffered-request-body.ts'
import { ObservedResponseBody } from '../../../core/exchange/bodies/observed-response-body.ts'
import type { ResponseBody } from '../../../core/exchange/body.ts'
import { createBackgroundExchange, type Exchange, type ProxyResponse } from '../../../core/exchange/exchange.ts'
import { GatewayError } from '../../../core/exchange/failures/errors.ts'
import { mayBeUpstreamFault } from '../../../core/exchange/failures/kinds.ts'
import { getFirstFieldValue } from '../../../core/exchange/header-fields.ts'
import { hasTokenInQuery } from '../../../core/exchange/token-in-query.ts'
import { freeBuffer } from '../../../core/lib/buffers.ts'
import { CoalescedTimer, now } from '../../../core/lib/clock.ts'
import { type ShadowDropReason, toShadowOutcome } from '../observe/shadow-counts.ts'
import type { OnShadowPair, ShadowAnswer, ShadowedRequest } from '../observe/shadow-pair.ts'
import { AnswerRecorder } from './answer-recorder.ts'
import { CopiedRequest } from './copied-request.ts'
import type { CopyDestination, CopyOptions, StoppableCopy } from './shadow-copies.ts'

/**
 * The copy of one request, for the candidate or once more for the primary. It waits until the primary's request is on
 * its way, and its body is complete. It ends when both sides have answered, or when its time is over.
 */
export class ShadowCopy implements StoppableCopy {
  slot = -1
  readonly #exchange: Exchange
  readonly #destination: CopyDestination
  readonly #options: CopyOptions
  readonly #timer = new CoalescedTimer(() => (this.#own === null ? this.#begin() : this.#onTimeout()))
  readonly #request: CopiedRequest
  readonly #primary: AnswerRecorder
  readonly #candidate: AnswerRecorder
  readonly #reader: CandidateReader
  /** Null: it has not begun. */
  #own: Exchange | null = null
  /** Whether what the primary answers is of use: nothing has cut it but the primary itself. */
  #isPairable = true
  #isOver = false

  constructor(exchange: Exchange, destination: CopyDestination, options: CopyOptions) {
    const { maxBody, copies } = options
    this.#exchange = exchange
    this.#destination = destination
    this.#options = options
    this.#request = new CopiedRequest(exchange, maxBody, copies.room, {
      onSent: () => {
        this.#primary.sentAt = now()
      },
      onReady: () => this.#beginLater(),
      onDropped: (reason) => this.#drop(reason),
    })
    const isCompared = destination.onPair !== null
    this.#primary = new AnswerRecorder(maxBody, copies.room, isCompared)
    this.#candidate = new AnswerRecorder(maxBody, copies.room, isCompared)
    this.#reader = new CandidateReader(this.#candidate, this.#primary, (error) => this.#onCandidateEnd(error))
  }

  /** Takes the primary's response, and returns the one to hand on: the same. */
  onResponse(response: ProxyResponse): ProxyResponse {
    if (this.#isOver) return response
    this.#primary.head(response)
    const { status, reason, fields, body } = response
    const observed = new ObservedResponseBody(body, {
      onChunk: (chunk) => {
        if (this.#isOver || !this.#isPairable) return
        this.#primary.data(chunk)
        this.#reader.readOn()
      },
      onWhole: (whole) => {
        if (!this.#isOver && this.#isPairable) this.#primary.whole(whole)
      },
      onEnd: () => this.#endPrimary(null),
      onCut: (error) => this.#endPrimary(error ?? new GatewayError('client-gone')),
    })
    return { status, reason, fields, body: observed }
  }

  onFailure(error: unknown): void {
    this.#endPrimary(GatewayError.from(error))
  }

  stop(): void {
    this.#end()
    this.#own?.abort(new GatewayError('overloaded', { cause: 'the process stops' }))
  }

  get isRepeat(): boolean {
    return this.#destination.afterMs !== null
  }

  /** Begins after what is written in this turn of the event loop: the primary's request first of all. */
  #beginLater(): void {
    if (!this.#options.copies.sending.add(() => this.#admit())) this.#drop('full')
  }

  #admit(): void {
    if (this.#isOver || this.#own !== null) return
    const { forwardsCredentials, isUp, afterMs } = this.#destination
    const { failure } = this.#request
    if (failure !== null) return this.#drop(failure === 'busy' ? 'no-room' : 'body-too-large')
    if (!forwardsCredentials && hasTokenInQuery(this.#exchange.query)) return this.#drop('credential-in-query')
    if (!isUp()) return this.#drop('no-endpoint')
    const refused = this.#options.copies.begin(this)
    if (refused !== null) return this.#drop(refused)
    if (afterMs === null) this.#begin()
    else this.#timer.set(afterMs)
  }

  #begin(): void {
    const { timeoutMs } = this.#options
    const { counts, send, toFields, onSend } = this.#destination
    const own = createBackgroundExchange(this.#exchange, true)
    own.fields = toFields(this.#exchange.fields)
    own.body = new WholeBody(this.#request.body)
    own.trace = null
    own.onSent = () => {
      this.#candidate.sentAt = now()
    }
    this.#own = own
    this.#candidate.sentAt = now()
    counts.sent++
    onSend?.(own.operation.id)
    this.#timer.set(timeoutMs)
    send(own).then(
      (response) => {
        if (this.#isOver) response.body.discard()
        else this.#reader.take(response)
      },
      (error) => this.#reader.end(GatewayError.from(error)),
    )
  }

  #onCandidateEnd(error: GatewayError | null): void {
    if (this.#isOver) return
    const { status, isCut } = this.#candidate
    const { outcomes } = this.#destination.counts
    outcomes[error !== null || status === null ? 'failed' : toShadowOutcome(status)]++
    if (!this.isRepeat) this.#options.copies.backoff.end(error === null && !isCut)
    this.#own?.finish()
    this.#settle()
  }

  /** Ends the primary's side; null: with a whole answer. */
  #endPrimary(error: GatewayError | null): void {
    if (this.#isOver || this.#primary.answer !== null) return
    if (!this.#request.isSent) return this.#end()
    // It will never be whole.
    if (this.#own === null && !this.#request.isWhole) return this.#drop('body-unfinished')
    this.#isPairable = error === null || mayBeUpstreamFault(error.kind)
    this.#primary.end(error?.kind ?? null)
    this.#reader.readOn()
    this.#settle()
  }

  #onTimeout(): void {
    const late = new GatewayError('deadline-exceeded')
    this.#reader.end(late)
    this.#own?.abort(late)
    // Of the primary there is no answer yet: a client may read for hours.
    if (!this.#isOver) this.#end()
  }

  #settle(): void {
    const primary = this.#primary.answer
    const candidate = this.#candidate.answer
    // The end of the primary may cut the candidate: both ends lead here.
    if (this.#isOver || primary === null || candidate === null) return
    const { onPair } = this.#destination
    if (this.#isPairable && onPair !== null) this.#handOn(primary, candidate, onPair)
    else this.#end()
  }

  /** Hands the pair on, when what is written in this turn has gone out. */
  #handOn(primary: ShadowAnswer, candidate: ShadowAnswer, onPair: OnShadowPair): void {
    const { copies } = this.#options
    const { counts } = this.#destination
    this.#leave()
    const request = this.#describeRequest()
    const isQueued = copies.comparing.add(() => {
      try {
        counts.pairs++
        onPair(primary, candidate, request)
      } finally {
        this.#freeAnswers()
      }
    })
    if (!isQueued) this.#freeAnswers()
  }

  #describeRequest(): ShadowedRequest {
    const { operation, fields } = this.#exchange
    const { requestIdField } = this.#options
    const requestId = requestIdField === null ? undefined : getFirstFieldValue(fields, requestIdField)
    return { operation: operation.id, requestId: requestId ?? null }
  }

  #drop(reason: ShadowDropReason): void {
    this.#destination.counts.dropped[reason]++
    this.#end()
  }

  #end(): void {
    this.#leave()
    this.#freeAnswers()
  }

  /** Gives back everything but the answers. */
  #leave(): void {
    this.#isOver = true
    this.#timer.clear()
    this.#options.copies.end(this)
    this.#request.close(this.#own !== null && !this.#own.bodySent)
  }

  #freeAnswers(): void {
    this.#primary.free()
    this.#candidate.free()
  }
}

// So much of an answer is read, however little the primary has answered; beyond it, so many times as much.
const readAnyway = 64 * 1024
const readTimes = 4

/**
 * Reads what the candidate answers, as far as that can be compared. A body that is much longer than that of the primary
 * waits for it, and is cut when that has ended: to read on would say no more, and would cost clients their time.
 */
class CandidateReader {
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
