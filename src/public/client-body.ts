import { Alarm } from '../clock.ts'
import type { ListenConfig } from '../config/config.ts'
import type { RequestBody, Upload } from '../exchange.ts'
import { GatewayError } from '../failures/errors.ts'
import { giveBack } from '../shared/give-back.ts'
import { Arrival } from './arrival.ts'
import { Pace } from './pace.ts'
import { Pieces } from './pieces.ts'
import { Uploading } from './uploading.ts'
import type { BodySource, ClientResponse } from './wire.ts'

// Up to this much, with a known length, is read first: sent in one write, and possible to send again.
const replayableBytes = 64 * 1024

/** Is the body of a client's request, untouched until somebody asks for it. */
export class ClientBody implements RequestBody {
  readonly length: number | null
  readonly replayable: boolean
  begun = false
  received: boolean
  receivedBytes = 0
  maxBytes = Number.POSITIVE_INFINITY
  onData: ((chunk: Buffer | null) => void) | null = null
  onBegun: (() => void) | null = null
  onReceived: (() => void) | null = null
  /** Is told why the body will never be complete: `request-timeout`, `content-too-large`. */
  onFailure: ((error: GatewayError) => void) | null = null
  /** Whether the client was told to go on, or never waited. Until then it may send the body or not. */
  invited: boolean
  readonly #request: BodySource
  readonly #response: Pick<ClientResponse, 'writeContinue'>
  readonly #gapMs: number | null
  /** Both are null where there is nothing to wait for: most requests have no body. */
  readonly #gap: Alarm | null
  readonly #pace: Pace | null
  #whole: Promise<readonly Buffer[]> | null = null
  #read: readonly Buffer[] = []
  #waiting: ((error: GatewayError) => void) | null = null

  /** `length` is Content-Length's; null: chunked; 0: no body. `invited`: it does not wait for `100 Continue`. */
  constructor(
    request: BodySource,
    response: Pick<ClientResponse, 'writeContinue'>,
    length: number | null,
    invited: boolean,
    { timeouts, minRate }: Pick<ListenConfig, 'timeouts' | 'minRate'>,
  ) {
    this.length = length
    this.received = length === 0
    this.replayable = length !== null && length > 0 && length <= replayableBytes
    this.invited = invited
    this.#request = request
    this.#response = response
    this.#gapMs = timeouts.body
    this.#gap = this.received ? null : new Alarm(() => this.#fail(stalled()))
    this.#pace = this.received || minRate === null ? null : new Pace(minRate)
  }

  read(): Promise<readonly Buffer[]> {
    this.#whole ??= new Promise((resolve, reject) => {
      const pieces = new Pieces()
      this.#waiting = reject
      this.#listen(
        (chunk) => {
          pieces.push(chunk)
          if (this.receivedBytes === this.length) return
          this.#gap?.set(this.#gapMs)
          this.#pace?.look()
        },
        () => {
          this.#read = pieces.takeAll()
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
            if (this.receivedBytes > this.maxBytes) this.#fail(tooLarge())
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
    for (const piece of this.#read) giveBack(piece)
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
      this.onData?.(chunk)
      onChunk(chunk)
    }
    // Trailers end here: only the data is read.
    const end = (): void => {
      this.received = true
      this.#wait(false)
      this.#waiting = null
      this.onData?.(null)
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
    if (taken) return
    request.on('data', data)
    request.on('end', end)
  }

  /** Bounds the wait for the client, or ends it. */
  #wait(waiting: boolean): void {
    this.#gap?.set(waiting ? this.#gapMs : null)
    if (this.#pace === null) return
    if (!waiting) return this.#pace.go(this)
    const cause = 'sends less than listen.minRate'
    const tooSlow = (): void =>
      this.#fail(new GatewayError('request-timeout', { reason: 'body-too-slow', cause: new Error(cause) }))
    this.#pace.wait(this, () => this.receivedBytes, 0, tooSlow)
  }

  #fail(error: GatewayError): void {
    if (this.received) return
    this.onFailure?.(error)
    this.abandon(error)
  }
}

const stalled = (): GatewayError => new GatewayError('request-timeout', { reason: 'body-stalled' })

const tooLarge = (): GatewayError => new GatewayError('content-too-large', { reason: 'body-too-large-streamed' })
