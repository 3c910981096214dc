import type { Command } from '../../admin/commands/command.ts'
import { outcomeShape, refusedOutcomeShape } from '../../admin/configuration.ts'
import { formatProblem, formatProblems } from '../../config/problem.ts'
import type { Reply } from './ask.ts'
import { changesText } from './changes-text.ts'
import { type Target, urlOf } from './target.ts'
import { understood } from './understood.ts'

/** Writes what came of a reload or a rollback: what is doubtful, what runs, and what changed. */
export const outcomeText = (target: Target, command: Command, { body }: Reply): string => {
  const came = understood(target, body, outcomeShape)
  const warnings = came.warnings.map((warning) => `warning: ${formatProblem(warning)}\n`).join('')
  const changes = came.changes.length === 0 ? '' : `\n${changesText(came.changes)}`
  return `${warnings}${command.printed({}, came)}\n${changes}`
}

/** Writes why there was none, and says on stderr what runs on. */
export const refusedText = (target: Target, command: Command, { body }: Reply): string => {
  const known = command.refusals?.[codeOf(body)]
  if (known !== undefined) return `${known}\n`
  const { hash, problems, nextTry } = understood(target, body, refusedOutcomeShape)
  const then = nextTry === null ? '' : ', and it is tried again and again while the file says so'
  process.stderr.write(`lender-gateway: ${urlOf(target)} ${command.refused}; ${hash} runs on${then}\n`)
  return formatProblems(problems)
}

const codeOf = (body: unknown): string =>
  typeof body === 'object' && body !== null && 'code' in body && typeof body.code === 'string' ? body.code : ''
