import type { X509Certificate } from 'node:crypto'
import type { Operation, Side } from '../../operations.ts'
import { CoalescedTimer, now } from '../lib/clock.ts'
import type { RequestBody, ResponseBody } from './body.ts'
import type { FailedAttempt, GatewayError } from './failures/errors.ts'
import type { AuthMethod } from './failures/reason-rows.ts'
import type { HeaderFields } from './header-fields.ts'

export type Handler = (exchange: Exchange) => Promise<ProxyResponse>

export type Layer = (next: Handler) => Handler

/** The first layer is outermost. Null: off, and costs nothing. */
export const compose = (layers: readonly (Layer | null)[], innermost: Handler): Handler =>
  layers.reduceRight<Handler>((next, layer) => (layer === null ? next : layer(next)), innermost)

export interface ProxyResponse {
  /** 200–999; interim responses go to {@link Exchange.onInterim}. */
  readonly status: number
  /** The upstream's phrase; empty: the standard one. */
  readonly reason: string
  readonly fields: HeaderFields
  readonly body: ResponseBody
}

export interface PeerInfo {
  /** A proxy whose forwarding fields are believed. */
  readonly trusted: boolean
  readonly inFlight: number
  /** The verified client certificate; null: not asked for, or not shown. */
  certificate(): X509Certificate | null
}

export interface ClientIdentity {
  readonly client: string
  readonly method: AuthMethod
  /** The key that proved it. Null: the method has no keys. */
  readonly keyId: string | null
}

export interface ExchangeTrace {
  readonly traceId: string
  /** `endpoint` as configured. Null: this trace is not recorded. */
  attempt(endpoint: string, side: Side | null): AttemptTrace | null
}

export interface AttemptTrace {
  /** Adds the fields that make the endpoint's span a child of this attempt. */
  fields(fields: HeaderFields): HeaderFields
  /** `status` null: no head came. */
  end(status: number | null, failure: GatewayError | null): void
}

type AbortListener = (reason: GatewayError) => void

export type ExchangeInit = Pick<
  Exchange,
  'requestId' | 'operation' | 'client' | 'peer' | 'query' | 'fields' | 'authority' | 'body' | 'onInterim'
> &
  Partial<Pick<Exchange, 'identity' | 'trace' | 'side' | 'interactionId' | 'addedResponseFields'>>

/** The outcome of a layer that stores responses, for log, audit, metrics and spans. */
export interface RecordedOutcome {
  readonly source: string
  readonly outcome: string
  /** The request processed in place of this one; null: none, or unknown. */
  readonly firstRequestId: string | null
  /** The side of the stored response; null: the client got no stored response. */
  readonly stored: 'side-of-client' | 'unknown-side' | null
  /** A change may have been made: for the audit log and the request counts. */
  readonly isAudited: boolean
}

export class Exchange {
  /** As in the log, even if no field carries it. */
  readonly requestId: string
  readonly operation: Operation
  /** The address of the client, or the one that a trusted proxy names. */
  readonly client: string
  readonly peer: PeerInfo
  /** With its `?`, or empty. */
  readonly query: string
  /** End-to-end, the gateway's own included, without Host, Content-Length and Connection. Layers replace the list. */
  fields: HeaderFields
  readonly authority: string
  /** A layer that has read the body replaces it with another of the same bytes. */
  body: RequestBody
  /** Relays an interim response (102, 103); null: the client cannot take one. */
  readonly onInterim: ((status: number, fields: HeaderFields) => void) | null
  /** The authenticated client; null: not yet, or no layer authenticates. */
  identity: ClientIdentity | null
  /** Tried now or last; null: no credential, or no layer authenticates. */
  attemptedAuth: AuthMethod | null = null
  /** A malformed field of the request may be missing from `fields`. */
  mayLackFields = false
  /** Null: no layer that stores responses, or not asked. */
  outcome: RecordedOutcome | null = null
  /** The client's side; null: its group has no candidate in use. */
  side: Side | null
  trace: ExchangeTrace | null
  readonly attempts: Attempts
  /** On the monotonic clock; null: none, or not begun. */
  deadlineAt: number | null = null
  /** Set by an outer layer that reads the body before it passes the head on. Gets the end of the deadline. */
  holdDeadline: ((end: () => void) => void) | null = null
  /** Nothing can continue before more of the request body comes from the client. */
  waitsForClient = false
  /** The last attempt ended while it waited for a connection, or for its turn to be written. */
  endedInQueue = false
  /** No byte of the request body waits to be written. */
  bodySent = false
  /** The client's id, repeated in the response; null: none, or it is the request id. */
  interactionId: string | null
  /** Flat; added to every response, the gateway's errors included. */
  addedResponseFields: string[] | null
  /** The client got bytes, perhaps of an interim response: no retry after a failure. */
  responseStarted = false
  /** Called each time a connection gets the request, to write it in the same turn. */
  onSent: (() => void) | null = null
  /** Counts a response that breaks off, is late or breaks the contract. Null: not counted, or the side has failed. */
  onBrokenResponse: (() => void) | null = null

  /** For attempts that continue after the exchange. Null: nothing to keep open. */
  servedBy: { acquire(): void; release(): void } | null = null

  #aborted: GatewayError | null = null
  #abortListener: AbortListener | null = null
  #finishListeners: (() => void)[] | null = null
  #slots: (() => void)[] | null = null
  #isFinished = false

  constructor(init: ExchangeInit, attempts = new Attempts(), onInterim = init.onInterim) {
    this.requestId = init.requestId
    this.operation = init.operation
    this.client = init.client
    this.peer = init.peer
    this.query = init.query
    this.fields = init.fields
    this.authority = init.authority
    this.body = init.body
    this.onInterim = onInterim
    this.attempts = attempts
    this.identity = init.identity ?? null
    this.trace = init.trace ?? null
    this.side = init.side ?? null
    this.interactionId = init.interactionId ?? null
    this.addedResponseFields = init.addedResponseFields ?? null
  }

  /** `client-gone`, `deadline-exceeded`, `content-too-large`, …; null: not ended early. */
  get aborted(): GatewayError | null {
    return this.#aborted
  }

  abort(reason: GatewayError): void {
    if (this.#aborted !== null) return
    this.#aborted = reason
    this.#abortListener?.(reason)
  }

  /** Calls `listener` once, when the last byte of the response is taken or never will be; now if it was. */
  onFinished(listener: () => void): void {
    if (this.#isFinished) return listener()
    this.#finishListeners ??= []
    this.#finishListeners.push(listener)
  }

  /** Calls `release` once: when the exchange fails or finishes. */
  holdSlot(release: () => void): void {
    if (this.#isFinished) return release()
    this.#slots ??= []
    this.#slots.push(release)
  }

  /** Called for a failed exchange, because sending its error response keeps no upstream busy. */
  releaseSlots(): void {
    const slots = this.#slots
    this.#slots = null
    for (const release of slots ?? []) release()
  }

  get servingSide(): Side | null {
    return this.attempts.fellBack ? 'primary' : this.side
  }

  get attemptOnSide(): AttemptRecord | null {
    const { last } = this.attempts
    return last === null || last.side !== this.servingSide ? null : last
  }

  finish(): void {
    const { last } = this.attempts
    if (last !== null) last.endedAt ??= now()
    this.#isFinished = true
    const listeners = this.#finishListeners
    this.#finishListeners = null
    for (const listener of listeners ?? []) listener()
    this.releaseSlots()
  }

  /** Replaces the only listener: attempts follow each other. Called at once if the abort has happened. */
  setAbortListener(listener: AbortListener | null): void {
    this.#abortListener = listener
    if (listener !== null && this.#aborted !== null) listener(this.#aborted)
  }
}

/** Continues when the client leaves. Unless detached, shares attempts and relays interim responses (RFC 9110 §15.2). */
export const createBackgroundExchange = (cause: Exchange, isDetached = false): Exchange => {
  if (isDetached) return new Exchange(cause, new Attempts(), null)
  const { onInterim } = cause
  const relay = (status: number, fields: HeaderFields): void => {
    if (cause.aborted === null) onInterim?.(status, fields)
  }
  return new Exchange(cause, cause.attempts, onInterim && relay)
}

export class Attempts {
  count = 0
  last: AttemptRecord | null = null
  /** Failed by the endpoint's fault, in order. */
  failed: FailedAttempt[] | null = null
  /** A connection got the request: it may have been processed. */
  wasSent = false
  fellBack = false

  get upstreamMs(): number | null {
    const { last } = this
    return last === null ? null : (last.endedAt ?? now()) - last.startedAt
  }
}

/** For the access log, and for the next attempt, which goes to another endpoint. Monotonic milliseconds. */
export interface AttemptRecord {
  readonly endpoint: string
  readonly side: Side | null
  readonly startedAt: number
  endedAt: number | null
  /**
   * The response ends with its TLS connection: Node reports no missing close_notify (RFC 9112 §9.8), so no layer may
   * store it.
   */
  mayBeCut: boolean
  /** Of the same exchange and side; null: the first. */
  readonly previous: AttemptRecord | null
}

export const sideJson = ({ side, attempts }: Pick<Exchange, 'side' | 'attempts'>): string =>
  side === null ? '' : `,"side":"${side}"${attempts.fellBack ? ',"fellBack":true' : ''}`

export const sleepUnlessAborted = (exchange: Exchange, ms: number): Promise<void> =>
  new Promise((resolve, reject) => {
    const alarm = new CoalescedTimer(() => {
      exchange.setAbortListener(null)
      resolve()
    })
    alarm.set(ms)
    exchange.setAbortListener((reason) => {
      alarm.clear()
      exchange.setAbortListener(null)
      reject(reason)
    })
  })
