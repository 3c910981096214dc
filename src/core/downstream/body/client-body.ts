import type { ListenConfig } from '../../config/config.ts'
import type { RequestBody, Upload } from '../../exchange/body.ts'
import { GatewayError } from '../../exchange/failures/errors.ts'
import { freeBuffer, maxWaitingBytes, sliceBytes } from '../../lib/buffers.ts'
import { CoalescedTimer } from '../../lib/clock.ts'
import type { BodySource, DownstreamResponse } from '../codec.ts'
import { ChunkQueue } from './chunk-queue.ts'
import { MinRateMonitor } from './min-rate.ts'

// Shorter bodies are read first, and sent in one write that a retry can repeat.
const maxReplayableBytes = sliceBytes

/** Reads no byte before the first demand. */
export class ClientBody implements RequestBody {
  readonly length: number | null
  readonly replayable: boolean
  started = false
  received: boolean
  receivedBytes = 0
  maxBytes = Number.POSITIVE_INFINITY
  onData: ((chunk: Buffer | null) => void) | null = null
  onStarted: (() => void) | null = null
  onReceived: (() => void) | null = null
  /** `request-timeout` or `content-too-large`. */
  onFailure: ((error: GatewayError) => void) | null = null
  /** False until the client gets its `100 Continue`. It may still send the body earlier. */
  clientMaySend: boolean
  readonly #request: BodySource
  readonly #response: Pick<DownstreamResponse, 'writeContinue'>
  readonly #idleTimeoutMs: number | null
  readonly #idleTimer: CoalescedTimer | null
  readonly #rateMonitor: MinRateMonitor | null
  #buffering: Promise<readonly Buffer[]> | null = null
  #chunks: readonly Buffer[] = []
  #failReader: ((error: GatewayError) => void) | null = null
  #abortReason: GatewayError | null = null
  #isContinueDue = false
  #isWaiting = false

  /** `length` null: chunked; 0: no body. */
  constructor(
    request: BodySource,
    response: Pick<DownstreamResponse, 'writeContinue'>,
    length: number | null,
    clientMaySend: boolean,
    { timeouts, minRate }: Pick<ListenConfig, 'timeouts' | 'minRate'>,
  ) {
    this.length = length
    this.received = length === 0
    this.replayable = length !== null && length > 0 && length <= maxReplayableBytes
    this.clientMaySend = clientMaySend
    this.#request = request
    this.#response = response
    this.#idleTimeoutMs = timeouts.body
    this.#idleTimer = this.received ? null : new CoalescedTimer(() => this.#fail(createStalledError()))
    this.#rateMonitor = this.received || minRate === null ? null : new MinRateMonitor(minRate)
  }

  read(): Promise<readonly Buffer[]> {
    if (this.#abortReason !== null && this.#buffering === null) return Promise.reject(this.#abortReason)
    this.#buffering ??= new Promise((resolve, reject) => {
      const chunks = new ChunkQueue(this.length)
      this.#failReader = reject
      this.#startReading(
        (chunk) => {
          chunks.push(chunk)
          if (this.receivedBytes === this.length) return
          this.#idleTimer?.set(this.#idleTimeoutMs)
          this.#rateMonitor?.evaluate(0)
        },
        () => {
          this.#chunks = chunks.takeAll()
          resolve(this.#chunks)
        },
      )
      if (!this.received) this.#setWaiting(true)
    })
    return this.#buffering
  }

  stream(onFlow: (waitingForClient: boolean) => void): Upload {
    const upload = new UploadStream(
      this.#request,
      () =>
        this.#startReading(
          (chunk) => {
            if (this.receivedBytes <= this.maxBytes) upload.push(chunk)
            else this.#fail(new GatewayError('content-too-large', { reason: 'body-too-large-streamed' }))
          },
          () => upload.end(),
        ),
      (waiting) => {
        this.#setWaiting(waiting)
        onFlow(waiting)
      },
    )
    this.#failReader = (error) => upload.fail(error)
    if (this.#abortReason !== null) upload.fail(this.#abortReason)
    return upload
  }

  abort(reason: GatewayError): void {
    this.#abortReason ??= reason
    this.#setWaiting(false)
    this.#failReader?.(reason)
    this.#failReader = null
  }

  /** Only after the exchange, when no buffer waits to be written. */
  freeBuffers(): void {
    for (const chunk of this.#chunks) freeBuffer(chunk)
  }

  #startReading(onChunk: (chunk: Buffer) => void, onEnd: () => void): void {
    this.started = true
    this.onStarted?.()
    if (!this.clientMaySend) {
      this.clientMaySend = true
      // `100 Continue` may wait behind earlier responses; meanwhile the client is not slow.
      this.#isContinueDue = true
      this.#response.writeContinue(() => {
        this.#isContinueDue = false
        this.#setWaiting(this.#isWaiting)
      })
    }
    this.#request.consume((chunk) => {
      // Trailers end here.
      if (chunk === null) {
        this.received = true
        this.#setWaiting(false)
        this.#failReader = null
      } else this.receivedBytes += chunk.length
      this.onData?.(chunk)
      if (chunk !== null) return onChunk(chunk)
      onEnd()
      this.onReceived?.()
    })
  }

  #setWaiting(waiting: boolean): void {
    this.#isWaiting = waiting
    if (waiting && this.#isContinueDue) return
    this.#idleTimer?.set(waiting ? this.#idleTimeoutMs : null)
    if (this.#rateMonitor === null) return
    if (!waiting) return this.#rateMonitor.stop(this)
    const cause = 'sends less than listen.minRate'
    const tooSlow = (): void =>
      this.#fail(new GatewayError('request-timeout', { reason: 'body-too-slow', cause: new Error(cause) }))
    this.#rateMonitor.wait(this, () => this.receivedBytes, 0, tooSlow)
  }

  #fail(error: GatewayError): void {
    if (this.received) return
    this.onFailure?.(error)
    this.abort(error)
  }
}

const createStalledError = (): GatewayError => new GatewayError('request-timeout', { reason: 'body-stalled' })

// A write costs much more than a byte, and chunks may have one byte.
const minWriteBytes = 4 * 1024

/** Without a connection to the upstream, no `100 Continue` goes out, and the body stays unread. */
class UploadStream implements Upload {
  readonly #request: BodySource
  readonly #onFlow: (waitingForClient: boolean) => void
  #start: (() => void) | null
  readonly #chunks = new ChunkQueue()
  #scheduledFlush: NodeJS.Immediate | null = null
  #ended = false
  #failure: Error | null = null
  #resumeReader: (() => void) | null = null

  constructor(request: BodySource, start: () => void, onFlow: (waitingForClient: boolean) => void) {
    this.#request = request
    this.#start = start
    this.#onFlow = onFlow
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Buffer, void> {
    for (;;) {
      if (this.#failure !== null) throw this.#failure
      const enough = this.#ended || this.#scheduledFlush === null || this.#chunks.bytes >= minWriteBytes
      if (this.#chunks.bytes > 0 && enough) yield this.#chunks.take(sliceBytes)
      else if (this.#ended) return
      else await this.#waitForMore()
    }
  }

  push(chunk: Buffer): void {
    if (this.#failure !== null) return
    this.#chunks.push(chunk)
    if (this.#chunks.bytes >= (this.#resumeReader === null ? maxWaitingBytes : minWriteBytes)) return this.#flush()
    this.#scheduledFlush ??= setImmediate(() => this.#flush())
  }

  end(): void {
    this.#ended = true
    this.#flush()
    this.#wakeReader()
  }

  fail(error: Error): void {
    this.#failure ??= error
    this.#chunks.clear()
    this.#wakeReader()
  }

  stop(): void {
    if (!this.#ended || this.#chunks.bytes > 0) this.fail(new Error('the upload was stopped'))
  }

  #waitForMore(): Promise<void> {
    return new Promise((resolve) => {
      this.#resumeReader = resolve
      this.#onFlow(true)
      this.#start?.()
      this.#start = null
      this.#request.resume()
    })
  }

  #flush(): void {
    if (this.#scheduledFlush !== null) clearImmediate(this.#scheduledFlush)
    this.#scheduledFlush = null
    if (this.#resumeReader === null && this.#chunks.bytes >= maxWaitingBytes) this.#request.pause()
    if (this.#chunks.bytes > 0) this.#wakeReader()
  }

  #wakeReader(): void {
    const resumeReader = this.#resumeReader
    if (resumeReader === null) return
    this.#resumeReader = null
    this.#onFlow(false)
    resumeReader()
  }
}
