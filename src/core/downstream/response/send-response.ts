import { BytesBody } from '../../exchange/bodies/response-bodies.ts'
import type { BodySink, ResponseBody } from '../../exchange/body.ts'
import type { Exchange, ProxyResponse } from '../../exchange/exchange.ts'
import { GatewayError, type ReasonFor } from '../../exchange/failures/errors.ts'
import { reasonPhrase } from '../../exchange/failures/failure-table.ts'
import { type HeaderFields, interactionIdField, toClientFields } from '../../exchange/header-fields.ts'
import { freeBuffer, sliceBytes } from '../../lib/buffers.ts'
import { CoalescedTimer, now } from '../../lib/clock.ts'
import { batchWrite } from '../../lib/turn-writes.ts'
import { MinRateMonitor } from '../body/min-rate.ts'
import type { ActiveRequest } from '../request/active-request.ts'
import { problemFields, renderProblem } from './problem.ts'

/** Call it before the writes of a turn (`prepareWrite`). */
export const relayResponse = (
  activeRequest: ActiveRequest,
  exchange: Exchange,
  proxyResponse: ProxyResponse,
  via: string,
): void => {
  const { response, snapshot, body } = activeRequest
  if (response.destroyed) return proxyResponse.body.discard() // layers may wait for its end
  const { status } = proxyResponse
  const fields = toClientFields(exchange, status, proxyResponse.fields, snapshot.config.requestId.header, via)
  // The rest of an incomplete request must not be parsed as another request.
  const unread = body?.received === false
  if (unread || activeRequest.isDraining) response.markLast(activeRequest.failure, unread)
  if (!writeHead(activeRequest, proxyResponse, fields)) return

  const buffered = proxyResponse.body.takeBuffered()
  if (buffered === null) {
    proxyResponse.body.consume(new ClientSink(activeRequest, proxyResponse.body))
    return response.flushHead()
  }
  if (buffered.length > sliceBytes) {
    const sliced = new BytesBody(buffered)
    return sliced.consume(new ClientSink(activeRequest, sliced))
  }
  activeRequest.bytesOut = buffered.length
  batchWrite(() => {
    response.end(buffered)
    awaitFlush(activeRequest)
  })
}

/** False: the upstream's head cannot be written; the client got a 502. */
const writeHead = (
  activeRequest: ActiveRequest,
  { status, reason, body }: ProxyResponse,
  fields: HeaderFields,
): boolean => {
  try {
    activeRequest.response.writeFields(status, reason, fields)
    activeRequest.firstByteMs = now() - activeRequest.startedAt
    return true
  } catch (cause) {
    const failure = new GatewayError('bad-response', { reason: 'response-field', cause })
    sendLocalReply(activeRequest, failure)
    body.discard() // layers may wait for its end; before `abort`, since the attempt has not failed
    activeRequest.abort(failure)
    return false
  }
}

/** A client that takes nothing within `timeouts.body` is cut off. */
export class ClientSink implements BodySink {
  readonly #activeRequest: ActiveRequest
  readonly #body: ResponseBody
  readonly #flushMonitor: FlushMonitor
  readonly #unflushed: Buffer[] = []
  readonly #onFlushed = (error?: Error | null): void => {
    const chunk = this.#unflushed.shift()
    // A chunk of a cut response may still be on its way: freed memory would be sent.
    if (!error) freeBuffer(chunk)
  }
  #isPaused = false

  constructor(activeRequest: ActiveRequest, body: ResponseBody) {
    this.#activeRequest = activeRequest
    this.#body = body
    this.#flushMonitor = new FlushMonitor(activeRequest)
    activeRequest.response.on('drain', () => {
      if (!this.#isPaused) return
      this.#isPaused = false
      this.#flushMonitor.stop()
      this.#body.resume()
    })
  }

  data(chunk: Buffer): boolean {
    const { response } = this.#activeRequest
    // For a large chunk `write` returns false before it asks the system, which nearly always takes it all. So the
    // previous chunk decides.
    const keepsUp = response.writableLength === 0
    this.#activeRequest.bytesOut += chunk.length
    if (this.#write(chunk) || keepsUp) return true
    this.#isPaused = true
    this.#flushMonitor.start()
    return false
  }

  #write(chunk: Buffer): boolean {
    const { response } = this.#activeRequest
    if (this.#body.isShared) return response.write(chunk)
    this.#unflushed.push(chunk)
    return response.write(chunk, this.#onFlushed)
  }

  end(): void {
    this.#activeRequest.response.end()
    this.#flushMonitor.stop()
    awaitFlush(this.#activeRequest)
  }

  fail(error: GatewayError): void {
    this.#activeRequest.reset(error)
  }
}

// Discarding a larger unread body costs more than a new connection.
const maxDiscardBytes = 64 * 1024

/** A response that has begun is cut off instead. */
export const sendLocalReply = (activeRequest: ActiveRequest, error: GatewayError): void => {
  const { response, snapshot, head } = activeRequest
  activeRequest.failure ??= error
  if (error.kind === 'client-gone' || response.destroyed) return
  if (response.headersSent) return activeRequest.reset(error)

  const requestIdField = snapshot.config.requestId.header
  const body = renderProblem(error.kind, requestIdField === null ? null : activeRequest.requestId, error.violations)
  const fields = [...problemFields, 'Content-Length', String(body.length), ...error.fields]
  if (requestIdField !== null) fields.push(requestIdField, activeRequest.requestId)
  fields.push(...(activeRequest.exchange?.addedResponseFields ?? []))
  if (head.interactionId !== null) fields.push(interactionIdField, head.interactionId)
  if (closesConnection(activeRequest)) response.markLast(activeRequest.failure, true)
  if (activeRequest.request.method !== 'HEAD') activeRequest.bytesOut = body.length
  response.writeFields(error.status, reasonPhrase(error.status), fields)
  activeRequest.firstByteMs = now() - activeRequest.startedAt
  response.end(body) // a string leaves in one piece with the head
  awaitFlush(activeRequest)
}

/** The gateway drains, or the rest of the request is not worth reading. */
const closesConnection = ({ request, head, body, isDraining, expectation, failure }: ActiveRequest): boolean => {
  // RFC 9110 §15.5.9: the gateway has waited for this client already.
  if (isDraining || failure?.kind === 'request-timeout') return true
  if (request.complete || body?.received === true) return false
  if (head.transferEncoding !== null) return true
  const length = Number(head.contentLength ?? 0)
  if (length === 0) return false
  // RFC 9110 §10.1.1: without `100 Continue` the client may send the body or not: the next request could start
  // anywhere.
  return length > maxDiscardBytes || !(body?.clientMaySend ?? expectation !== 'continue')
}

/** Limits how long the end of a written response waits for the client. */
const awaitFlush = (activeRequest: ActiveRequest): void => {
  const { response } = activeRequest
  if (!response.isHeadOfLine) activeRequest.onHeadOfLine = () => awaitFlush(activeRequest)
  else if (!response.isFlushed) new FlushMonitor(activeRequest).start()
}

// Linux reports room in a full send buffer when a third is free, and grows it to 4 MiB by default.
const unreportedBytes = 4 * 1024 * 1024

export class FlushMonitor {
  readonly #activeRequest: ActiveRequest
  readonly #timer: CoalescedTimer
  readonly #rateMonitor: MinRateMonitor | null

  constructor(activeRequest: ActiveRequest) {
    this.#activeRequest = activeRequest
    this.#timer = new CoalescedTimer(() => resetSlowClient(activeRequest, 'takes-nothing', 'takes nothing'))
    this.#rateMonitor = getRateMonitor(activeRequest)
    activeRequest.response.on('close', () => this.stop())
  }

  /** Only at the head of the line: before that, the client can take no byte. */
  start(): void {
    const activeRequest = this.#activeRequest
    const { request, response } = activeRequest
    if (!response.isHeadOfLine) {
      activeRequest.onHeadOfLine = () => this.start()
      return
    }
    const { socket } = request
    const moved = request.multiplexed
      ? () => activeRequest.bytesOut - response.writableLength
      : () => socket.bytesWritten - socket.writableLength
    this.#timer.set(activeRequest.snapshot.config.listen.timeouts.body)
    // The system reports a write only when it has taken all of its bytes.
    this.#rateMonitor?.wait(activeRequest, moved, sliceBytes, () =>
      resetSlowClient(activeRequest, 'takes-too-slowly', 'takes less than listen.minRate'),
    )
  }

  stop(): void {
    this.#activeRequest.onHeadOfLine = null
    this.#timer.clear()
    this.#rateMonitor?.stop(this.#activeRequest)
  }
}

const resetSlowClient = (activeRequest: ActiveRequest, reason: ReasonFor<'client-gone'>, cause: string): void =>
  activeRequest.reset(new GatewayError('client-gone', { reason, cause: new Error(cause) }))

const rateMonitors = new WeakMap<object, MinRateMonitor>()

/** HTTP/1: one a connection, so that many small responses count like a large one. HTTP/2: one a stream. */
const getRateMonitor = ({ snapshot, request }: ActiveRequest): MinRateMonitor | null => {
  const { minRate } = snapshot.config.listen
  if (minRate === null) return null
  const key = request.multiplexed ? request : request.socket
  const known = rateMonitors.get(key)
  if (known?.bytesPerSecond === minRate) return known
  const monitor = new MinRateMonitor(minRate, unreportedBytes)
  rateMonitors.set(key, monitor)
  return monitor
}
