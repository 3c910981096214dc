import type { UncheckedReason } from '../../contract/check-message.ts'
import type { Violation } from '../../contract/compiled-contract.ts'
import type { ContractValidators } from '../../contract/validators.ts'
import type { Exchange } from '../../exchange.ts'
import { getFirstFieldValue } from '../../header-fields.ts'
import type { DriftCounts } from '../../observe/contract/drift-counts.ts'
import type { MessageDirection } from '../../observe/contract/drift-report.ts'
import type { PendingBytes } from './message-copy.ts'

/** What both layers of the contract are made from. */
export interface ContractLayerOptions {
  readonly validators: ContractValidators
  readonly driftCounts: DriftCounts
  /** The bytes that wait to be checked, of the whole process. */
  readonly pendingBytes: PendingBytes
  /** A larger body is not checked beyond its type. */
  readonly maxBytes: number
  /** The share of messages that is checked in report mode. */
  readonly sample: number
  /** The field that carries the request id, in lower case; null: there is none. */
  readonly requestIdField: string | null
}

/** Decides whether a message is checked in report mode. */
export const isSampled = (sample: number): boolean => sample >= 1 || Math.random() < sample

/** Counts a message once: as broken, else as unchecked, else as kept. */
export const countMessage = (
  { operation: { id }, identity, client, attempt, fields }: Exchange,
  direction: MessageDirection,
  { driftCounts, requestIdField }: ContractLayerOptions,
  violations: readonly Violation[],
  unchecked: UncheckedReason | null,
  isRejected = false,
): void => {
  const endpoint = attempt?.endpoint ?? null
  if (violations.length > 0)
    driftCounts.countBroken(id, direction, violations, isRejected, {
      client: identity?.client ?? client,
      endpoint,
      requestId: requestIdField === null ? null : (getFirstFieldValue(fields, requestIdField) ?? null),
    })
  else if (unchecked !== null) driftCounts.countUnchecked(id, direction, unchecked)
  else driftCounts.countKept(id, direction, direction === 'response' ? endpoint : null)
}

/** Describes violations in one line, for the log. */
export const describeViolations = (violations: readonly Violation[]): string =>
  violations.map(({ pointer, in: place, rule, detail }) => `${place} ${pointer || '/'} ${rule}: ${detail}`).join('; ')
