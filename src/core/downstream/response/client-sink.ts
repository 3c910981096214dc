import type { BodySink, ResponseBody } from '../../exchange/body.ts'
import type { GatewayError } from '../../exchange/failures/errors.ts'
import { freeBuffer } from '../../lib/buffers.ts'
import type { ActiveRequest } from '../request/active-request.ts'
import { awaitFlush, FlushMonitor } from './response-flush.ts'

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
