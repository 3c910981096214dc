import { ResponseBodyQueue, type ResponseBodySource } from '../../exchange/bodies/response-bodies.ts'
import type { Upload } from '../../exchange/body.ts'
import type { AttemptRecord, AttemptTrace, Exchange, ProxyResponse } from '../../exchange/exchange.ts'
import { GatewayError } from '../../exchange/failures/errors.ts'
import type { HeaderFields } from '../../exchange/header-fields.ts'
import { CoalescedTimer, now } from '../../lib/clock.ts'
import { MalformedResponseError } from '../classify-error.ts'
import type { Endpoint } from '../endpoints/endpoint.ts'
import type { EndpointHealth } from '../health/endpoint-health.ts'
import type { PlaceWaiter } from '../http1/client-places.ts'
import type { ResponseHandler, UpstreamConnection } from '../http1/connection.ts'
import type { HeaderMutation, RequestContent } from '../http1/write-request.ts'
import {
  type AttemptOutcome,
  classifyFailure,
  classifyStatus,
  type OnFailedAttempt,
  recordIfFailed,
} from './attempt-outcome.ts'

export interface SendOptions {
  readonly headersTimeoutMs: number | null
  readonly bodyTimeoutMs: number | null
  readonly mutateResponse: HeaderMutation | null
  readonly mutateInterim: HeaderMutation | null
  readonly onOutcome: EndpointHealth['recordForComparison'] | null
  readonly onFailure: OnFailedAttempt
  readonly render: (exchange: Exchange, fields: HeaderFields, isLast: boolean) => string
}

const maxInterimResponses = 100

export class UpstreamAttempt implements PlaceWaiter, ResponseHandler, ResponseBodySource {
  readonly isSentOnce: boolean
  readonly isLast: boolean
  readonly exchange: Exchange
  readonly #endpoint: Endpoint
  readonly #options: SendOptions
  readonly #record: AttemptRecord
  readonly #wasSentBefore: boolean
  readonly #resolve: (response: ProxyResponse) => void
  readonly #reject: (error: GatewayError) => void
  readonly #timer: CoalescedTimer
  readonly #responseBody: ResponseBodyQueue
  #head = ''
  #body: RequestContent = []
  #upload: Upload | null = null
  #trace: AttemptTrace | null = null
  #connection: UpstreamConnection | null = null
  #status = 0
  #interimCount = 0
  /** The body is being read, so a gap is the upstream's. */
  #isFlowing = false
  #heldBackMs = 0
  #heldBackSince: number | null = null
  #isTimed = false
  #isFinished = false
  #isResent = false

  constructor(
    exchange: Exchange,
    endpoint: Endpoint,
    options: SendOptions,
    resolve: (response: ProxyResponse) => void,
    reject: (error: GatewayError) => void,
  ) {
    this.isSentOnce = exchange.operation.method === 'POST'
    // RFC 9110 §9.3.1: an endpoint that does not read the content of a GET takes it for the next request.
    this.isLast = !this.isSentOnce && exchange.body.length !== 0
    this.exchange = exchange
    this.#endpoint = endpoint
    this.#options = options
    this.#resolve = resolve
    this.#reject = reject
    this.#record = {
      endpoint: endpoint.name,
      side: exchange.servingSide,
      startedAt: now(),
      endedAt: null,
      mayBeCut: false,
      previous: exchange.attemptOnSide,
    }
    this.#wasSentBefore = exchange.attempts.wasSent
    this.#timer = new CoalescedTimer(() => this.#abort(timeoutError(this.#status)))
    this.#responseBody = new ResponseBodyQueue(this)
    endpoint.inFlight++
    exchange.attempts.last = this.#record
    exchange.attempts.count++
    exchange.setAbortListener((reason) => this.#abort(reason))
  }

  start(body: readonly Buffer[] | null): void {
    this.#body = body ?? this.#stream() ?? []
    this.#isTimed = this.#upload === null
    if (this.#isTimed) this.#endpoint.health.latency.requestSent(this.#record.startedAt)
    try {
      this.#render()
      this.#endpoint.acquire(this)
    } catch (error) {
      this.onError(GatewayError.from(error))
    }
  }

  onConnection(connection: UpstreamConnection): boolean {
    if (this.#isFinished) return false
    this.#connection = connection
    this.#timer.set(this.#options.headersTimeoutMs)
    this.exchange.attempts.wasSent = true
    connection.send(this, this.#head, this.#body, this.exchange.body.length)
    this.exchange.onSent?.()
    return true
  }

  onInterim(status: number, fields: string[]): void {
    // Nothing else limits an upstream that sends interim responses without end.
    if (++this.#interimCount > maxInterimResponses)
      throw new MalformedResponseError(
        'response-fields-too-large',
        `more than ${maxInterimResponses} interim responses`,
      )
    const { onInterim } = this.exchange
    // RFC 9110 §15.2.1: the gateway sends no Expect, so nothing waits for a 100.
    if (onInterim === null || status === 100 || status > 103) return
    const { mutateInterim } = this.#options
    this.exchange.responseStarted = true
    onInterim(status, mutateInterim === null ? fields : mutateInterim(fields))
  }

  onHead(status: number, reason: string, fields: string[]): void {
    this.#status = status
    this.#record.mayBeCut = this.#connection?.mayBeCut === true
    this.#timer.clear() // restarted when the body is read; a small body has then arrived
    if (this.#isTimed) {
      const at = now()
      this.#endpoint.health.latency.headReceived(at - this.#record.startedAt, at, classifyStatus(status) === 'failure')
    }
    const { mutateResponse } = this.#options
    const forwarded = mutateResponse === null ? fields : mutateResponse(fields)
    this.#resolve({ status, reason, fields: forwarded, body: this.#responseBody })
  }

  onBody(chunk: Buffer): void {
    if (this.#isFlowing) this.#timer.set(this.#options.bodyTimeoutMs)
    this.#responseBody.push(chunk)
  }

  onEnd(): void {
    // A response may precede the end of its request, and another attempt may still be writing.
    this.exchange.bodySent = this.#connection?.hasWritten === true && this.exchange.attempts.count === 1
    this.#settle(classifyStatus(this.#status), this.#status)
    this.#responseBody.end()
  }

  onError(error: GatewayError): void {
    if (this.#isFinished) return
    const connection = this.#connection
    this.#restoreUnsent()
    if (connection !== null && this.#mayResend(connection)) this.#resend(connection, error)
    else this.#fail(error)
  }

  pause(): void {
    this.#isFlowing = false
    this.#timer.clear()
    this.#heldBackSince ??= now()
    if (!this.#isFinished) this.#connection?.pause()
  }

  resume(): void {
    if (this.#isFinished) return
    this.#endHold()
    this.#isFlowing = true
    this.#timer.set(this.#options.bodyTimeoutMs)
    this.#connection?.resume()
  }

  cancel(): void {
    if (this.#isFinished) return
    this.#settle(classifyStatus(this.#status), this.#status)
    this.#connection?.abort()
  }

  /** The headers timeout is paused while the gateway waits for the client. */
  #stream(): Upload | null {
    const { body } = this.exchange
    if (body.length === 0) return null
    this.#upload = body.stream((waitingForClient) => {
      if (this.#isFinished) return
      this.exchange.waitsForClient = waitingForClient
      if (this.#status > 0) return
      if (waitingForClient) this.#timer.clear()
      else this.#timer.set(this.#options.headersTimeoutMs)
    })
    return this.#upload
  }

  #abort(reason: GatewayError): void {
    if (this.#isFinished) return
    const isUnwritten = this.#restoreUnsent()
    this.exchange.endedInQueue = isUnwritten || (this.#connection === null && this.#endpoint.pool.cancel(this))
    this.#fail(reason)
    this.#connection?.abort()
  }

  #fail(failure: GatewayError): void {
    this.#endHold()
    const outcome = classifyFailure(failure, this.exchange, this.#heldBackMs)
    this.#settle(outcome, failure)
    if (this.#status === 0) return this.#reject(failure)
    if (outcome === 'failure') this.exchange.onBrokenResponse?.()
    this.#responseBody.fail(failure)
  }

  #endHold(): void {
    if (this.#heldBackSince !== null) this.#heldBackMs += now() - this.#heldBackSince
    this.#heldBackSince = null
  }

  #restoreUnsent(): boolean {
    if (this.#connection?.isUnsent !== true) return false
    this.exchange.attempts.wasSent = this.#wasSentBefore
    return true
  }

  /**
   * RFC 9112 §9.3.1: an endpoint may close an idle connection just when a request is sent. RFC 9110 §9.2.2: a request
   * that was written and is not safe may have been processed.
   */
  #mayResend({ isUnsent, isStale }: UpstreamConnection): boolean {
    if (this.#isResent || this.#endpoint.pool.isDestroyed) return false
    return isUnsent || (isStale && !this.isSentOnce && this.#upload === null && !this.exchange.responseStarted)
  }

  #resend({ isUnsent }: UpstreamConnection, error: GatewayError): void {
    this.#isResent = true
    this.#connection = null
    this.#timer.clear()
    if (!isUnsent) {
      this.#trace?.end(null, error)
      this.exchange.attempts.count++
      this.#render()
    }
    this.#endpoint.pool.acquireFresh(this)
  }

  #render(): void {
    const { trace, fields } = this.exchange
    this.#trace = trace === null ? null : trace.attempt(this.#endpoint.name, this.#record.side)
    this.#head = this.#options.render(this.exchange, this.#trace?.fields(fields) ?? fields, this.isLast)
  }

  #settle(outcome: AttemptOutcome, errorOrStatus: GatewayError | number): void {
    const { health } = this.#endpoint
    this.#isFinished = true
    this.#endpoint.inFlight--
    this.#timer.clear()
    this.exchange.setAbortListener(null)
    this.#upload?.stop()
    this.#record.endedAt = now()
    health.recordOutcome(outcome, errorOrStatus)
    recordIfFailed(this.exchange, this.#endpoint.name, outcome, errorOrStatus, this.#options.onFailure)
    if (this.#isTimed && this.#status === 0) health.latency.requestEnded(this.#record.endedAt, outcome === 'failure')
    this.#options.onOutcome?.(outcome, errorOrStatus, this.#record.startedAt)
    const failure = typeof errorOrStatus === 'number' ? null : errorOrStatus
    this.#trace?.end(this.#status === 0 ? null : this.#status, failure)
  }
}

const timeoutError = (status: number): GatewayError =>
  status === 0 ? new GatewayError('headers-timeout') : new GatewayError('truncated', { reason: 'response-stalled' })
