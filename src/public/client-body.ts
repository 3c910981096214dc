import { Alarm } from '../clock.ts'
import { GatewayError } from '../errors.ts'
import type { RequestBody, Upload } from '../exchange.ts'
import { Arrival } from './arrival.ts'
import { giveBack } from './give-back.ts'
import { Pace } from './pace.ts'
import type { ClientRequest, ClientResponse } from './wire.ts'

// Up to this much, with a known length, is read first: sent in one write, and possible to send again.
const replayableBytes = 64 * 1024

export interface ClientBodyOptions {
  /** Bytes by Content-Length; null: chunked; 0: no body. */
  readonly length: number | null
  /** Longest gap between two pieces; null: none. */
  readonly gapMs: number | null
  /** Slowest rate while the client is waited for; null: none. */
  readonly minBytesPerSecond: number | null
  /** Whether the client waits for `100 Continue` before it sends the body. */
  readonly expectsContinue: boolean
}

/** Is the body of a client's request, untouched until somebody asks for it. */
export class ClientBody implements RequestBody {
  readonly length: number | null
  readonly replayable: boolean
  begun = false
  received: boolean
  receivedBytes = 0
  maxBytes = Number.POSITIVE_INFINITY
  onBegun: (() => void) | null = null
  onReceived: (() => void) | null = null
  /** Is told why the body will never be complete: `request-timeout`, `content-too-large`. */
  onFailure: ((error: GatewayError) => void) | null = null
  /** Whether the client was told to go on, or never waited. Until then it may send the body or not. */
  invited: boolean
  readonly #request: ClientRequest
  readonly #response: ClientResponse
  readonly #gapMs: number | null
  readonly #gap: Alarm
  readonly #pace: Pace | null
  #whole: Promise<Buffer> | null = null
  #read: Buffer | null = null
  #waiting: ((error: GatewayError) => void) | null = null

  constructor(request: ClientRequest, response: ClientResponse, options: ClientBodyOptions) {
    this.length = options.length
    this.received = options.length === 0
    this.replayable = options.length !== null && options.length > 0 && options.length <= replayableBytes
    this.invited = !options.expectsContinue
    this.#request = request
    this.#response = response
    this.#gapMs = options.gapMs
    this.#gap = new Alarm(() => this.#fail(new GatewayError('request-timeout')))
    this.#pace = options.minBytesPerSecond === null ? null : new Pace(options.minBytesPerSecond)
  }

  read(): Promise<Buffer> {
    this.#whole ??= new Promise((resolve, reject) => {
      const chunks: Buffer[] = []
      this.#waiting = reject
      this.#listen(
        (chunk) => {
          chunks.push(chunk)
          if (this.receivedBytes === this.length) return
          this.#gap.set(this.#gapMs)
          this.#pace?.look()
        },
        () => {
          this.#read = joined(chunks)
          resolve(this.#read)
        },
      )
      this.#wait(true)
    })
    return this.#whole
  }

  stream(onFlow: (waitingForClient: boolean) => void): Upload {
    const upload = new Uploading(
      this.#request,
      () =>
        this.#listen(
          (chunk) => {
            if (this.receivedBytes > this.maxBytes) this.#fail(new GatewayError('content-too-large'))
            else upload.push(chunk)
          },
          () => upload.end(),
        ),
      (waiting) => {
        this.#wait(waiting)
        onFlow(waiting)
      },
    )
    this.#waiting = (error) => upload.fail(error)
    return upload
  }

  /** Ends whoever waits for the rest: the client has gone, or will not be listened to any more. */
  abandon(reason: GatewayError): void {
    this.#wait(false)
    this.#waiting?.(reason)
    this.#waiting = null
  }

  /** Frees what was read, when the exchange is over and nothing is written of it any more. */
  free(): void {
    giveBack(this.#read ?? undefined)
  }

  #listen(onChunk: (chunk: Buffer) => void, onEnd: () => void): void {
    this.begun = true
    this.onBegun?.()
    if (!this.invited) {
      this.invited = true
      this.#response.writeContinue()
    }
    const data = (chunk: Buffer): void => {
      this.receivedBytes += chunk.length
      onChunk(chunk)
    }
    // Trailers end here: only the data is read.
    const end = (): void => {
      this.received = true
      this.#wait(false)
      this.#waiting = null
      onEnd()
      this.onReceived?.()
    }
    const request = this.#request
    const taken =
      this.replayable &&
      request instanceof Arrival &&
      request.divert((chunk) => {
        if (chunk === null) end()
        else data(chunk)
      })
    if (!taken) request.on('data', data).on('end', end)
  }

  /** Bounds the wait for the client, or ends it. */
  #wait(waiting: boolean): void {
    this.#gap.set(waiting ? this.#gapMs : null)
    if (this.#pace === null) return
    if (!waiting) return this.#pace.go()
    const cause = 'sends less than listen.minRate'
    const tooSlow = (): void => this.#fail(new GatewayError('request-timeout', { cause: new Error(cause) }))
    this.#pace.wait(() => this.receivedBytes, 0, tooSlow)
  }

  #fail(error: GatewayError): void {
    if (this.received) return
    this.onFailure?.(error)
    this.abandon(error)
  }
}

const joined = (chunks: readonly Buffer[]): Buffer => {
  if (chunks.length === 1) return chunks[0] as Buffer
  const whole = Buffer.concat(chunks)
  for (const chunk of chunks) giveBack(chunk)
  return whole
}

// Each piece is a write of its own, which costs much more than a byte, and a client may send a byte a chunk.
const pieceBytes = 64 * 1024
const worthAWriteBytes = 4 * 1024

interface Pull {
  readonly resolve: (result: IteratorResult<Buffer>) => void
  readonly reject: (error: Error) => void
}

/**
 * Hands the pieces of a request body to undici one at a time, as it asks for them. Nothing is read before it asks: until there is a
 * connection, the client is not told to go on, and after a failure to connect the body is still there.
 */
class Uploading implements Upload, AsyncIterator<Buffer> {
  readonly #request: ClientRequest
  readonly #onFlow: (waitingForClient: boolean) => void
  #start: (() => void) | null
  #chunks: Buffer[] = []
  #queuedBytes = 0
  #flushing: NodeJS.Immediate | null = null
  #ended = false
  #failure: Error | null = null
  #pull: Pull | null = null

  constructor(request: ClientRequest, start: () => void, onFlow: (waitingForClient: boolean) => void) {
    this.#request = request
    this.#start = start
    this.#onFlow = onFlow
  }

  [Symbol.asyncIterator](): AsyncIterator<Buffer> {
    return this
  }

  next(): Promise<IteratorResult<Buffer>> {
    if (this.#failure !== null) return Promise.reject(this.#failure)
    const isEnough = this.#ended || this.#flushing === null || this.#queuedBytes >= worthAWriteBytes
    if (this.#chunks.length > 0 && isEnough) return Promise.resolve({ done: false, value: this.#take() })
    if (this.#ended) return Promise.resolve({ done: true, value: undefined })
    this.#onFlow(true)
    this.#start?.()
    this.#start = null
    this.#request.resume()
    return new Promise((resolve, reject) => {
      this.#pull = { resolve, reject }
    })
  }

  push(chunk: Buffer): void {
    if (this.#failure !== null) return // discarded
    this.#chunks.push(chunk)
    this.#queuedBytes += chunk.length
    if (this.#queuedBytes >= (this.#pull === null ? pieceBytes : worthAWriteBytes)) return this.#flush()
    // Node runs whatever waits between two chunks of one packet, so more of them may be about to come.
    this.#flushing ??= setImmediate(() => this.#flush())
  }

  end(): void {
    this.#ended = true
    if (this.#chunks.length > 0) this.#flush()
    else this.#answer()?.resolve({ done: true, value: undefined })
  }

  fail(error: Error): void {
    this.#failure ??= error
    this.#chunks = []
    this.#answer()?.reject(this.#failure)
  }

  stop(): void {
    if (!this.#ended || this.#chunks.length > 0) this.fail(new Error('the upload was stopped'))
  }

  /** Takes what has come meanwhile, in one piece unless that is more than a piece: a client may send a byte a chunk. */
  #take(): Buffer {
    let [count, bytes] = [0, 0]
    for (const { length } of this.#chunks) {
      if (count > 0 && bytes + length > pieceBytes) break
      count++
      bytes += length
    }
    this.#queuedBytes -= bytes
    return joined(this.#chunks.splice(0, count))
  }

  /** Hands on what is there, or holds the client back when nobody asks for so much. */
  #flush(): void {
    if (this.#flushing !== null) clearImmediate(this.#flushing)
    this.#flushing = null
    if (this.#chunks.length === 0) return
    const pull = this.#answer()
    if (pull !== null) pull.resolve({ done: false, value: this.#take() })
    else if (this.#queuedBytes >= pieceBytes) this.#request.pause()
  }

  #answer(): Pull | null {
    const pull = this.#pull
    if (pull === null) return null
    this.#pull = null
    this.#onFlow(false)
    return pull
  }
}
