import { BytesBody } from '../../exchange/bodies/bytes-body.ts'
import type { BodySink, ResponseBody } from '../../exchange/body.ts'
import type { Exchange, ProxyResponse } from '../../exchange/exchange.ts'
import { GatewayError } from '../../exchange/failures/errors.ts'
import { type HeaderFields, toClientFields } from '../../exchange/header-fields.ts'
import { freeBuffer, sliceBytes } from '../../lib/buffers.ts'
import { now } from '../../lib/clock.ts'
import type { ActiveRequest } from '../request/active-request.ts'
import { sendLocalReply } from './local-reply.ts'
import { awaitFlush, FlushMonitor } from './response-flush.ts'

/**
 * Writes a response to the client: a body that has already arrived in one write, any other as it comes and as the
 * client takes it.
 */
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
  // Where the response came before the request was complete, what is still on its way is not another request.
  const unread = body?.received === false
  if (unread || activeRequest.isDraining) response.markLast(activeRequest, unread)
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
  response.end(buffered)
  awaitFlush(activeRequest)
}

/** Writes the head; false: the upstream sent something that cannot be written, and the client has been sent a 502. */
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
    const failure = new GatewayError('bad-answer', { reason: 'answer-field', cause })
    sendLocalReply(activeRequest, failure)
    body.discard() // it has no recipient, and layers may wait for its end; first, as the attempt has not failed
    activeRequest.abort(failure)
    return false
  }
}

/** Writes the body as fast as the client takes it. A client that takes nothing for longer than the limit is cut off. */
export class ClientSink implements BodySink {
  readonly #activeRequest: ActiveRequest
  readonly #body: ResponseBody
  readonly #flushMonitor: FlushMonitor
  /** Chunks that were written and not taken yet, oldest first. */
  readonly #unflushed: Buffer[] = []
  readonly #onFlushed = (error?: Error | null): void => {
    const chunk = this.#unflushed.shift()
    // Of a response that was cut, a chunk may still be on its way out to a connection that goes on: freed, it would go
    // out as something else.
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
    // For a large chunk `write` returns false before the system has been asked, which nearly always takes all of it. So
    // what counts is whether it has taken the previous one.
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
    this.#flushMonitor.stop() // `drain` is not emitted any more
    awaitFlush(this.#activeRequest)
  }

  fail(error: GatewayError): void {
    this.#activeRequest.reset(error)
  }
}
