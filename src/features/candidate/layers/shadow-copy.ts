import { BodyCopy, copyRequestBody } from '../../../core/exchange/bodies/body-copy.ts'
import { WholeBody } from '../../../core/exchange/bodies/buffered-bodies.ts'
import { ObservedResponseBody } from '../../../core/exchange/bodies/response-bodies.ts'
import {
  createBackgroundExchange,
  type Exchange,
  type Handler,
  type ProxyResponse,
} from '../../../core/exchange/exchange.ts'
import { GatewayError } from '../../../core/exchange/failures/errors.ts'
import { mayBeUpstreamFault } from '../../../core/exchange/failures/failure-table.ts'
import { getFirstFieldValue, type HeaderFields, hasTokenInQuery } from '../../../core/exchange/header-fields.ts'
import { CoalescedTimer, now } from '../../../core/lib/clock.ts'
import type { OperationId } from '../../../operations.ts'
import type { CandidateShadowConfig } from '../config/candidate.ts'
import type { OnShadowPair } from '../observe/compare/comparison.ts'
import type { ShadowDropReason } from '../observe/shadow-kinds.ts'
import { CandidateReader, ResponseRecorder } from './response-recorder.ts'
import { type ShadowCopies, type StoppableCopy, toShadowOutcome } from './shadow-copies.ts'

/** Sends requests again, on connections that carry nothing else. */
export interface CopySender {
  readonly send: Handler
  isUp(): boolean
  /** Null: responses are counted, not compared. */
  readonly onPair: OnShadowPair | null
}

export interface CopyDestination extends CopySender {
  readonly toFields: (fields: HeaderFields) => HeaderFields
  readonly credentials: CandidateShadowConfig['credentials']
  readonly counts: ShadowCopies['counts']
  readonly onSend: ((operation: OperationId) => void) | null
  /** How long a repeat to the primary waits. Null: the copy goes to the candidate, at once. */
  readonly afterMs: number | null
}

/** `timeout`: milliseconds from the sending to the end of the response. */
export interface CopyOptions extends Pick<CandidateShadowConfig, 'timeout' | 'maxBody'> {
  readonly copies: ShadowCopies
  readonly requestIdField: string | null
}

/**
 * Sent after the primary's request, when the body is complete. Ends when both sides have responded, or after `timeout`.
 */
export class ShadowCopy implements StoppableCopy {
  slot = -1
  readonly #exchange: Exchange
  readonly #destination: CopyDestination
  readonly #options: CopyOptions
  readonly #timer = new CoalescedTimer(() => (this.#own === null ? this.#begin() : this.#onTimeout()))
  readonly #body: BodyCopy
  readonly #primary: ResponseRecorder
  readonly #candidate: ResponseRecorder
  readonly #reader: CandidateReader
  #isSent = false
  /** `#body` may have no room for it. */
  #isWhole: boolean
  #own: Exchange | null = null
  /** False: the primary's response was cut, but not by the primary. */
  #isPairable = true
  #isOver = false

  constructor(exchange: Exchange, destination: CopyDestination, options: CopyOptions) {
    const { maxBody, copies } = options
    const { body } = exchange
    this.#exchange = exchange
    this.#destination = destination
    this.#options = options
    const isCompared = destination.onPair !== null
    this.#primary = new ResponseRecorder(maxBody, copies.room, isCompared)
    this.#candidate = new ResponseRecorder(maxBody, copies.room, isCompared)
    this.#reader = new CandidateReader(this.#candidate, this.#primary, (error) => this.#onCandidateEnd(error))
    this.#body = new BodyCopy(maxBody, copies.room, body.length)
    this.#isWhole = body.length === 0
    exchange.onSent = () => this.#onSent()
    if (!this.#isWhole && !body.replayable && !this.#isTooLong) copyRequestBody(body, this.#body, () => this.#onWhole())
  }

  onResponse(response: ProxyResponse): ProxyResponse {
    if (this.#isOver) return response
    this.#primary.head(response)
    const { status, reason, fields } = response
    const body = new ObservedResponseBody(response.body, {
      onChunk: (chunk) => {
        if (this.#isOver || !this.#isPairable) return
        this.#primary.push(chunk)
        this.#reader.readOn()
      },
      onWhole: (whole) => {
        if (!this.#isOver && this.#isPairable) this.#primary.keep(whole)
      },
      onEnd: () => this.#endPrimary(null),
      onCut: (error) => this.#endPrimary(error ?? new GatewayError('client-gone')),
    })
    return { status, reason, fields, body }
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

  get #isTooLong(): boolean {
    return (this.#exchange.body.length ?? 0) > this.#options.maxBody
  }

  #onSent(): void {
    this.#primary.sentAt = now()
    if (this.#isSent) return
    this.#isSent = true
    const { body } = this.#exchange
    if (this.#isTooLong) this.#drop('body-too-large')
    else if (this.#isWhole) this.#beginLater()
    else if (body.replayable)
      body.read().then(
        (chunks) => {
          if (this.#isOver) return
          for (const chunk of chunks) this.#body.push(chunk)
          this.#onWhole()
        },
        () => {
          if (!this.#isOver) this.#drop('body-unfinished')
        },
      )
  }

  #onWhole(): void {
    this.#isWhole = true
    if (this.#isSent && !this.#isOver) this.#beginLater()
  }

  /** After this turn's writes: the primary's request goes out first. */
  #beginLater(): void {
    if (!this.#options.copies.sending.add(() => this.#admit())) this.#drop('full')
  }

  #admit(): void {
    if (this.#isOver || this.#own !== null) return
    const { credentials, isUp, afterMs } = this.#destination
    const { failure } = this.#body
    if (failure !== null) return this.#drop(failure === 'busy' ? 'no-room' : 'body-too-large')
    if (credentials === 'remove' && hasTokenInQuery(this.#exchange.query)) return this.#drop('credential-in-query')
    if (!isUp()) return this.#drop('no-endpoint')
    const rejected = this.#options.copies.begin(this)
    if (rejected !== null) return this.#drop(rejected)
    if (afterMs === null) this.#begin()
    else this.#timer.set(afterMs)
  }

  #begin(): void {
    const { counts, send, toFields, onSend } = this.#destination
    const own = createBackgroundExchange(this.#exchange, true)
    own.fields = toFields(this.#exchange.fields)
    own.body = new WholeBody(this.#body.bytes)
    own.trace = null
    own.onSent = () => {
      this.#candidate.sentAt = now()
    }
    this.#own = own
    this.#candidate.sentAt = now()
    counts.sent++
    onSend?.(own.operation.id)
    this.#timer.set(this.#options.timeout)
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

  #endPrimary(error: GatewayError | null): void {
    if (this.#isOver || this.#primary.response !== null) return
    if (!this.#isSent) return this.#end()
    if (this.#own === null && !this.#isWhole) return this.#drop('body-unfinished')
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
    const [primary, candidate] = [this.#primary.response, this.#candidate.response]
    // Both ends call this: the primary's end may cut the candidate.
    if (this.#isOver || primary === null || candidate === null) return
    const { onPair, counts } = this.#destination
    if (!this.#isPairable || onPair === null) return this.#end()
    this.#leave()
    const { operation, fields } = this.#exchange
    const { requestIdField, copies } = this.#options
    const requestId = (requestIdField === null ? undefined : getFirstFieldValue(fields, requestIdField)) ?? null
    const isQueued = copies.comparing.add(() => {
      try {
        counts.pairs++
        onPair(primary, candidate, { operation: operation.id, requestId })
      } finally {
        this.#freeResponses()
      }
    })
    if (!isQueued) this.#freeResponses()
  }

  #drop(reason: ShadowDropReason): void {
    this.#destination.counts.dropped[reason]++
    this.#end()
  }

  #end(): void {
    this.#leave()
    this.#freeResponses()
  }

  #leave(): void {
    this.#isOver = true
    this.#timer.clear()
    this.#options.copies.end(this)
    this.#exchange.onSent = null
    // A body that is still being sent is not freed.
    if (this.#own !== null && !this.#own.bodySent) this.#body.release()
    else this.#body.close()
  }

  #freeResponses(): void {
    this.#primary.free()
    this.#candidate.free()
  }
}
