import type { X509Certificate } from 'node:crypto'
import { now } from './clock.ts'
import type { FailedAttempt, GatewayError } from './failures/errors.ts'
import type { AuthMethod } from './failures/reasons.ts'
import type { HeaderFields } from './header-fields.ts'
import type { Operation } from './operations.ts'

/** Answers one exchange. Everything behind an operation is one of these. */
export type Handler = (exchange: Exchange) => Promise<ProxyResponse>

/** Wraps a handle with one feature. */
export type Layer = (next: Handler) => Handler

/** Folds layers around the innermost handle, the first outermost. What is off is not in the list and costs nothing. */
export const compose = (layers: readonly (Layer | null)[], innermost: Handler): Handler =>
  layers.reduceRight<Handler>((next, layer) => (layer === null ? next : layer(next)), innermost)

/** Is what comes back: the head is complete, the body may still be arriving. */
export interface ProxyResponse {
  /** 200–999: interim answers go to {@link Exchange.onInterim}. */
  readonly status: number
  /** The upstream's reason phrase; empty: the standard one. */
  readonly reason: string
  /** End-to-end fields only. */
  readonly fields: HeaderFields
  readonly body: ResponseBody
}

/** Delivers the body of an answer, once. */
export interface ResponseBody {
  /** Whether its chunks are read by others too, or again: whoever has sent one then leaves its memory alone. */
  readonly isShared: boolean
  /** Takes the whole body if it has already ended: the one-write path. Null: it is still arriving, or has failed. */
  takeBuffered(): Buffer | null
  /** Starts delivery, beginning with what has already arrived. */
  consume(sink: BodySink): void
  /** Goes on after the sink answered false. */
  resume(): void
  /** Ends the delivery of a body that nobody takes; one that is still arriving costs its connection. Instead of `whole` and `consume`. */
  discard(): void
}

/** Takes the chunks of a body as they come. Exactly one of `end` and `fail` is called, last. */
export interface BodySink {
  /** Takes a chunk; false asks to wait until {@link ResponseBody.resume}. */
  data(chunk: Buffer): boolean
  end(): void
  fail(error: GatewayError): void
}

/** Is the body of a request, read at most once from the client and only when somebody asks for it. */
export interface RequestBody {
  /** Bytes by Content-Length; 0 when there is no body; null when it is chunked. */
  readonly length: number | null
  /** Whether the whole of it has arrived. */
  readonly received: boolean
  /** Whether it is small enough to be read first, sent in one write and sent again. */
  readonly replayable: boolean
  /** Whether somebody has begun to read it. Until then, one that streams is all there, and can still be sent. */
  readonly started: boolean
  /** Most bytes, counted while they stream; exceeding it ends the exchange with `content-too-large`. */
  maxBytes: number
  /** Hears the bytes as they come from the client, before whoever reads them; null: that was all. */
  onData: ((chunk: Buffer | null) => void) | null
  /** Is called once when somebody begins to read it: a body that streams is not read before there is a connection to send it on. */
  onStarted: (() => void) | null
  /** Is called once when the whole of it has arrived. */
  onReceived: (() => void) | null
  /** Reads a replayable body, in the pieces that it came in; the same ones each time. */
  read(): Promise<readonly Buffer[]>
  /** Streams a body that is not replayable. `onFlow` is told when it waits for the client (true) and when it no longer does. */
  stream(onFlow: (waitingForClient: boolean) => void): Upload
}

/** Is a request body on its way upstream. */
export interface Upload extends AsyncIterable<Buffer> {
  /** Ends it, with an error to whoever reads it: an upload that is cut short must never look complete. */
  stop(): void
}

/** Is the other end of the connection that a request came on. */
export interface PeerInfo {
  /** Whether it is a proxy that is believed what it says of its client. */
  readonly trusted: boolean
  /** The certificate that it has shown, if it was asked for one and it was found good; null: none. */
  certificate(): X509Certificate | null
}

/** Is whose request it is, and how that was proved. */
export interface ClientIdentity {
  /** As `clients` names it. */
  readonly client: string
  readonly method: AuthMethod
}

/** No exchange yet, by how an operation's cache came to its answer: `collapsed` is that of a fetch which another exchange had begun. */
export const zeroCacheOutcomes = { hit: 0, stale: 0, miss: 0, revalidated: 0, collapsed: 0, bypass: 0 }

/** How an operation's cache came to an answer. */
export type CacheOutcome = keyof typeof zeroCacheOutcomes

/** Is an exchange's place in a trace that several systems share. */
export interface ExchangeTrace {
  /** 32 hex digits, by which others know it. */
  readonly traceId: string
  /** Begins an attempt at an endpoint, as the file names it; null: nothing is told of this trace. */
  attempt(endpoint: string): AttemptTrace | null
}

/** Is an attempt's place in a trace. */
export interface AttemptTrace {
  /** Adds to a request's fields what tells the endpoint whose child it is. */
  fields(fields: HeaderFields): HeaderFields
  /** Ends it; the status is null when no head came. */
  end(status: number | null, failure: GatewayError | null): void
}

/** Is told that the exchange is over before its answer was complete. */
type AbortListener = (reason: GatewayError) => void

/** Is what an exchange is made of. */
export interface ExchangeInit {
  readonly operation: Operation
  readonly client: string
  readonly peer: PeerInfo
  readonly query: string
  readonly fields: HeaderFields
  readonly authority: string
  readonly body: RequestBody
  readonly onInterim: ((status: number, fields: HeaderFields) => void) | null
}

/** Is one request and its answer while in the gateway. */
export class Exchange {
  readonly operation: Operation
  /** The client's address: its own, or what a trusted proxy says of it. */
  readonly client: string
  readonly peer: PeerInfo
  /** The raw query with its `?`, or empty. */
  readonly query: string
  /** The request's end-to-end fields, with the gateway's own among them; Host, Content-Length and Connection are not. Layers replace the list. */
  fields: HeaderFields
  /** The Host that the client asked for. */
  readonly authority: string
  readonly body: RequestBody
  /** Relays an interim answer (102, 103); null when the client cannot take one. */
  readonly onInterim: ((status: number, fields: HeaderFields) => void) | null
  /** Whose request it is; null: nobody has asked, or nobody knows yet. */
  identity: ClientIdentity | null = null
  /** By what it is being found out whose it is, or was last; null: nothing was shown, or nobody asks. */
  attemptedAuth: AuthMethod | null = null
  /** What the cache did; null: there is none, or it was not asked. */
  cache: CacheOutcome | null = null
  /** Where the last attempt went and how long it took, for the access log. */
  attempt: AttemptRecord | null = null
  /** Its place in a trace; null: nobody follows it. */
  trace: ExchangeTrace | null = null
  /** How many attempts there were. */
  attempts = 0
  /** Those of them that failed by their endpoint's fault, the first first. Null: none. */
  failedAttempts: FailedAttempt[] | null = null
  /** When the deadline is over, on the monotonic clock; null: there is none, or it has not begun. */
  deadlineAt: number | null = null
  /** Whether the client is the one that is waited for: more of its body has to come before anything else can. */
  waitsForClient = false
  /** Whether the request's body has been sent once and for all: none of it waits to be written. */
  bodySent = false
  /** Fields that layers add to whatever is answered, the gateway's own errors included; flat. Null: none. */
  addedResponseFields: string[] | null = null
  /** The SHA-256 of the bodies, in hex, as far as somebody asks for them; null: nobody does. */
  digests: { request: string | null; response: string | null } | null = null
  /** Whether the client has been sent something already, if only an interim answer: what goes wrong then is not tried again. */
  responseStarted = false

  #aborted: GatewayError | null = null
  #abortListener: AbortListener | null = null
  #finishListeners: (() => void)[] | null = null
  #isFinished = false

  constructor(init: ExchangeInit) {
    this.operation = init.operation
    this.client = init.client
    this.peer = init.peer
    this.query = init.query
    this.fields = init.fields
    this.authority = init.authority
    this.body = init.body
    this.onInterim = init.onInterim
  }

  /** Why the exchange ended early: `client-gone`, `deadline-exceeded`, `content-too-large`, …; null while it goes on. */
  get aborted(): GatewayError | null {
    return this.#aborted
  }

  /** Ends the exchange early; the first reason stays. */
  abort(reason: GatewayError): void {
    if (this.#aborted !== null) return
    this.#aborted = reason
    this.#abortListener?.(reason)
  }

  /** Has somebody told, once, when the last byte of the answer has been taken, or will never be; at once if it is over. */
  onFinished(listener: () => void): void {
    if (this.#isFinished) return listener()
    this.#finishListeners ??= []
    this.#finishListeners.push(listener)
  }

  /** From the start of the last attempt to the end of its answer, in milliseconds; null: nothing was sent. */
  get upstreamMs(): number | null {
    const { attempt } = this
    return attempt === null ? null : (attempt.endedAt ?? now()) - attempt.startedAt
  }

  /** Ends it, however it went, and with it an attempt that goes on. */
  finish(): void {
    if (this.attempt !== null) this.attempt.endedAt ??= now()
    this.#isFinished = true
    const listeners = this.#finishListeners
    this.#finishListeners = null
    for (const listener of listeners ?? []) listener()
  }

  /** Sets who is told of an abort, at once if it has already happened. One at a time: attempts follow each other. Null: nobody. */
  setAbortListener(listener: AbortListener | null): void {
    this.#abortListener = listener
    if (listener !== null && this.#aborted !== null) listener(this.#aborted)
  }
}

/**
 * Records one attempt at an endpoint: for the access log, and for the next attempt, which goes elsewhere. Times are
 * milliseconds of the monotonic clock.
 */
export interface AttemptRecord {
  readonly endpoint: string
  readonly startedAt: number
  endedAt: number | null
  /** The attempt before it, of the same exchange; null: it was the first. */
  readonly previous: AttemptRecord | null
}
