import { changedGroups } from '../config/diff.ts'
import type { Problem } from '../config/problem.ts'
import type { TellOrder } from '../observe/audit/line.ts'
import type { Log } from '../observe/log.ts'
import type { Held } from './held-back.ts'
import type { Outcome, Trigger } from './reload-history.ts'

// The first ones tell what is wrong; a file of another format would have hundreds.
const maxShown = 20

/** Writes what came of a reload: what changed, or each problem with its place in the file. For the audit log its hashes say enough. */
export const logReload = (log: Log, tell: TellOrder, trigger: Trigger, outcome: Outcome): void => {
  const { result } = outcome
  if (result === 'refused') tell('reload', { trigger, result, config: outcome.hash })
  else tell('reload', { trigger, result, from: outcome.from, config: outcome.to, forced: outcome.forced })
  if (outcome.result === 'unchanged') return log.info({ trigger, config: outcome.to }, 'configuration unchanged')
  if (outcome.result === 'refused') return logRefusal(log, trigger, outcome)
  const { from, to, changes, warnings, forced } = outcome
  const how = forced ? { trigger, forced } : { trigger }
  log.info({ ...how, from, to, groups: changedGroups(changes), changes }, 'configuration applied')
  logWarnings(log, warnings)
}

/** Writes what works, but was probably not meant. */
export const logWarnings = (log: Log, warnings: readonly Problem[]): void => {
  for (const warning of warnings) log.warn(warning, 'configuration warning')
}

const logRefusal = (log: Log, trigger: Trigger, { hash, problems, held }: Outcome & { result: 'refused' }): void => {
  // Every half minute the same, perhaps for days: whoever reads the log has its reasons already.
  if (held?.known) return log.warn({ config: hash, ...next(held) }, 'configuration still held back')
  const told = { trigger, config: hash, problems: problems.length, ...(held === null ? {} : next(held)) }
  log.error(told, 'configuration refused: what ran before runs on')
  for (const problem of problems.slice(0, maxShown)) log.error(problem, 'configuration problem')
}

const next = ({ tries, nextTryAt }: Held) => ({ tries, nextTry: new Date(nextTryAt).toISOString() })
