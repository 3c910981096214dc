import { BodyCopy, copyRequestBody } from '../../../core/exchange/bodies/body-copy.ts'
import { WholeBody } from '../../../core/exchange/bodies/buffered-bodies.ts'
import { ObservedResponseBody } from '../../../core/exchange/bodies/response-bodies.ts'
import { createBackgroundExchange, type Exchange, type ProxyResponse } from '../../../core/exchange/exchange.ts'
import { GatewayError } from '../../../core/exchange/failures/errors.ts'
import { mayBeUpstreamFault } from '../../../core/exchange/failures/kinds.ts'
import { getFirstFieldValue, hasTokenInQuery } from '../../../core/exchange/header-fields.ts'
import { CoalescedTimer, now } from '../../../core/lib/clock.ts'
import type { QuotaShare } from '../../../core/lib/fair-quota.ts'
import type { OnShadowPair, ShadowAnswer, ShadowedRequest } from '../observe/compare/comparison.ts'
import { AnswerRecorder, CandidateReader } from './answer-recorder.ts'
import {
  type CopyDestination,
  type CopyOptions,
  type ShadowDropReason,
  type StoppableCopy,
  toShadowOutcome,
} from './shadow-copies.ts'

/**
 * A copy of one request, to the candidate or again to the primary. Sent when the primary's request was sent and its
 * body is complete. Ends when both sides have responded, or after `timeoutMs`.
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
  /** Null: the copy has not begun. */
  #own: Exchange | null = null
  /** False: something other than the primary has cut its response. */
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

  onResponse(response: ProxyResponse): ProxyResponse {
    if (this.#isOver) return response
    this.#primary.head(response)
    const { status, reason, fields, body } = response
    const observed = new ObservedResponseBody(body, {
      onChunk: (chunk) => {
        if (this.#isOver || !this.#isPairable) return
        this.#primary.body.push(chunk)
        this.#reader.readOn()
      },
      onWhole: (whole) => {
        if (!this.#isOver && this.#isPairable) this.#primary.body.keep(whole)
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

  /** After this turn's writes: the primary's request goes out first. */
  #beginLater(): void {
    if (!this.#options.copies.sending.add(() => this.#admit())) this.#drop('full')
  }

  #admit(): void {
    if (this.#isOver || this.#own !== null) return
    const { forwardsCredentials, isUp, afterMs } = this.#destination
    const { failure } = this.#request.copy
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
    own.body = new WholeBody(this.#request.copy.bytes)
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

  /** `error` null: the response is complete. */
  #endPrimary(error: GatewayError | null): void {
    if (this.#isOver || this.#primary.answer !== null) return
    if (!this.#request.isSent) return this.#end()
    // The request's body will never be complete.
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
    // The primary's response has not ended: a client may read for hours.
    if (!this.#isOver) this.#end()
  }

  #settle(): void {
    const primary = this.#primary.answer
    const candidate = this.#candidate.answer
    // The primary's end may cut the candidate, so both ends call this.
    if (this.#isOver || primary === null || candidate === null) return
    const { onPair } = this.#destination
    if (this.#isPairable && onPair !== null) this.#handOn(primary, candidate, onPair)
    else this.#end()
  }

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

  /** Releases everything except both responses. */
  #leave(): void {
    this.#isOver = true
    this.#timer.clear()
    this.#options.copies.end(this)
    this.#request.close(this.#own !== null && !this.#own.bodySent)
  }

  #freeAnswers(): void {
    this.#primary.body.free()
    this.#candidate.body.free()
  }
}

interface CopiedRequestListener {
  /** Each time the request is handed to a connection of the primary. */
  onSent(): void
  /** Once, when the primary's request was sent and its body is complete. */
  onReady(): void
  /** At most once, instead of `onReady`. */
  onDropped(reason: ShadowDropReason): void
}

class CopiedRequest {
  isSent = false
  /** The whole body has arrived, even if `copy` could not keep it. */
  isWhole: boolean
  readonly copy: BodyCopy
  readonly #exchange: Exchange
  readonly #maxBody: number
  readonly #listener: CopiedRequestListener
  #isClosed = false

  /** A body of more than `maxBody` bytes is not copied. */
  constructor(exchange: Exchange, maxBody: number, room: QuotaShare, listener: CopiedRequestListener) {
    const { body } = exchange
    this.#exchange = exchange
    this.#listener = listener
    this.#maxBody = maxBody
    this.copy = new BodyCopy(maxBody, room, body.length)
    this.isWhole = body.length === 0
    exchange.onSent = () => this.#onSent()
    if (!this.isWhole && !body.replayable && !this.#isTooLong) copyRequestBody(body, this.copy, () => this.#onWhole())
  }

  /** Releases the body's quota. `isRead`: its memory is still being sent, so it is not freed. */
  close(isRead: boolean): void {
    this.#isClosed = true
    this.#exchange.onSent = null
    if (isRead) this.copy.release()
    else this.copy.close()
  }

  get #isTooLong(): boolean {
    return (this.#exchange.body.length ?? 0) > this.#maxBody
  }

  #onSent(): void {
    this.#listener.onSent()
    if (this.isSent) return
    this.isSent = true
    const { body } = this.#exchange
    if (this.#isTooLong) this.#listener.onDropped('body-too-large')
    else if (this.isWhole) this.#listener.onReady()
    else if (body.replayable)
      body.read().then(
        (chunks) => this.#onRead(chunks),
        () => {
          if (!this.#isClosed) this.#listener.onDropped('body-unfinished')
        },
      )
  }

  /** Takes a body that was read before it was sent. */
  #onRead(chunks: readonly Buffer[]): void {
    if (this.#isClosed) return
    for (const chunk of chunks) this.copy.push(chunk)
    this.#onWhole()
  }

  #onWhole(): void {
    this.isWhole = true
    if (this.isSent && !this.#isClosed) this.#listener.onReady()
  }
}
