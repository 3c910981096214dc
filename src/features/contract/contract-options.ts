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
  readonly maxBytes: number
  readonly rejectsUnchecked: boolean
  readonly sample: number
}

export const isSampled = (sample: number): boolean => sample >= 1 || Math.random() < sample

export const whyUnchecked = (toCheck: BodyCheck, bodyFault: UncheckedReason | null): UncheckedReason | null => {
  if (toCheck.kind === 'unchecked') return toCheck.why
  return toCheck.kind === 'schema' ? bodyFault : null
}

export const rejectUnchecked = (
  toCheck: BodyCheck,
  why: UncheckedReason | null,
  { rejectsUnchecked }: Pick<ContractLayerOptions, 'rejectsUnchecked'>,
): readonly Violation[] => {
  const hasSchema = toCheck.kind === 'schema' || (toCheck.kind === 'unchecked' && toCheck.hasSchema)
  return rejectsUnchecked && hasSchema && why !== null && why !== 'busy' ? [uncheckedViolations[why]] : noViolations
}

/** Each text once: violations differ in names that the text leaves out. */
export const describeViolations = (violations: readonly Violation[]): string => {
  const lines = violations.map((each) => `${formatViolationPlace(each)} ${each.rule}: ${each.detail}`)
  return [...new Set(lines)].join('; ')
}

export const createCounter = (direction: MessageDirection, options: ContractLayerOptions) => {
  const { driftCounts, validators, checks } = options

  const count = (
    { requestId, operation: { id }, identity, client, attempts }: Exchange,
    violations: readonly Violation[],
    unchecked: UncheckedReason | null,
    isRejected = false,
  ): void => {
    const endpoint = attempts.last?.endpoint ?? null
    if (violations.length > 0) {
      const example = { client: identity?.client ?? client, endpoint, requestId }
      driftCounts.countBroken(id, direction, violations, isRejected, example)
    } else if (unchecked !== null) driftCounts.countUnchecked(id, direction, unchecked)
    else driftCounts.countKept(id, direction, direction === 'response' ? endpoint : null)
  }

  return {
    /** Counts an enforced message and returns why it is rejected. `found` null: its body is unchecked. */
    settle(exchange: Exchange, toCheck: BodyCheck, found: readonly Violation[] | null, why: UncheckedReason | null) {
      const violations = found ?? rejectUnchecked(toCheck, why, options)
      count(exchange, violations, why, true)
      return violations
    },
    countLater(exchange: Exchange, copy: BodyCopy | null, checkHead: () => HeadCheck, isComplete: () => boolean): void {
      const isQueued = checks.addFor(copy, () => {
        const { violations, body: toCheck } = checkHead()
        const unread = whyUnchecked(toCheck, copy?.failure ?? null)
        const isRead = toCheck.kind === 'schema' && unread === null
        const isWhole = isComplete()
        const inBody =
          isRead && isWhole && copy !== null ? checkBody(toCheck.schema, validators, copy.bytes) : noViolations
        const all = inBody?.length ? [...violations, ...inBody].slice(0, maxViolations) : violations
        if (all.length > 0 || isWhole || !isRead) count(exchange, all, inBody === null ? 'too-complex' : unread)
      })
      if (!isQueued) count(exchange, noViolations, 'busy')
    },
  }
}
