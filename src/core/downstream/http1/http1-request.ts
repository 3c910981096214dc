import type { Socket } from 'node:net'
import type { GatewayError } from '../../exchange/failures/errors.ts'
import { maxWaitingBytes, sliceBytes } from '../../lib/buffers.ts'
import { ChunkQueue } from '../body/chunk-queue.ts'
import type { BodyConsumer, BodySource, DownstreamRequest, RequestTarget } from '../codec.ts'
import { rejectTunnel } from './request-line.ts'
import type { RequestMessage } from './request-parser.ts'

export class Http1Request implements DownstreamRequest {
  readonly multiplexed = false
  target: RequestTarget | null = null
  originalUrl: string | undefined = undefined
  url: string
  readonly method: string
  readonly httpVersion: string
  readonly httpVersionMajor = 1
  /** Empty for Fastify, which must find no field. */
  readonly headers = {}
  readonly rawHeaders: string[]
  readonly socket: Socket
  readonly isPersistent: boolean
  complete: boolean
  onComplete: (() => void) | null = null
  readonly #length: number | null
  readonly #flow: Pick<BodySource, 'pause' | 'resume'>
  #consumer: BodyConsumer | null = null
  #held: ChunkQueue | null = null
  #isPaused = false
  #isHandingOn = false
  #isDiscarded = false

  constructor(
    { method, target, version, fields, length, isPersistent }: RequestMessage,
    socket: Socket,
    flow: Pick<BodySource, 'pause' | 'resume'>,
  ) {
    this.method = method
    this.url = target
    this.httpVersion = version
    this.rawHeaders = fields
    this.isPersistent = isPersistent
    this.complete = length === 0
    this.#length = length
    this.socket = socket
    this.#flow = flow
  }

  validate(): GatewayError | null {
    return rejectTunnel(this.method)
  }

  consume(consumer: BodyConsumer): void {
    // A part must not look like the whole body.
    if (this.#isDiscarded) return
    this.#consumer = consumer
    this.resume()
  }

  receive(chunk: Buffer | null): void {
    if (chunk === null) {
      this.complete = true
      this.#flow.resume()
      this.#handOn()
      this.onComplete?.()
    } else if (this.#consumer !== null && this.#held === null && !this.#isPaused) this.#consumer(chunk)
    else {
      this.#held ??= new ChunkQueue(this.#length)
      this.#held.push(chunk)
      if (this.#held.bytes >= maxWaitingBytes) this.#flow.pause()
    }
  }

  discardUnasked(): void {
    if (this.#consumer === null && !this.complete) this.discard()
  }

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

  #handOn(): void {
    const consumer = this.#consumer
    if (consumer === null || this.#isHandingOn) return
    this.#isHandingOn = true
    for (let held = this.#held; held !== null && !this.#isPaused; held = this.#held) {
      const chunk = held.take(sliceBytes)
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
