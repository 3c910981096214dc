import type { Dispatcher } from 'undici'
import { Alarm, now } from '../clock.ts'
import { GatewayError } from '../errors.ts'
import type { Answer, Attempt, AttemptTrace, Exchange, Upload } from '../exchange.ts'
import { firstValue } from '../fields.ts'
import { answerFields, isWithoutContent } from './answer-fields.ts'
import { AnswerQueue, type Source } from './answer-queue.ts'
import type { Connection, EndpointHandler } from './connection.ts'
import type { Endpoint, EndpointRequest } from './endpoint.ts'
import { isFailedAttempt, noteFailedAttempt } from './failed-attempt.ts'
import { failureOf } from './failure-of.ts'
import type { Manner } from './manner.ts'
import { type Outcome, outcomeOf, outcomeOfFailure } from './outcome.ts'
import { isWrongLength } from './undici-errors.ts'

/** Is one attempt on its way through undici: its handler, its timers and its answer. */
export class Sending implements EndpointHandler, Source {
  connection: Connection | null = null
  readonly #exchange: Exchange
  readonly #endpoint: Endpoint
  readonly #manner: Manner
  readonly #attempt: Attempt
  readonly #resolve: (answer: Answer) => void
  readonly #reject: (error: GatewayError) => void
  readonly #alarm: Alarm
  readonly #answer: AnswerQueue
  #request: EndpointRequest | null = null
  #trace: AttemptTrace | null = null
  #upload: Upload | null = null
  #controller: Dispatcher.DispatchController | null = null
  /** The status of the answer; 0: its head has not come. */
  #status = 0
  #fields: readonly string[] = []
  /** Whether the body is being taken, so that a gap in it is the upstream's. */
  #flowing = false
  /** Whether it counts for how long the endpoint takes. */
  #timed = false
  #over = false
  #sentAgain = false
  /** Set when the gateway itself ends the attempt: what undici then reports is only the echo. */
  #ended: GatewayError | null = null

  constructor(
    exchange: Exchange,
    endpoint: Endpoint,
    manner: Manner,
    resolve: (answer: Answer) => void,
    reject: (error: GatewayError) => void,
  ) {
    this.#exchange = exchange
    this.#endpoint = endpoint
    this.#manner = manner
    this.#resolve = resolve
    this.#reject = reject
    this.#attempt = { endpoint: endpoint.name, startedAt: now(), endedAt: null, before: exchange.attempt }
    this.#alarm = new Alarm(() => this.#end(this.#status > 0 ? stalled() : new GatewayError('headers-timeout')))
    this.#answer = new AnswerQueue(this)
    endpoint.inFlight++
    exchange.attempt = this.#attempt
    exchange.attempts++
    exchange.whenAborted((reason) => this.#end(reason))
  }

  /** Streams the request body; the wait for headers counts only while the client is not the one waited for. */
  upload(): Upload | null {
    const { body } = this.#exchange
    if (body.length === 0) return null
    this.#upload = body.stream((waitingForClient) => {
      if (this.#over) return // as it was then, it stays
      this.#exchange.waitsForClient = waitingForClient
      if (this.#status > 0) return
      if (waitingForClient) this.#alarm.clear()
      else this.#alarm.set(this.#manner.headersTimeoutMs)
    })
    return this.#upload
  }

  /** Sends it, once. */
  send(body: EndpointRequest['body']): void {
    // How long the answer to an upload takes is the client's to say as much as the endpoint's.
    this.#timed = this.#manner.watch !== null && this.#upload === null
    if (this.#timed) this.#endpoint.standing.latency.begun(this.#attempt.startedAt)
    this.#endpoint.dispatch(this.#render(body), this)
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    // Ended while it waited for a connection: thrown, because controller.abort() would destroy a connection that nothing was sent on.
    if (this.#ended !== null) throw this.#ended
    // What is sent only once must not go out on what the endpoint has closed. A GET would be sent again.
    if (this.#request?.method === 'POST' && this.connection?.hasEnded() === true) throw endedWhileIdle
    this.#controller = controller
    this.connection?.begin()
    this.#alarm.set(this.#manner.headersTimeoutMs)
  }

  onResponseStart(controller: Dispatcher.DispatchController, status: number, _: unknown, reason?: string): void {
    const { rawHeaders } = controller
    const fields = Array.isArray(rawHeaders) ? answerFields(status, rawHeaders) : []
    if (status < 200) return this.#interim(status, fields)

    this.#status = status
    this.#fields = fields
    this.#alarm.clear() // until somebody takes the body: a small one is there by then
    if (this.#timed) {
      const at = now()
      this.#endpoint.standing.latency.heard(at - this.#attempt.startedAt, at, outcomeOf(status) === 'failure')
    }
    this.#resolve({
      status,
      reason: reason ?? '',
      fields: this.#manner.editAnswer === null ? fields : this.#manner.editAnswer(fields),
      body: this.#answer,
    })
  }

  onResponseData(_: Dispatcher.DispatchController, chunk: Buffer): void {
    if (isWithoutContent(this.#status)) {
      this.#answer.end()
      return this.cancel() // what comes may have no end
    }
    if (this.#flowing) this.#alarm.set(this.#manner.bodyTimeoutMs)
    this.#answer.push(chunk)
  }

  onResponseEnd(): void {
    // An answer may come before its request has been written; and another attempt may still be writing.
    this.#exchange.bodySent = this.connection?.hasWritten === true && this.#exchange.attempts === 1
    this.connection?.finish()
    this.#endpoint.done()
    this.#settle(outcomeOf(this.#status), this.#status)
    this.#answer.end()
  }

  onResponseError(_: Dispatcher.DispatchController | null, error: Error): void {
    // Where nothing was sent there may be a connection, and nothing is wrong with it.
    this.connection?.settle(this.#controller === null && this.connection.isOpen)
    if (this.#over) return this.#endpoint.done()
    // A body as long as its head says is whole: undici (8.12) adds a blank behind the length to its digits, and misses more.
    if (isWrongLength(error) && this.#answer.bytes === Number(firstValue(this.#fields, 'content-length')))
      return this.onResponseEnd()
    if (error === endedWhileIdle && !this.#endpoint.isCut && this.#request !== null)
      return this.#endpoint.redispatch(this.#request, this)
    if (this.#maySendAgain()) return this.#sendAgain(error)
    this.#endpoint.done()
    const failure = this.#ended ?? this.#classify(error)
    this.#settle(outcomeOfFailure(failure, this.#exchange), failure)
    if (this.#status > 0) this.#answer.fail(failure)
    else this.#reject(failure)
  }

  pause(): void {
    this.#flowing = false
    this.#controller?.pause()
    this.#alarm.clear() // the client is slow, not the upstream
  }

  resume(): void {
    if (this.#over) return
    this.#flowing = true
    this.#alarm.set(this.#manner.bodyTimeoutMs)
    this.#controller?.resume()
  }

  cancel(): void {
    if (this.#over) return
    this.#settle(outcomeOf(this.#status), this.#status)
    this.#controller?.abort(new Error('nobody takes the rest'))
  }

  #interim(status: number, fields: string[]): void {
    // A 100 has been left out, a switch of protocols was not asked for, and below 100 is no status.
    if (status < 102)
      throw new GatewayError('bad-answer', { reason: 'answer-status', cause: new Error(`status ${status}`) })
    const { onInterim } = this.#exchange
    if (onInterim === null || status > 103) return
    const { editInterim } = this.#manner
    this.#exchange.begun = true
    onInterim(status, editInterim === null ? fields : editInterim(fields))
  }

  #end(reason: GatewayError): void {
    if (this.#over) return
    this.#ended = reason
    this.#alarm.clear()
    if (this.#controller !== null) return this.#controller.abort(reason)
    // It still waits for its turn, or for a connection: then it is dropped when there is one. Nobody waits for that.
    const waitedForItsTurn = this.#endpoint.withdraw(this)
    this.#settle(waitedForItsTurn ? 'nothing' : outcomeOfFailure(reason, this.#exchange), reason)
    this.#reject(reason)
  }

  /**
   * A connection may be closed for having been idle just when a request goes out on it. Then a safe one is sent once more, on a fresh
   * connection (RFC 9110 §9.2.2, RFC 9112 §9.3.1); of another one nobody can tell whether it was processed.
   */
  #maySendAgain(): boolean {
    const request = this.#request
    return (
      this.#ended === null &&
      !this.#sentAgain &&
      this.#controller !== null &&
      this.connection?.wasStale === true &&
      !this.#endpoint.isCut &&
      request?.method === 'GET' &&
      (request.body === null || Buffer.isBuffer(request.body)) &&
      !this.#exchange.begun
    )
  }

  #sendAgain(error: Error): void {
    this.#trace?.end(null, this.#classify(error))
    this.#sentAgain = true
    this.#controller = null
    this.#alarm.clear()
    this.#exchange.attempts++
    this.#endpoint.dispatchFresh(this.#render(this.#request?.body ?? null), this)
  }

  /** Makes the request anew each time it is sent: a trace tells one sending from another. */
  #render(body: EndpointRequest['body']): EndpointRequest {
    const { trace, fields } = this.#exchange
    this.#trace = trace === null ? null : trace.attempt(this.#endpoint.name)
    this.#request = this.#manner.render(this.#exchange, this.#trace?.fields(fields) ?? fields, body)
    return this.#request
  }

  #settle(outcome: Outcome, why: GatewayError | number): void {
    const { standing } = this.#endpoint
    const { watch } = this.#manner
    this.#over = true
    this.#endpoint.inFlight--
    this.#alarm.clear()
    this.#exchange.whenAborted(null)
    this.#upload?.stop()
    this.#attempt.endedAt = now()
    standing.count(outcome, why)
    if (isFailedAttempt(outcome, why))
      noteFailedAttempt(this.#exchange, this.#endpoint.name, why, this.#manner.onFailure)
    if (this.#timed && this.#status === 0) standing.latency.ended(this.#attempt.endedAt, outcome === 'failure')
    watch?.(outcome, why, this.#attempt.startedAt)
    this.#trace?.end(this.#status === 0 ? null : this.#status, why instanceof GatewayError ? why : null)
  }

  #classify(error: Error): GatewayError {
    return failureOf(error, this.#status > 0 ? 'answered' : this.#controller === null ? 'unsent' : 'sent')
  }
}

const endedWhileIdle = new Error('the endpoint has closed an idle connection')
const stalled = (): GatewayError => new GatewayError('truncated', { reason: 'answer-stalled' })
