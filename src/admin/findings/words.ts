import { catalog, type Group, type OperationId } from '../../catalog.ts'
import type { Config } from '../../config/config.ts'
import type { AttemptReport } from '../../failures/errors.ts'
import type { Kind } from '../../failures/kinds.ts'
import { failureText } from '../../failures/reasons.ts'
import type { CauseReport } from '../../observe/refusals/causes.ts'
import { formatDuration } from '../../units.ts'

/** Says in words what went wrong at an endpoint, by its name: `http://risk-a:8080 refuses connections (ECONNREFUSED)`. */
export const saidOf = ({ kind, reason, operation }: CauseReport, endpoint: string, config: Config): string =>
  lastOf({ kind, reason, status: null }, endpoint) +
  (operation === null ? '' : boundOf(kind, groupOf(operation), config, operation))

/** Says in words why a request last failed at an endpoint. */
export const lastOf = (
  { kind, reason, status }: Pick<AttemptReport, 'kind' | 'reason' | 'status'>,
  endpoint: string,
): string => {
  if (kind === null) return `${endpoint} answered ${status}`
  return named(failureText(kind, reason), endpoint)
}

const named = (words: string, endpoint: string): string =>
  words.includes('the endpoint') ? words.replace('the endpoint', endpoint) : `${endpoint}: ${words}`

/** Names the bound that was exceeded, with what it is set to. */
export const boundOf = (kind: Kind | null, group: Group, config: Config, id: OperationId | null = null): string => {
  const { connect, headers } = config.upstreams[group].timeouts
  const deadlineMs = id === null ? null : config.operations[id].deadline
  const bound = {
    'connect-timeout': connect,
    'headers-timeout': headers,
    'deadline-exceeded': deadlineMs,
  }[kind as string]
  return bound == null ? '' : ` (${formatDuration(bound)})`
}

/** Finds the group of an operation. */
export const groupOf = (id: NonNullable<CauseReport['operation']>): Group =>
  (catalog.find((each) => each.id === id) as (typeof catalog)[number]).group

/** Writes the command that shows what stands in the way of an operation. */
export const explainCommand = (id: NonNullable<CauseReport['operation']>): string => {
  const { method, path } = catalog.find((each) => each.id === id) as (typeof catalog)[number]
  return `lender-gateway explain ${method} ${path} --live`
}
