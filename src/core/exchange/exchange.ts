import type { X509Certificate } from 'node:crypto'
import type { Operation, Side } from '../../operations.ts'
import { CoalescedTimer, now } from '../lib/clock.ts'
import type { RequestBody, ResponseBody } from './body.ts'
import type { RecordedOutcome } from './exchange-outcomes.ts'
import type { FailedAttempt, GatewayError } from './failures/errors.ts'
import type { AuthMethod } from './failures/reason-rows.ts'
import type { HeaderFields } from './header-fields.ts'

export type Handler = (exchange: Exchange) => Promise<ProxyResponse>

/** Wraps a handler with one feature. */
export type Layer = (next: Handler) => Handler

/** The first layer is outermost. Null: off, and costs nothing. */
export const compose = (layers: readonly (Layer | null)[], innermost: Handler): Handler =>
  layers.reduceRight<Handler>((next, layer) => (layer === null ? next : layer(next)), innermost)

/** The head is complete, the body may still be arriving. */
export interface ProxyResponse {
  /** 200–999; interim responses go to {@link Exchange.onInterim}. */
  readonly status: number
  /** The upstream's phrase; empty: the standard one. */
  readonly reason: string
  /** End-to-end fields only. */
  readonly fields: HeaderFields
  readonly body: ResponseBody
}

interface PeerInfo {
  /** A proxy whose forwarding fields are believed. */
  readonly trusted: boolean
  readonly inFlight: number
  /** The verified client certificate; null: not asked for, or not shown. */
  certificate(): X509Certificate | null
}

export interface ClientIdentity {
  /** The name under `clients`. */
  readonly client: string
  readonly method: AuthMethod
  /** The key that proved it. Null: the method has no keys. */
  readonly keyId: string | null
}

/** The place in a distributed trace. */
export interface ExchangeTrace {
  /** 32 hex digits. */
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

/** Stays open while acquired. */
interface ServingResources {
  acquire(): void
  release(): void
}

/** Called when the exchange ends before its response is complete. */
type AbortListener = (reason: GatewayError) => void

export type ExchangeInit = Pick<
  Exchange,
  'requestId' | 'operation' | 'client' | 'peer' | 'query' | 'fields' | 'authority' | 'body' | 'onInterim'
> &
  Partial<Pick<Exchange, 'identity' | 'trace' | 'side' | 'interactionId' | 'addedResponseFields'>>

/** One request and its response. */
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
  /** The requested Host. */
  readonly authority: string
  /** A layer that has read it replaces it by another with the same bytes. */
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
  /**
   * Set by a layer outside the deadline that reads the body before it passes the head on. Called at the head with a
   * function that ends the deadline. Null: the deadline ends with the head.
   */
  holdDeadline: ((end: () => void) => void) | null = null
  /** Nothing can go on before more of the request body comes from the client. */
  waitsForClient = false
  /** The last attempt ended while it waited for a connection, or for its turn to be written on one. */
  endedInQueue = false
  /** No byte of the request body waits to be written. */
  bodySent = false
  /** The client's id, repeated in the response; null: none, or it is the request id. */
  interactionId: string | null
  /** Flat; added to every response, the gateway's errors included. */
  addedResponseFields: string[] | null
  /** The client got bytes, if only an interim response: no retry after a failure. */
  responseStarted = false
  /** Called each time a connection gets the request, to write it in the same turn of the event loop. */
  onSent: (() => void) | null = null
  /**
   * Called when the response breaks off, misses the deadline or breaks the contract, to count for the side. Null: not
   * counted, or the side has already failed.
   */
  onBrokenAnswer: (() => void) | null = null

  /** For attempts that continue after the exchange. Null: nothing to keep open. */
  servedBy: ServingResources | null = null

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

  /** The first reason stays. */
  abort(reason: GatewayError): void {
    if (this.#aborted !== null) return
    this.#aborted = reason
    this.#abortListener?.(reason)
  }

  /**
   * Calls `listener` once: when the last byte of the response is taken or never will be, or now if that has happened.
   */
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

  /** For a failed exchange: its error response costs no upstream anything. */
  releaseSlots(): void {
    const slots = this.#slots
    this.#slots = null
    for (const release of slots ?? []) release()
  }

  /** Null: the group has no candidate in use. */
  get servingSide(): Side | null {
    return this.attempts.fellBack ? 'primary' : this.side
  }

  /** The last attempt at the serving side. */
  get attemptOnSide(): AttemptRecord | null {
    const { last } = this.attempts
    return last === null || last.side !== this.servingSide ? null : last
  }

  /** Ends the exchange and an attempt that is still running. */
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

/**
 * Creates an exchange for the same request that continues when the client leaves. It shares the attempts of `cause`,
 * and relays interim responses while the client waits (RFC 9110 §15.2), unless `isDetached`.
 */
export const createBackgroundExchange = (cause: Exchange, isDetached = false): Exchange => {
  if (isDetached) return new Exchange(cause, new Attempts(), null)
  const { onInterim } = cause
  const relay = (status: number, fields: HeaderFields): void => {
    if (cause.aborted === null) onInterim?.(status, fields)
  }
  return new Exchange(cause, cause.attempts, onInterim && relay)
}

/** Background exchanges share those of their cause. */
export class Attempts {
  count = 0
  last: AttemptRecord | null = null
  /** Failed by the endpoint's fault, in order. */
  failed: FailedAttempt[] | null = null
  /** A connection got the request: it may have been processed. */
  wasSent = false
  /** The primary served a client of the candidate. */
  fellBack = false

  /** From the start of the last attempt to the end of its response; null: no attempt. */
  get upstreamMs(): number | null {
    const { last } = this
    return last === null ? null : (last.endedAt ?? now()) - last.startedAt
  }
}

/** For the access log, and for the next attempt, which goes elsewhere. Milliseconds of the monotonic clock. */
export interface AttemptRecord {
  readonly endpoint: string
  readonly side: Side | null
  readonly startedAt: number
  endedAt: number | null
  /**
   * The response ends with its TLS connection. Node does not report a missing close_notify, so a cut response passes
   * for a whole one (RFC 9112 §9.8): no layer may store it.
   */
  mayBeCut: boolean
  /** Of the same exchange and side; null: the first. */
  readonly previous: AttemptRecord | null
}

/** Members of JSON; empty: the group has no candidate in use. */
export const sideJson = ({ side, attempts }: Pick<Exchange, 'side' | 'attempts'>): string =>
  side === null ? '' : `,"side":"${side}"${attempts.fellBack ? ',"fellBack":true' : ''}`

/** Rejects with the reason as soon as the exchange is aborted. */
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
