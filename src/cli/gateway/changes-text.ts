import type { Command } from '../../admin/commands/command.ts'
import { type Outcome, outcomeShape, refusedOutcomeShape } from '../../admin/configuration.ts'
import { formatProblem, formatProblems } from '../../config/problem.ts'
import { printable } from '../../shared/printable.ts'
import { memberOf } from '../../shared/shape.ts'
import type { Reply } from './ask.ts'
import { aligned, widthsOf } from './table.ts'
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
  const known = command.refusals?.get(`${memberOf(body, 'code')}`)
  if (known !== undefined) return `${known}\n`
  const { hash, problems, nextTry } = understood(target, body, refusedOutcomeShape)
  const then = nextTry === null ? '' : ', and it is tried again and again while the file says so'
  process.stderr.write(`lender-gateway: ${urlOf(target)} ${command.refused}; ${hash} runs on${then}\n`)
  return formatProblems(problems)
}

/** Writes what differs, group by group, and last what concerns all of them. */
export const changesText = (changes: Outcome['changes']): string => {
  const byGroup = Map.groupBy(changes, ({ group }) => group)
  const everywhere = byGroup.get(null) ?? []
  byGroup.delete(null)
  const sections = [...byGroup].map(([group, own]) => section(group ?? '', own))
  if (everywhere.length > 0) sections.push(section('for all groups', everywhere))
  return sections.map((text) => `${text}\n`).join('\n')
}

const section = (title: string, changes: readonly Outcome['changes'][number][]): string => {
  const rows = changes.map((change) => [labelOf(change), told(change)])
  const widths = widthsOf(rows, widest)
  return [title, ...rows.map((row) => `  ${aligned(row, widths)}`)].join('\n')
}

// A long key pushes its own line out, not the whole table.
const widest = 40

/** Leaves out what the title says. */
const labelOf = ({ group, path }: Outcome['changes'][number]): string => {
  if (group === null) return path
  const own = `upstreams.${group}.`
  return path.startsWith(own) ? path.slice(own.length) : path.replace(/^operations\./, '')
}

const hidden = '***'

/** What looks the same before and after is, or holds, a secret that has changed. */
const told = ({ from, to }: Outcome['changes'][number]): string =>
  JSON.stringify(from) === JSON.stringify(to) ? 'changed, not shown' : `${shown(from)} → ${shown(to)}`

const shown = (value: unknown): string => {
  if (value === null || value === undefined) return '(not set)'
  if (value === hidden) return '(not shown)'
  if (Array.isArray(value)) return value.length === 0 ? '(none)' : value.map(entry).join(', ')
  return entry(value)
}

const entry = (value: unknown): string => {
  if (typeof value === 'string' && /^[^\s,]+$/.test(value)) return printable(value)
  if (isEndpoint(value)) return printable(`${value.url} (weight ${value.weight})`)
  return printable(JSON.stringify(value) ?? '(not set)')
}

const isEndpoint = (value: unknown): value is { readonly url: string; readonly weight: number } =>
  typeof value === 'object' &&
  value !== null &&
  'url' in value &&
  'weight' in value &&
  typeof value.url === 'string' &&
  typeof value.weight === 'number'
