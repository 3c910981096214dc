import type { Socket } from 'node:net'
import type { GatewayError } from '../../exchange/failures/errors.ts'
import { maxWaitingBytes } from '../../lib/buffers.ts'
import { ChunkQueue } from '../body/chunk-queue.ts'
import type { BodyConsumer, DownstreamRequest, RequestTarget } from '../codec.ts'
import { rejectTunnel } from './request-line.ts'
import type { RequestMessage } from './request-parser.ts'

interface FlowControl {
  pause(): void
  resume(): void
}

// In pieces, so that its consumer can pause between them.
const maxHandedOnBytes = 16 * 1024

/** A request of HTTP/1.0 or 1.1. Its body is handed on as it is parsed. */
export class Http1Request implements DownstreamRequest {
  readonly multiplexed = false
  target: RequestTarget | null = null
  originalUrl: string | undefined = undefined
  url: string
  readonly method: string
  readonly httpVersion: string
  readonly httpVersionMajor = 1
  /** The fields that Fastify reads: none. */
  readonly headers = {}
  readonly rawHeaders: string[]
  readonly socket: Socket
  readonly isPersistent: boolean
  complete: boolean
  onComplete: (() => void) | null = null
  readonly #flow: FlowControl
  #consumer: BodyConsumer | null = null
  /** What has come of the body and was not handed on: it was not asked for yet, or its consumer pauses. */
  #held: ChunkQueue | null = null
  #isPaused = false
  #isHandingOn = false
  #isDiscarded = false

  constructor(
    { method, target, version, fields, length, isPersistent }: RequestMessage,
    socket: Socket,
    flow: FlowControl,
  ) {
    this.method = method
    this.url = target
    this.httpVersion = version
    this.rawHeaders = fields
    this.isPersistent = isPersistent
    this.complete = length === 0
    this.socket = socket
    this.#flow = flow
  }

  validate(): GatewayError | null {
    return rejectTunnel(this.method)
  }

  consume(consumer: BodyConsumer): void {
    // A part of it is gone: it must not pass for the whole.
    if (this.#isDiscarded) return
    this.#consumer = consumer
    this.resume()
  }

  /** Takes what the parser finds of its body; null: the end. */
  receive(chunk: Buffer | null): void {
    if (chunk === null) {
      this.complete = true
      this.#flow.resume() // for the next request, whatever becomes of this one
      this.#handOn()
      this.onComplete?.()
    } else if (this.#consumer !== null && this.#held === null && !this.#isPaused) this.#consumer(chunk)
    else {
      this.#held ??= new ChunkQueue()
      this.#held.push(chunk)
      if (this.#held.bytes >= maxWaitingBytes) this.#flow.pause()
    }
  }

  /** Leaves its body unread, if it was not asked for: its response needs none of it. */
  discardUnasked(): void {
    if (this.#consumer === null && !this.complete) this.discard()
  }

  /** Leaves the rest of its body unread, as it comes. */
  discard(): void {
    this.#isDiscarded = true
    this.#consumer = ignore
    this.#held = null
    this.resume()
  }

  pause(): void {
    this.#isPaused = true
    if (!this.complete) this.#flow.pause()
  }

  resume(): void {
    this.#isPaused = false
    this.#handOn()
    if (!this.#isPaused) this.#flow.resume()
  }

  destroy(): void {
    this.socket.destroy()
  }

  /** Hands on what is held, for as long as its consumer goes on; and behind all of it the end. */
  #handOn(): void {
    const consumer = this.#consumer
    if (consumer === null || this.#isHandingOn) return
    this.#isHandingOn = true
    for (let held = this.#held; held !== null && !this.#isPaused; held = this.#held) {
      const chunk = held.take(maxHandedOnBytes)
      if (held.bytes === 0) this.#held = null
      consumer(chunk)
    }
    this.#isHandingOn = false
    if (!this.complete || this.#held !== null || this.#isPaused) return
    this.#consumer = null
    consumer(null)
  }
}

const ignore = (): void => {}
