import { STATUS_CODES } from './node-http.ts'
import { causeOf } from './observe/cause.ts'
import type { Reason } from './reasons.ts'

/** Says whose fault a failure is: the client that called, the upstream that answered, or the gateway itself. */
type Fault = 'client' | 'gateway' | 'upstream'

/**
 * Says whether another attempt is allowed: `always` when nothing was sent, `replayable` when the operation is safe or keyed and the
 * request body can be sent again, else `never`.
 */
export type Retry = 'always' | 'replayable' | 'never'

interface Failure {
  readonly status: number
  readonly fault: Fault
  readonly retry: Retry
}

const client = (status: number): Failure => ({ status, fault: 'client', retry: 'never' })
const gateway = (status: number): Failure => ({ status, fault: 'gateway', retry: 'never' })
const upstream = (status: number, retry: Retry): Failure => ({ status, fault: 'upstream', retry })

/** Lists every way to fail. This table alone decides the status, whose fault it is, and whether another attempt is allowed. */
export const failures = {
  'bad-request': client(400),
  'not-found': client(404),
  'method-not-allowed': client(405),
  'unsupported-coding': client(501),
  'unsupported-version': client(505),
  misdirected: client(421),
  unauthenticated: client(401),
  forbidden: client(403),
  'content-too-large': client(413),
  'header-too-large': client(431),
  'uri-too-long': client(414),
  'request-timeout': client(408),
  'expectation-failed': client(417),
  'rate-limited': client(429),
  overloaded: gateway(503),
  'refused-by-operator': gateway(503),
  'identity-unavailable': gateway(503),
  'audit-unavailable': gateway(503),
  loop: gateway(508),
  'no-healthy-endpoint': upstream(503, 'never'),
  'circuit-open': upstream(503, 'never'),
  'connect-failed': upstream(502, 'always'),
  'connect-timeout': upstream(504, 'always'),
  'tls-failed': upstream(502, 'always'),
  'reset-before-headers': upstream(502, 'replayable'),
  'headers-timeout': upstream(504, 'replayable'),
  'bad-answer': upstream(502, 'replayable'),
  'deadline-exceeded': gateway(504),
  // The client takes only what is stored, and nothing is (RFC 9111 §5.2.1.7).
  'not-cached': client(504),
  // The head was relayed with another status: the client's connection is cut, and this one stands in the log only.
  truncated: upstream(502, 'never'),
  // In the log only: there is nobody left to answer.
  'client-gone': client(499),
  internal: gateway(500),
} as const satisfies Record<string, Failure>

/** Names one way to fail, as `code` in an answer and `failure` in the log. */
export type Kind = keyof typeof failures

/** Names a status as the registry does; Node's table keeps older names for some. */
export const phraseOf = (status: number): string => phrases[status] ?? STATUS_CODES[status] ?? 'Error'

const phrases: Readonly<Record<number, string>> = { 413: 'Content Too Large', 422: 'Unprocessable Content' }

/**
 * Is an error that anybody can cause: it says in itself why it was made, so that nobody reads where. Under overload a stack costs as much as
 * the rest of a refusal does.
 */
export class StacklessError extends Error {
  constructor(message: string, options?: ErrorOptions) {
    const limit = Error.stackTraceLimit
    Error.stackTraceLimit = 0
    super(message, options)
    Error.stackTraceLimit = limit
  }
}

interface FailureOptions {
  readonly reason?: Reason | null
  readonly cause?: unknown
  readonly fields?: readonly string[]
}

/**
 * Ends an exchange with one of the kinds of {@link failures}. `reason` says more where a kind has several, in a bounded word; `cause` says all, in any.
 * Both are for operators and never reach a client. `fields` is a flat list of header fields (name, value, …) that the answer carries: `Allow`,
 * `Retry-After`. It has no stack; its cause has one.
 */
export class GatewayError extends StacklessError {
  readonly kind: Kind
  readonly reason: Reason | null
  readonly fields: readonly string[]

  constructor(kind: Kind, options: FailureOptions = {}) {
    super(kind, options.cause === undefined ? undefined : { cause: options.cause })
    this.name = 'GatewayError'
    this.kind = kind
    this.reason = options.reason ?? null
    this.fields = options.fields ?? []
  }

  get status(): number {
    return failures[this.kind].status
  }

  /** Wraps whatever was thrown: a GatewayError stays itself, anything else is `internal`. */
  static from(thrown: unknown): GatewayError {
    return thrown instanceof GatewayError ? thrown : new GatewayError('internal', { cause: thrown })
  }
}

/** A failed attempt as plain data, for reports. */
export interface AttemptReport {
  /** Milliseconds since the epoch. */
  readonly at: number
  readonly endpoint: string
  /** Null: it was answered, with this status. */
  readonly kind: Kind | null
  /** A bounded word; null: the kind says it all. */
  readonly reason: Reason | null
  readonly status: number | null
}

/** One attempt that failed by its endpoint's fault. Its message names the endpoint and the cause, for operators. */
export class FailedAttempt extends StacklessError {
  readonly endpoint: string
  /** The failure, or the status of a response that counts as one. */
  readonly why: GatewayError | number
  /** Milliseconds since the epoch. */
  readonly at: number

  constructor(endpoint: string, why: GatewayError | number, at: number) {
    super(`${endpoint}: ${typeof why === 'number' ? `answered ${why}` : (causeOf(why) ?? why.kind)}`)
    this.name = 'FailedAttempt'
    this.endpoint = endpoint
    this.why = why
    this.at = at
  }

  get report(): AttemptReport {
    return attemptReport(this.endpoint, this)
  }
}

/** Makes plain data of a failure at an endpoint. */
export const attemptReport = (endpoint: string, { at, why }: Pick<FailedAttempt, 'at' | 'why'>): AttemptReport =>
  typeof why === 'number'
    ? { at, endpoint, kind: null, reason: null, status: why }
    : { at, endpoint, kind: why.kind, reason: why.reason, status: null }

/** Makes the failure of what would leave no record. */
export const auditUnavailable = (): GatewayError =>
  new GatewayError('audit-unavailable', { fields: ['Retry-After', '1'] })

/** Makes the failure of what finds no room, and says where. RFC 9110 §10.2.3: whole seconds, and 1 is the least that says anything. */
export const overloaded = (reason: Reason): GatewayError =>
  new GatewayError('overloaded', { reason, fields: ['Retry-After', '1'] })
