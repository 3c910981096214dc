import type { Dispatcher } from 'undici'
import { Alarm, now } from '../clock.ts'
import type { UpstreamConfig } from '../config/config.ts'
import { GatewayError } from '../errors.ts'
import type { Answer, Attempt, Exchange, Upload } from '../exchange.ts'
import { without } from '../fields.ts'
import { answerFields } from './answer-fields.ts'
import { AnswerQueue, type Source } from './answer-queue.ts'
import { type Edit, edit, withTwins } from './edits.ts'
import type { Endpoint, EndpointHandler, EndpointRequest } from './endpoint.ts'
import { isMalformed, isRefusal } from './undici-errors.ts'

/** Sends an exchange to an endpoint and answers with what comes back. */
export type Send = (exchange: Exchange, endpoint: Endpoint) => Promise<Answer>

/** Says how an upstream wants to be sent to, compiled once from its configuration. */
interface Manner {
  readonly host: UpstreamConfig['host']
  readonly headersTimeoutMs: number | null
  readonly bodyTimeoutMs: number | null
  readonly editRequest: Edit | null
  readonly editAnswer: Edit | null
  readonly editInterim: Edit | null
}

/**
 * Compiles the sending half of an upstream's configuration. Method, catalog path, raw query, end-to-end fields and body go out as they
 * came. The answer is resolved at its head. Throws every `upstream` kind of the table of failures, and the reason of an abort.
 */
export const sender = (config: UpstreamConfig): Send => {
  const manner: Manner = {
    host: config.host,
    headersTimeoutMs: config.headersTimeoutMs,
    bodyTimeoutMs: config.bodyTimeoutMs,
    editRequest: edit(config.request, withTwins),
    editAnswer: edit(config.response),
    // What the final answer says otherwise or not at all, no interim one says before it.
    editInterim: edit({ set: [], remove: [...config.response.remove, ...config.response.set.map(({ name }) => name)] }),
  }
  const dispatch = (exchange: Exchange, endpoint: Endpoint, body: Buffer | null): Promise<Answer> =>
    new Promise((resolve, reject) => {
      if (exchange.aborted !== null) return reject(exchange.aborted)
      const sending = new Sending(exchange, endpoint, manner, resolve, reject)
      endpoint.dispatch(request(exchange, endpoint, manner, body ?? sending.upload()), sending)
    })
  return (exchange, endpoint) =>
    exchange.body.replayable
      ? exchange.body.read().then((body) => dispatch(exchange, endpoint, body))
      : dispatch(exchange, endpoint, null)
}

const request = (
  exchange: Exchange,
  endpoint: Endpoint,
  { editRequest, host }: Manner,
  body: Buffer | Upload | null,
): EndpointRequest => {
  const { operation, query } = exchange
  return {
    method: operation.method,
    path: endpoint.pathPrefix + operation.path + query,
    headers: editRequest === null ? exchange.fields : editRequest(exchange.fields),
    host: hostToSend(host, exchange.authority),
    body,
    bodyLength: exchange.body.length,
  }
}

const hostToSend = (host: UpstreamConfig['host'], authority: string): string | null => {
  if (host === 'endpoint') return null
  if (host !== 'client') return host.name
  return authority === '' ? null : authority // an HTTP/1.0 client may name none
}

/** Is one exchange on its way through undici: its handler, its timers and its answer. */
class Sending implements EndpointHandler, Source {
  readonly #exchange: Exchange
  readonly #endpoint: Endpoint
  readonly #manner: Manner
  readonly #attempt: Attempt
  readonly #resolve: (answer: Answer) => void
  readonly #reject: (error: GatewayError) => void
  readonly #alarm: Alarm
  readonly #answer: AnswerQueue
  #upload: Upload | null = null
  #controller: Dispatcher.DispatchController | null = null
  #headed = false
  /** Whether the body is being taken, so that a gap in it is the upstream's. */
  #flowing = false
  #over = false
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
    this.#attempt = { endpoint: endpoint.name, startedAt: now(), endedAt: null }
    this.#alarm = new Alarm(() => this.#end(new GatewayError(this.#headed ? 'truncated' : 'headers-timeout')))
    this.#answer = new AnswerQueue(this)
    endpoint.inFlight++
    exchange.attempt = this.#attempt
    exchange.whenAborted((reason) => this.#end(reason))
  }

  get over(): boolean {
    return this.#over
  }

  /** Streams the request body; the wait for headers counts only while the client is not the one waited for. */
  upload(): Upload | null {
    const { body } = this.#exchange
    if (body.length === 0) return null
    this.#upload = body.stream((waitingForClient) => {
      if (this.#headed || this.#over) return
      if (waitingForClient) this.#alarm.clear()
      else this.#alarm.set(this.#manner.headersTimeoutMs)
    })
    return this.#upload
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    // Ended while it waited for a connection: thrown, because controller.abort() would destroy a connection that nothing was sent on.
    if (this.#ended !== null) throw this.#ended
    this.#controller = controller
    this.#alarm.set(this.#manner.headersTimeoutMs)
  }

  onResponseStart(controller: Dispatcher.DispatchController, status: number, _: unknown, reason?: string): void {
    const { rawHeaders } = controller
    const fields = Array.isArray(rawHeaders) ? answerFields(rawHeaders) : []
    if (status < 200) return this.#interim(status, fields)

    this.#headed = true
    this.#alarm.clear() // until somebody takes the body: a small one is there by then
    this.#resolve({
      status,
      reason: reason ?? '',
      fields: this.#manner.editAnswer === null ? fields : this.#manner.editAnswer(fields),
      body: this.#answer,
    })
  }

  onResponseData(_: Dispatcher.DispatchController, chunk: Buffer): void {
    if (this.#flowing) this.#alarm.set(this.#manner.bodyTimeoutMs)
    this.#answer.push(chunk)
  }

  onResponseEnd(): void {
    this.#settle()
    this.#answer.end()
  }

  onResponseError(_: Dispatcher.DispatchController | null, error: Error): void {
    if (this.#over) return
    this.#settle()
    const failure = this.#ended ?? this.#classify(error)
    if (this.#headed) this.#answer.fail(failure)
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

  #interim(status: number, fields: string[]): void {
    // 100 is undici's error, a switch of protocols was not asked for, and below 100 is no status.
    if (status < 102) throw new GatewayError('bad-answer', { cause: new Error(`status ${status}`) })
    const { onInterim } = this.#exchange
    if (onInterim === null || status > 103) return
    const { editInterim } = this.#manner
    // RFC 9110 §8.6: a length never stands in an interim answer.
    const sound = without(fields, contentLength)
    onInterim(status, editInterim === null ? sound : editInterim(sound))
  }

  #end(reason: GatewayError): void {
    if (this.#over) return
    this.#ended = reason
    this.#alarm.clear()
    // Without a controller the request still waits for a connection. It is dropped when one is ready; nobody waits for that.
    if (this.#controller !== null) return this.#controller.abort(reason)
    this.#settle()
    this.#reject(reason)
  }

  #settle(): void {
    this.#over = true
    this.#endpoint.inFlight--
    this.#alarm.clear()
    this.#exchange.whenAborted(null)
    this.#upload?.stop()
    this.#attempt.endedAt = now()
  }

  #classify(error: Error): GatewayError {
    // Thrown by the connector, by the request's own body, or by what the answer's head held.
    if (error instanceof GatewayError) return error
    if (isRefusal(error)) return new GatewayError('internal', { cause: error })
    if (this.#controller === null) return new GatewayError('connect-failed', { cause: error })
    if (this.#headed) return new GatewayError('truncated', { cause: error })
    return new GatewayError(isMalformed(error) ? 'bad-answer' : 'reset-before-headers', { cause: error })
  }
}

const contentLength: ReadonlySet<string> = new Set(['content-length'])
