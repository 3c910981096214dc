import { errorMessage } from '../../lib/try.ts'
import { type FailureKind, type FaultOrigin, failureTable } from './kinds.ts'
import { type ReasonRow, reasonRows } from './reason-rows.ts'

/** One of the reasons: `reason` in the log. */
export type FailureReason = keyof typeof reasonRows

export type ReasonFor<K extends FailureKind> = {
  [R in FailureReason]: K extends (typeof reasonRows)[R]['kinds'][number] ? R : never
}[FailureReason]

/** The row of each reason, in the order of the table. */
export const reasonTable: Readonly<Record<FailureReason, ReasonRow<FailureKind>>> = reasonRows

export const reasonsFor = <K extends FailureKind>(...kinds: readonly K[]): readonly ReasonFor<K>[] =>
  (Object.keys(reasonRows) as FailureReason[]).filter((reason): reason is ReasonFor<K> =>
    kinds.some((kind) => reasonTable[reason].kinds.includes(kind)),
  )

/** Returns a reason in words, with its code, without a full stop. */
export const reasonText = (reason: FailureReason): string => {
  const { text, code } = reasonTable[reason]
  return code === null ? text : `${text} (${code})`
}

export const failureText = (kind: FailureKind, reason: FailureReason | null): string =>
  reason === null ? failureTable[kind].text : reasonText(reason)

/**
 * An error that any client can cause. It says in itself why it was made, so its stack is never read. Under overload a
 * stack costs as much as the rest of a local reply.
 */
export class StacklessError extends Error {
  constructor(message: string, options?: ErrorOptions) {
    const limit = Error.stackTraceLimit
    Error.stackTraceLimit = 0
    super(message, options)
    Error.stackTraceLimit = limit
  }
}

export type ViolationPlace = 'query' | 'header' | 'body' | 'content-type' | 'status'

/**
 * One way in which a message breaks the contract. All of its text but `ownPointer` stems from the contract and the
 * code, never from a message: a client's or an upstream's data goes neither to another reader nor into a log.
 */
export interface Violation {
  /**
   * RFC 6901, into the body; for a parameter its name is the first segment. Members that the contract does not name are
   * written `*`.
   */
  readonly pointer: string
  /** The same with the names of the message, for its sender alone. Left out: it is `pointer`. */
  readonly ownPointer?: string
  readonly in: ViolationPlace
  /** The keyword of JSON Schema, or a word of the gateway's own: `required`, `duplicate-member`. */
  readonly rule: string
  /** What was expected, in words. */
  readonly detail: string
}

interface FailureOptions<K extends FailureKind> {
  readonly reason?: ReasonFor<K> | null
  readonly cause?: unknown
  readonly fields?: readonly string[]
  readonly violations?: readonly Violation[]
}

/** A kind with its options: a reason of another kind does not compile. */
type GatewayErrorArgs =
  | { [K in FailureKind]: [kind: K, options?: FailureOptions<K>] }[FailureKind]
  | [kind: FailureKind, options?: FailureOptions<never>]

/**
 * The error that ends an exchange, of one kind of {@link failureTable}. `reason` says more where a kind has several, in
 * one of a fixed set of words; `cause` says all, in any words. Both are for operators and never reach a client.
 * `fields` is a flat list of header fields (name, value, …) that the response carries: `Allow`, `Retry-After`.
 * `violations` reach the client: where its request breaks the contract. The error has no stack; its cause has one.
 */
export class GatewayError extends StacklessError {
  readonly kind: FailureKind
  readonly reason: FailureReason | null
  readonly fields: readonly string[]
  readonly violations: readonly Violation[]

  constructor(...[kind, options = {}]: GatewayErrorArgs) {
    super(kind, options.cause === undefined ? undefined : { cause: options.cause })
    this.name = 'GatewayError'
    this.kind = kind
    this.reason = options.reason ?? null
    this.fields = options.fields ?? []
    this.violations = options.violations ?? []
  }

  get status(): number {
    return failureTable[this.kind].status
  }

  /** Whose fault it is: that of its kind, but a client that the gateway has cut off did not leave by itself. */
  get fault(): FaultOrigin {
    return this.reason === 'shutdown-deadline' ? 'gateway' : failureTable[this.kind].fault
  }

  /** Wraps a thrown value: a GatewayError stays itself, anything else is `internal`. */
  static from(thrown: unknown): GatewayError {
    return thrown instanceof GatewayError ? thrown : new GatewayError('internal', { cause: thrown })
  }
}

/** A failed attempt as plain data, for reports. */
export interface AttemptReport {
  /** Milliseconds since the epoch. */
  readonly at: number
  readonly endpoint: string
  /** Null: the endpoint responded, with this status. */
  readonly kind: FailureKind | null
  /** One of a fixed set of words; null: the kind says it all. */
  readonly reason: FailureReason | null
  readonly status: number | null
}

/** One attempt that failed by its endpoint's fault. Its message names the endpoint and the cause, for operators. */
export class FailedAttempt extends StacklessError {
  readonly endpoint: string
  /** The failure, or the status of a response that counts as one. */
  readonly errorOrStatus: GatewayError | number
  /** Milliseconds since the epoch. */
  readonly at: number

  constructor(endpoint: string, errorOrStatus: GatewayError | number, at: number) {
    super(
      `${endpoint}: ${typeof errorOrStatus === 'number' ? `answered ${errorOrStatus}` : (describeCause(errorOrStatus) ?? errorOrStatus.kind)}`,
    )
    this.name = 'FailedAttempt'
    this.endpoint = endpoint
    this.errorOrStatus = errorOrStatus
    this.at = at
  }

  get report(): AttemptReport {
    return toAttemptReport(this.endpoint, this)
  }
}

export const toAttemptReport = (
  endpoint: string,
  { at, errorOrStatus }: Pick<FailedAttempt, 'at' | 'errorOrStatus'>,
): AttemptReport =>
  typeof errorOrStatus === 'number'
    ? { at, endpoint, kind: null, reason: null, status: errorOrStatus }
    : { at, endpoint, kind: errorOrStatus.kind, reason: errorOrStatus.reason, status: null }

export const lastFailurePhrase = (
  { kind, reason, status }: Pick<AttemptReport, 'kind' | 'reason' | 'status'>,
  endpoint: string,
): string => {
  if (kind === null) return `${endpoint} answered ${status}`
  return withEndpointName(failureText(kind, reason), endpoint)
}

const withEndpointName = (words: string, endpoint: string): string =>
  words.includes('the endpoint') ? words.replace('the endpoint', endpoint) : `${endpoint}: ${words}`

export const auditUnavailableError = (): GatewayError =>
  new GatewayError('audit-unavailable', { fields: ['Retry-After', '1'] })

/**
 * Creates the failure of a request for which there is no room; `reason` says where. RFC 9110 §10.2.3: whole seconds,
 * and 1 is the least that says anything.
 */
export const overloadedError = (reason: ReasonFor<'overloaded'>): GatewayError =>
  new GatewayError('overloaded', { reason, fields: ['Retry-After', '1'] })

export const allDrainingError = (): GatewayError =>
  new GatewayError('no-healthy-endpoint', { reason: 'all-draining', fields: ['Retry-After', '1'] })

/**
 * Describes the cause in one line, in the libraries' words; with the whole stack only where the gateway itself is at
 * fault.
 */
export const describeCause = ({ kind, cause }: GatewayError): string | undefined => {
  if (cause === undefined) return undefined
  if (!(cause instanceof Error)) return String(cause)
  if (kind === 'internal') return cause.stack
  const inner = cause instanceof AggregateError ? cause.errors.map(errorMessage).join('; ') : ''
  return inner === '' ? errorMessage(cause) : inner
}

export const attemptLogFields = ({ endpoint, errorOrStatus }: FailedAttempt) =>
  typeof errorOrStatus === 'number'
    ? { endpoint, status: errorOrStatus }
    : {
        endpoint,
        failure: errorOrStatus.kind,
        reason: errorOrStatus.reason ?? undefined,
        cause: describeCause(errorOrStatus),
      }
