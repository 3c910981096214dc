import { changedGroups } from '../config/diff.ts'
import type { Problem } from '../config/problem.ts'
import type { Log } from '../observe/log.ts'
import type { Outcome, Trigger } from './reloader.ts'

// The first ones tell what is wrong; a file of another format would have hundreds.
const maxShown = 20

/** Writes what came of a reload: what changed, or each problem with its place in the file. */
export const logReload = (log: Log, trigger: Trigger, outcome: Outcome): void => {
  if (outcome.result === 'unchanged') return log.info({ trigger, config: outcome.to }, 'configuration unchanged')
  if (outcome.result === 'refused') {
    const { hash, problems } = outcome
    log.error({ trigger, config: hash, problems: problems.length }, 'configuration refused: what ran before runs on')
    for (const problem of problems.slice(0, maxShown)) log.error(problem, 'configuration problem')
    return
  }
  const { from, to, changes, warnings } = outcome
  log.info({ trigger, from, to, groups: changedGroups(changes), changes }, 'configuration applied')
  logWarnings(log, warnings)
}

/** Writes what works, but was probably not meant. */
export const logWarnings = (log: Log, warnings: readonly Problem[]): void => {
  for (const warning of warnings) log.warn(warning, 'configuration warning')
}
