import { formatDuration } from '../../units.ts'
import { type Finding, finding } from './finding.ts'
import type { Reading } from './reading.ts'

/** Finds why the file does not say what runs. */
export const configFindings = ({ at, file }: Reading): readonly Finding[] => {
  const { name, differs, rolledBack, refusal, nextTryAt } = file
  const command = `lender-gateway check ${name}`
  if (refusal !== null) {
    const [first, ...others] = refusal.problems
    const what = nextTryAt === null ? `an edit of ${name} was refused` : `an edit of ${name} is held back`
    const why =
      first === undefined ? '' : `: ${first.file}:${first.line}:${first.column} ${first.path}: ${first.message}`
    const more = others.length === 0 ? '' : `, and ${others.length} more`
    const next = nextTryAt === null ? '' : `; next try in ${formatDuration(Math.max(0, nextTryAt - at))}`
    const cause = `${what}, and what ran before runs on${why}${more}${next}`
    return [
      finding('warning', 'config', cause, {
        since: refusal.at,
        command: nextTryAt === null ? command : `lender-gateway check --online ${name}`,
      }),
    ]
  }
  if (!differs) return []
  const cause = rolledBack
    ? `${name} differs from what runs: it was rolled back, and reload takes it again`
    : `${name} differs from what runs: it was not read yet, and reload reads it`
  return [finding('notice', 'config', cause, { command: `lender-gateway diff ${name}` })]
}
