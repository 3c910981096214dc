import { type Change, changedGroups } from '../../../config/diff.ts'
import type { Outcome } from '../../../snapshot/reloader.ts'
import { many } from './words.ts'

/** Says what came of a reload, or of a rollback, that was not refused. */
export const applied = ({ result, from, to, changes }: Exclude<Outcome, { result: 'refused' }>): string =>
  result === 'unchanged'
    ? `Nothing has changed: the file says what runs already (${to}).`
    : `The configuration is ${to} now, and was ${from}: ${changed(changes)}.`

/** Says how much differs, and where. */
export const changed = (changes: readonly Change[]): string => {
  const groups = changedGroups(changes)
  const where = groups.length === 0 ? '' : ` in ${groups.join(', ')}`
  return `${many(changes.length, 'change')}${where}`
}
