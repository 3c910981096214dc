import type { X509Certificate } from 'node:crypto'
import type { Operation, Side } from '../../operations.ts'
import { now } from '../lib/clock.ts'
import type { RequestBody, ResponseBody } from './body.ts'
import type { RecordedOutcome } from './exchange-outcomes.ts'
import type { FailedAttempt, GatewayError } from './failures/errors.ts'
import type { AuthMethod } from './failures/reason-rows.ts'
import type { HeaderFields } from './header-fields.ts'

/** Serves one exchange. Everything behind an operation is a handler. */
export type Handler = (exchange: Exchange) => Promise<ProxyResponse>

/** Wraps a handler with one feature. */
export type Layer = (next: Handler) => Handler

/**
 * Folds layers around the innermost handler, the first outermost. A layer that is off is not in the list and costs
 * nothing.
 */
export const compose = (layers: readonly (Layer | null)[], innermost: Handler): Handler =>
  layers.reduceRight<Handler>((next, layer) => (layer === null ? next : layer(next)), innermost)

/** A response: its head is complete, its body may still be arriving. */
export interface ProxyResponse {
  /** 200–999; interim responses go to {@link Exchange.onInterim}. */
  readonly status: number
  /** The upstream's reason phrase; empty: the standard one. */
  readonly reason: string
  /** End-to-end fields only. */
  readonly fields: HeaderFields
  readonly body: ResponseBody
}

interface PeerInfo {
  /** Whether it is a proxy whose forwarding fields are believed. */
  readonly trusted: boolean
  readonly inFlight: number
  /** The certificate that it has shown and that was verified; null: none was asked for, or none was shown. */
  certificate(): X509Certificate | null
}

export interface ClientIdentity {
  /** Its name under `clients`. */
  readonly client: string
  readonly method: AuthMethod
  /** The id of the key that proved it. Null: the method has none. */
  readonly keyId: string | null
}

/** An exchange's place in a trace that several systems share. */
export interface ExchangeTrace {
  /** 32 hex digits: the name of the trace in every system. */
  readonly traceId: string
  /**
   * Begins an attempt at an endpoint, as the file names it, on one of the group's sides; null: this trace is not
   * recorded.
   */
  attempt(endpoint: string, side: Side | null): AttemptTrace | null
}

export interface AttemptTrace {
  /** Adds the fields to a request by which the endpoint becomes a child of this attempt. */
  fields(fields: HeaderFields): HeaderFields
  /** Ends it; `status` is null when no head came. */
  end(status: number | null, failure: GatewayError | null): void
}

/** What serves an exchange. It stays open as long as it is acquired. */
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

/** One request and its response while they are in the gateway. */
export class Exchange {
  /** The id of the request in the log, whether or not a field carries it. */
  readonly requestId: string
  readonly operation: Operation
  /** The client's address: its own, or the one that a trusted proxy names. */
  readonly client: string
  readonly peer: PeerInfo
  /** The raw query with its `?`, or empty. */
  readonly query: string
  /**
   * The request's end-to-end fields, the gateway's own included; Host, Content-Length and Connection are not in it.
   * Layers replace the list.
   */
  fields: HeaderFields
  /** The Host that the client asked for. */
  readonly authority: string
  /** The request's body. A layer that has read it puts another one with the same bytes in its place. */
  body: RequestBody
  /** Relays an interim response (102, 103); null when the client cannot take one. */
  readonly onInterim: ((status: number, fields: HeaderFields) => void) | null
  /** The client that was authenticated; null: not yet, or no layer authenticates. */
  identity: ClientIdentity | null
  /**
   * The method of authentication that is being tried, or was tried last; null: there was no credential, or no layer
   * authenticates.
   */
  attemptedAuth: AuthMethod | null = null
  /** Whether a malformed field of the request may be missing from `fields`. */
  mayLackFields = false
  /** What a layer that stores responses did; null: there is none, or it was not asked. */
  outcome: RecordedOutcome | null = null
  /** The side that its client is on; null: its group has no candidate in use. */
  side: Side | null
  trace: ExchangeTrace | null
  readonly attempts: Attempts
  /** When the deadline ends, on the monotonic clock; null: there is none, or it has not begun. */
  deadlineAt: number | null = null
  /**
   * Called with what ends the deadline when the head of the response has come, by a layer outside the deadline that
   * reads the body before the head goes on. Null: the deadline ends with the head.
   */
  holdDeadline: ((end: () => void) => void) | null = null
  /** Whether the gateway waits for the client: more of the request body has to come before anything else can. */
  waitsForClient = false
  /** Whether its last attempt was given up while it waited for a connection, or for its turn to be written on one. */
  endedInQueue = false
  /** Whether the request's body has been sent completely: none of it waits to be written. */
  bodySent = false
  /** The client's own id of the interaction, which the response repeats; null: none, or the request id is it. */
  interactionId: string | null
  /** Fields that layers add to every response, the gateway's own errors included; flat. Null: none. */
  addedResponseFields: string[] | null
  /** Whether the client has been sent something, if only an interim response: a failure after that is not retried. */
  responseStarted = false
  /** Called each time the request is handed to a connection, to be written in the same turn of the event loop. */
  onSent: (() => void) | null = null
  /**
   * Called when the answer breaks off, does not end by the deadline, or breaks the contract: it counts for the side.
   * Null: nothing is counted, or it has failed its side already.
   */
  onBrokenAnswer: (() => void) | null = null

  /** What serves it, for an attempt that goes on after it. Null: nothing is to be kept open. */
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

  /**
   * Why the exchange ended early: `client-gone`, `deadline-exceeded`, `content-too-large`, …; null while it goes on.
   */
  get aborted(): GatewayError | null {
    return this.#aborted
  }

  /** Ends the exchange early; the first reason stays. */
  abort(reason: GatewayError): void {
    if (this.#aborted !== null) return
    this.#aborted = reason
    this.#abortListener?.(reason)
  }

  /**
   * Calls `listener` once, when the last byte of the response has been taken or will never be; at once if that has
   * happened.
   */
  onFinished(listener: () => void): void {
    if (this.#isFinished) return listener()
    this.#finishListeners ??= []
    this.#finishListeners.push(listener)
  }

  /** Calls `release` once: as soon as the exchange fails, or else when it finishes. */
  holdSlot(release: () => void): void {
    if (this.#isFinished) return release()
    this.#slots ??= []
    this.#slots.push(release)
  }

  /** Gives back the slots that it holds: it has failed, and its error costs no upstream anything. */
  releaseSlots(): void {
    const slots = this.#slots
    this.#slots = null
    for (const release of slots ?? []) release()
  }

  /** The side that serves it; null: its group has no candidate in use. */
  get servingSide(): Side | null {
    return this.attempts.fellBack ? 'primary' : this.side
  }

  /** The last attempt at the side that serves it; null: there is none yet. */
  get attemptOnSide(): AttemptRecord | null {
    const { last } = this.attempts
    return last === null || last.side !== this.servingSide ? null : last
  }

  /** Ends the exchange, whatever its outcome, and with it an attempt that is still running. */
  finish(): void {
    const { last } = this.attempts
    if (last !== null) last.endedAt ??= now()
    this.#isFinished = true
    const listeners = this.#finishListeners
    this.#finishListeners = null
    for (const listener of listeners ?? []) listener()
    this.releaseSlots()
  }

  /**
   * Sets the listener of an abort, and calls it at once if the abort has happened. There is one at a time: attempts
   * follow each other. Null: none.
   */
  setAbortListener(listener: AbortListener | null): void {
    this.#abortListener = listener
    if (listener !== null && this.#aborted !== null) listener(this.#aborted)
  }
}

/**
 * Creates an exchange of the gateway's own from the one that causes it: it asks for the same, and the client's leaving
 * does not end it. Its attempts are those of its cause, and interim responses go to the client as long as it waits (RFC
 * 9110 §15.2), unless the exchange is `isDetached` from the beginning.
 */
export const createBackgroundExchange = (cause: Exchange, isDetached = false): Exchange => {
  if (isDetached) return new Exchange(cause, new Attempts(), null)
  const { onInterim } = cause
  const relay = (status: number, fields: HeaderFields): void => {
    if (cause.aborted === null) onInterim?.(status, fields)
  }
  return new Exchange(cause, cause.attempts, onInterim && relay)
}

/** The attempts at endpoints for one request. A background exchange shares those of the exchange that causes it. */
export class Attempts {
  count = 0
  /** Null: there is none. */
  last: AttemptRecord | null = null
  /** The attempts that failed by their endpoint's fault, in order. Null: none. */
  failed: FailedAttempt[] | null = null
  /** Whether a connection to an endpoint was given the request: it may have been processed since. */
  wasSent = false
  /** Whether the request went over to the primary, although its client is on the candidate. */
  fellBack = false

  /** From the start of the last attempt to the end of its response, in milliseconds; null: nothing was sent. */
  get upstreamMs(): number | null {
    const { last } = this
    return last === null ? null : (last.endedAt ?? now()) - last.startedAt
  }
}

/**
 * One attempt at an endpoint: for the access log, and for the next attempt, which goes elsewhere. Times are
 * milliseconds of the monotonic clock.
 */
export interface AttemptRecord {
  readonly endpoint: string
  readonly side: Side | null
  readonly startedAt: number
  endedAt: number | null
  /**
   * Whether its response ends where the connection does, over TLS. Node tells an end without close_notify from no other
   * end, so a cut response passes for a whole one (RFC 9112 §9.8): it is stored by nothing.
   */
  mayBeCut: boolean
  /** The attempt before it, of the same exchange and at the same side; null: it was the first. */
  readonly previous: AttemptRecord | null
}

/** Renders which side of its group an exchange was on, as members of JSON; empty: the group has no candidate in use. */
export const sideJson = ({ side, attempts }: Pick<Exchange, 'side' | 'attempts'>): string =>
  side === null ? '' : `,"side":"${side}"${attempts.fellBack ? ',"fellBack":true' : ''}`
