import { now } from '../../clock.ts'
import type { BodySink, ProxyResponse, ResponseBody } from '../../exchange.ts'
import { GatewayError } from '../../failures/errors.ts'
import { fieldNameEquals, getFirstFieldValue, type HeaderFields } from '../../header-fields.ts'
import { freeBuffer } from '../../shared/buffers.ts'
import type { ActiveRequest } from '../request/active-request.ts'
import { sendLocalReply } from './local-reply.ts'
import { awaitFlush, FlushMonitor } from './response-flush.ts'

/**
 * Writes a response to the client: a body that has already arrived in one write, any other as it comes and as the
 * client takes it.
 */
export const relayResponse = (activeRequest: ActiveRequest, proxyResponse: ProxyResponse, via: string): void => {
  const { response } = activeRequest
  if (response.destroyed) return // and the exchange with it
  const fields = buildResponseFields(activeRequest, proxyResponse, via)
  if (!writeHead(activeRequest, proxyResponse, fields)) return

  const buffered = proxyResponse.body.takeBuffered()
  if (buffered === null) return proxyResponse.body.consume(new ClientSink(activeRequest, proxyResponse.body))
  // TLS copies all that is written, whether the client takes it or not: of a stored response, once for each client that
  // reads slowly.
  if (activeRequest.peer.secure && buffered.length > sliceBytes) {
    const sliced = sliceBody(buffered)
    return sliced.consume(new ClientSink(activeRequest, sliced))
  }
  activeRequest.bytesOut = buffered.length
  // As a latin1 string it goes out with the head in one piece; head and buffer as two pieces of one write cost the
  // kernel more.
  if (buffered.length <= maxSingleWriteBytes) response.end(buffered.toString('latin1'), 'latin1')
  else response.end(buffered)
  awaitFlush(activeRequest)
}

// Above this, copying the body costs more than a second piece.
const maxSingleWriteBytes = 8 * 1024

/**
 * Builds the response's fields: the upstream's end-to-end ones, and the few that docs/operations.md says the gateway
 * adds.
 */
const buildResponseFields = (activeRequest: ActiveRequest, proxyResponse: ProxyResponse, via: string): HeaderFields => {
  const { snapshot, requestId, head, body, draining, exchange } = activeRequest
  const requestIdField = snapshot.config.requestId.header
  const lowerRequestIdField = requestIdField?.toLowerCase()
  const fields: string[] = []
  for (let i = 0; i < proxyResponse.fields.length; i += 2) {
    const name = proxyResponse.fields[i] as string
    if (lowerRequestIdField !== undefined && fieldNameEquals(name, lowerRequestIdField)) continue
    // RFC 9110 §8.6: never on a 204; Node would send it all the same.
    if (proxyResponse.status === 204 && fieldNameEquals(name, 'content-length')) continue
    fields.push(name, proxyResponse.fields[i + 1] as string)
  }
  fields.push('Via', via)
  if (requestIdField !== null) fields.push(requestIdField, requestId)
  if (exchange !== null && exchange.addedResponseFields !== null) fields.push(...exchange.addedResponseFields)
  if (head.interactionId !== null && getFirstFieldValue(proxyResponse.fields, 'x-fapi-interaction-id') === undefined)
    fields.push('x-fapi-interaction-id', head.interactionId)
  // Where the response came before the request was complete, what is still on its way is not another request.
  const unread = body?.received === false
  if (unread || draining()) activeRequest.response.markLast(activeRequest, unread)
  return fields
}

/** Writes the head; false: the upstream sent something that cannot be written, and the client has been sent a 502. */
const writeHead = (activeRequest: ActiveRequest, { status, reason }: ProxyResponse, fields: HeaderFields): boolean => {
  try {
    activeRequest.response.writeFields(status, reason, fields)
    activeRequest.firstByteMs = now() - activeRequest.startedAt
    return true
  } catch (cause) {
    const failure = new GatewayError('bad-answer', { reason: 'answer-field', cause })
    sendLocalReply(activeRequest, failure)
    activeRequest.abort(failure) // the body has no recipient
    return false
  }
}

/** The maximum that is written at once where all that is written is copied. */
export const sliceBytes = 64 * 1024

/** Creates a body of a buffer, handed on in slices as they are taken. Others may share the memory. */
export const sliceBody = (buffered: Buffer): ResponseBody => {
  let rest = buffered
  let sink: BodySink | null = null
  const resume = (): void => {
    while (sink !== null && rest.length > 0) {
      const slice = rest.subarray(0, sliceBytes)
      rest = rest.subarray(slice.length)
      if (!sink.data(slice)) return
    }
    sink?.end()
    sink = null
  }
  return {
    isShared: true,
    takeBuffered: () => null,
    consume(bodySink) {
      sink = bodySink
      resume()
    },
    resume,
    discard() {
      sink = null
    },
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
