import { changedGroups } from '../../config/diff/diff-reports.ts'
import type { ConfigProblem } from '../../config/problem.ts'
import type { Log } from '../../log/log.ts'
import type { RecordAdminEvent } from '../overrides.ts'
import type { DeferredEdit } from './deferred-reload.ts'
import type { ReloadOutcome, ReloadTrigger } from './reload-history.ts'

const maxLoggedProblems = 20

export const logReload = (
  log: Log,
  recordAdminEvent: RecordAdminEvent,
  trigger: ReloadTrigger,
  outcome: ReloadOutcome,
  operator: string | null = null,
): void => {
  const { result } = outcome
  const by = operator === null ? {} : { by: operator }
  if (result === 'rejected') recordAdminEvent('reload', { trigger, ...by, result, config: outcome.hash })
  else {
    const off = outcome.switchedOff.length > 0 ? { switchedOff: outcome.switchedOff.join(', ') } : {}
    const { from, to: config, forced } = outcome
    recordAdminEvent('reload', { trigger, ...by, result, from, config, forced, ...off })
  }
  if (outcome.result === 'unchanged') return log.info({ trigger, ...by, config: outcome.to }, 'configuration unchanged')
  if (outcome.result === 'rejected') return logRejection(log, { trigger, ...by }, outcome)
  const { from, to, changes, warnings, forced, switchedOff } = outcome
  const how = { trigger, ...by, ...(forced ? { forced } : {}), ...(switchedOff.length > 0 ? { switchedOff } : {}) }
  log.info({ ...how, from, to, groups: changedGroups(changes), changes }, 'configuration applied')
  logWarnings(log, warnings)
}

export const logWarnings = (log: Log, warnings: readonly ConfigProblem[]): void => {
  for (const warning of warnings) log.warn(warning, 'configuration warning')
}

const logRejection = (
  log: Log,
  cause: { readonly trigger: ReloadTrigger; readonly by?: string },
  { hash, problems, held }: ReloadOutcome & { result: 'rejected' },
): void => {
  // Retries follow every 30 s, perhaps for days.
  if (held?.known) return log.warn({ config: hash, ...retryFields(held) }, 'configuration still held back')
  const fields = { ...cause, config: hash, problems: problems.length, ...(held === null ? {} : retryFields(held)) }
  log.error(fields, 'configuration rejected: the running configuration stays in effect')
  for (const problem of problems.slice(0, maxLoggedProblems)) log.error(problem, 'configuration problem')
}

const retryFields = ({ tries, nextTryAt }: DeferredEdit) => ({ tries, nextTry: new Date(nextTryAt).toISOString() })
