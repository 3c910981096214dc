import type { BodyCopy } from '../../core/exchange/bodies/body-copy.ts'
import type { Exchange } from '../../core/exchange/exchange.ts'
import type { Violation } from '../../core/exchange/failures/errors.ts'
import {
  type BodyCheck,
  checkBody,
  type HeadCheck,
  type UncheckedReason,
  uncheckedViolations,
} from './check/check-message.ts'
import { type ContractValidators, formatViolationPlace, maxViolations, noViolations } from './check/validators.ts'
import type { CheckQueue } from './check-queue.ts'
import type { DriftCounts } from './drift-counts.ts'
import type { MessageDirection } from './drift-report.ts'

export interface ContractLayerOptions {
  readonly validators: ContractValidators
  readonly driftCounts: DriftCounts
  readonly checks: CheckQueue
  /** Only the type of a larger body is checked. */
  readonly maxBytes: number
  readonly refusesUnchecked: boolean
  /** The share of messages that is checked in report mode: 0 to 1. */
  readonly sample: number
}

export const isSampled = (sample: number): boolean => sample >= 1 || Math.random() < sample

/** Counts a message once: as broken, else as unchecked, else as kept. */
export const countMessage = (
  { requestId, operation: { id }, identity, client, attempts }: Exchange,
  direction: MessageDirection,
  { driftCounts }: ContractLayerOptions,
  violations: readonly Violation[],
  unchecked: UncheckedReason | null,
  isRejected = false,
): void => {
  const endpoint = attempts.last?.endpoint ?? null
  if (violations.length > 0)
    driftCounts.countBroken(id, direction, violations, isRejected, {
      client: identity?.client ?? client,
      endpoint,
      requestId,
    })
  else if (unchecked !== null) driftCounts.countUnchecked(id, direction, unchecked)
  else driftCounts.countKept(id, direction, direction === 'response' ? endpoint : null)
}

/** `bodyFault`: why the body was not read. Null: nothing stays unchecked. */
export const whyUnchecked = (toCheck: BodyCheck, bodyFault: UncheckedReason | null): UncheckedReason | null => {
  if (toCheck.kind === 'unchecked') return toCheck.why
  return toCheck.kind === 'schema' ? bodyFault : null
}

/** Empty: the enforced message passes, though its body is unchecked. */
export const refuseUnchecked = (
  toCheck: BodyCheck,
  why: UncheckedReason | null,
  { refusesUnchecked }: Pick<ContractLayerOptions, 'refusesUnchecked'>,
): readonly Violation[] => {
  const hasSchema = toCheck.kind === 'schema' || (toCheck.kind === 'unchecked' && toCheck.hasSchema)
  return refusesUnchecked && hasSchema && why !== null && why !== 'busy' ? [uncheckedViolations[why]] : noViolations
}

/** Counts an enforced message, and returns why it is rejected. `found` null: the head is kept, the body unchecked. */
export const settleEnforced = (
  exchange: Exchange,
  direction: MessageDirection,
  options: ContractLayerOptions,
  toCheck: BodyCheck,
  found: readonly Violation[] | null,
  why: UncheckedReason | null,
): readonly Violation[] => {
  const violations = found ?? refuseUnchecked(toCheck, why, options)
  countMessage(exchange, direction, options, violations, why, true)
  return violations
}

/** Each text once: names of the message are left out. */
export const describeViolations = (violations: readonly Violation[]): string => {
  const lines = violations.map((each) => `${formatViolationPlace(each)} ${each.rule}: ${each.detail}`)
  return [...new Set(lines)].join('; ')
}

/** Checks and counts a message in a later turn of the event loop. `copy` null: the body is not read. */
export const countLater = (
  exchange: Exchange,
  direction: MessageDirection,
  options: ContractLayerOptions,
  copy: BodyCopy | null,
  checkHead: () => HeadCheck,
  isComplete: () => boolean,
): void => {
  const isQueued = options.checks.add(() => {
    const { violations, body: toCheck } = checkHead()
    const unread = whyUnchecked(toCheck, copy?.failure ?? null)
    const isRead = toCheck.kind === 'schema' && unread === null
    const isWhole = isComplete()
    const inBody =
      isRead && isWhole && copy !== null ? checkBody(toCheck.schema, options.validators, copy.bytes) : noViolations
    copy?.free()
    const all = inBody?.length ? [...violations, ...inBody].slice(0, maxViolations) : violations
    // Nothing can be said of a body that was cut off.
    if (all.length > 0 || isWhole || !isRead)
      countMessage(exchange, direction, options, all, inBody === null ? 'too-complex' : unread)
  })
  if (isQueued) return
  copy?.free()
  countMessage(exchange, direction, options, noViolations, 'busy')
}
