import { errorMessage } from '../../lib/try.ts'
import { type FailureKind, type FaultOrigin, failureTable } from './failure-table.ts'
import { type ReasonRow, reasonRows } from './reason-rows.ts'

export type FailureReason = keyof typeof reasonRows

export type ReasonFor<K extends FailureKind> = {
  [R in FailureReason]: K extends (typeof reasonRows)[R]['kinds'][number] ? R : never
}[FailureReason]

export const reasonTable: Readonly<Record<FailureReason, ReasonRow<FailureKind>>> = reasonRows

export const reasonsFor = <K extends FailureKind>(...kinds: readonly K[]): readonly ReasonFor<K>[] =>
  (Object.keys(reasonRows) as FailureReason[]).filter((reason): reason is ReasonFor<K> =>
    kinds.some((kind) => reasonTable[reason].kinds.includes(kind)),
  )

export const reasonText = (reason: FailureReason): string => {
  const { text, code } = reasonTable[reason]
  return code === null ? text : `${text} (${code})`
}

export const failureText = (kind: FailureKind, reason: FailureReason | null): string =>
  reason === null ? failureTable[kind].text : reasonText(reason)

/** For errors that any client can cause: a stack costs as much as the rest of a local reply. */
export class StacklessError extends Error {
  constructor(message: string, options?: ErrorOptions) {
    const limit = Error.stackTraceLimit
    Error.stackTraceLimit = 0
    super(message, options)
    Error.stackTraceLimit = limit
  }
}

export type ViolationPlace = 'query' | 'header' | 'body' | 'content-type' | 'status'

/** Only `ownPointer` quotes the message: readers and logs get no client's data. */
export interface Violation {
  /** RFC 6901, into the body, or behind the parameter's name. `*`: a member that the contract does not name. */
  readonly pointer: string
  /** `pointer` with the message's own names, for its sender alone. Undefined: the same. */
  readonly ownPointer?: string
  readonly in: ViolationPlace
  /** A keyword of JSON Schema, or a word of the gateway: `required`, `duplicate-member`. */
  readonly rule: string
  readonly detail: string
}

interface FailureOptions<K extends FailureKind> {
  readonly reason?: ReasonFor<K> | null
  readonly cause?: unknown
  readonly fields?: readonly string[]
  readonly violations?: readonly Violation[]
}

/** So a reason of another kind does not compile. */
type GatewayErrorArgs =
  | { [K in FailureKind]: [kind: K, options?: FailureOptions<K>] }[FailureKind]
  | [kind: FailureKind, options?: FailureOptions<never>]

/**
 * `reason` (of a fixed set) and `cause` are for operators and never reach a client; `violations` do. `fields`: a flat
 * list for the response (`Allow`, `Retry-After`). No stack; the cause has one.
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

  /** A client that was cut off at shutdown did not leave by itself. */
  get fault(): FaultOrigin {
    return this.reason === 'shutdown-deadline' ? 'gateway' : failureTable[this.kind].fault
  }

  static from(thrown: unknown): GatewayError {
    return thrown instanceof GatewayError ? thrown : new GatewayError('internal', { cause: thrown })
  }
}

/** As plain data, for reports. `at` is in ms since the epoch. */
export interface AttemptReport {
  readonly at: number
  readonly endpoint: string
  /** Null: the endpoint responded, with `status`. */
  readonly kind: FailureKind | null
  readonly reason: FailureReason | null
  readonly status: number | null
}

/** Failed by the endpoint's fault. The message, for operators, names endpoint and cause. */
export class FailedAttempt extends StacklessError {
  readonly endpoint: string
  /** A number: the status of a response that counts as a failure. */
  readonly errorOrStatus: GatewayError | number
  readonly at: number

  constructor(endpoint: string, errorOrStatus: GatewayError | number, at: number) {
    super(
      `${endpoint}: ${typeof errorOrStatus === 'number' ? `responded with ${errorOrStatus}` : (describeCause(errorOrStatus) ?? errorOrStatus.kind)}`,
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
  if (kind === null) return `${endpoint} responded with ${status}`
  const words = failureText(kind, reason)
  return words.includes('the endpoint') ? words.replace('the endpoint', endpoint) : `${endpoint}: ${words}`
}

export const auditUnavailableError = (): GatewayError =>
  new GatewayError('audit-unavailable', { fields: ['Retry-After', '1'] })

/** RFC 9110 §10.2.3: Retry-After has whole seconds. */
export const overloadedError = (reason: ReasonFor<'overloaded'>): GatewayError =>
  new GatewayError('overloaded', { reason, fields: ['Retry-After', '1'] })

export const allDrainingError = (): GatewayError =>
  new GatewayError('no-healthy-endpoint', { reason: 'all-draining', fields: ['Retry-After', '1'] })

/** One line; the stack only for the gateway's own faults. */
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
