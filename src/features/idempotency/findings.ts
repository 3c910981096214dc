import { pluralize } from '../../core/admin/commands/phrases.ts'
import { countPhrase, rejectedPhrase, tallyRejected } from '../../core/admin/findings/failure-tally.ts'
import { createFinding, type Finding, wherePhrase } from '../../core/admin/findings/finding.ts'
import { explainCommandLine } from '../../core/admin/findings/finding-commands.ts'
import type { FindingInputs } from '../../core/admin/findings/finding-inputs.ts'
import { formatTimeOfDay } from '../../core/admin/format-time.ts'
import type { IdempotencyReport } from '../../core/runtime/report/idempotency-report.ts'
import { allOperations, type OperationId } from '../../operations.ts'

// Fewer may be left to the clients that ask about them; so many have one cause.
const manyUnknown = 10

// A client that repeats its request is refused until a person has looked.
const oldUnknownMs = 15 * 60_000

export const idempotencyFindings = (inputs: FindingInputs): readonly Finding[] => {
  const { idempotency } = inputs.report
  return idempotency === null ? [] : [...storeFindings(inputs, idempotency), ...unknownFindings(inputs, idempotency)]
}

const storeFindings = (
  { config, file, report }: FindingInputs,
  { store, state, since, reason, where, entries, maxEntries }: IdempotencyReport,
): readonly Finding[] => {
  const rejected = tallyRejected(report, 'idempotency-unavailable')
  const [first, ...others] = allOperations.filter(({ id }) => config.operations[id].idempotency !== null)
  if (first === undefined) return []
  const command = explainCommandLine(first.id, config)
  const rejects = [first, ...others].some(({ id }) => policyOf(config, id)?.onStoreFailure === 'refuse')
  const severity = rejects ? 'critical' : 'warning'
  const then = rejects
    ? `requests with a new key are refused (onStoreFailure: refuse)${rejectedPhrase(rejected)}`
    : 'requests with a new key go on without a promise (onStoreFailure: pass)'
  if (state === 'unavailable') {
    const cause = `what keys led to cannot be looked up${wherePhrase({ where })}${reason === null ? '' : ` (${reason})`}: ${then}`
    // This names the Redis, as long as the file is what runs.
    const tries = store === 'redis' && file.differing.length === 0
    const shows = tries ? `lender-gateway check --online ${file.name}` : command
    return [createFinding(severity, 'idempotency', cause, { since, command: shows })]
  }
  if (entries !== null && maxEntries !== null && entries >= maxEntries) {
    const cause = `${entries} keys are remembered, as many as idempotency.maxEntries allows: ${then}`
    return [createFinding(severity, 'idempotency', cause, { command })]
  }
  if (rejected.last15Min === 0) return []
  const cause = `what keys led to could not be remembered for a while: ${countPhrase(rejected, 'refused')}`
  const isOver = rejected.lastMinute === 0
  return [createFinding(isOver ? 'notice' : 'warning', 'idempotency', cause, { since: rejected.firstAt, command })]
}

/**
 * Finds outcomes that a person has to clear up. Where the upstream knows keys, a repetition clears them up. The store
 * does not know whose operation a key is, so where some operations forward, their outcomes count as well.
 */
const unknownFindings = (
  { at, config, report }: FindingInputs,
  { unknown, oldestUnknown }: IdempotencyReport,
): readonly Finding[] => {
  if (unknown === null || oldestUnknown === null) return []
  const refusing = allOperations.map(({ id }) => id).filter((id) => policyOf(config, id)?.onUnknown === 'refuse')
  const count = (id: OperationId): number => report.requestMetrics?.operations[id].idempotency.unknown ?? 0
  const [worst] = refusing.toSorted((a, b) => count(b) - count(a))
  if (worst === undefined) return []
  const isMany = unknown >= manyUnknown
  if (!isMany && at - oldestUnknown < oldUnknownMs) return []
  const cause = `the outcome of ${pluralize(unknown, 'request')} with a key is unknown, the oldest since ${formatTimeOfDay(oldestUnknown, at)}: a repetition is refused with 409 (onUnknown: refuse) until the upstream was asked and the key is forgotten`
  const severity = isMany ? 'warning' : 'notice'
  return [
    createFinding(severity, 'idempotency', cause, { since: oldestUnknown, command: explainCommandLine(worst, config) }),
  ]
}

const policyOf = ({ operations }: FindingInputs['config'], id: OperationId) => operations[id].idempotency
