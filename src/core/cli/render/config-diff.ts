import { type ReloadResponse, reloadRejectionShape, reloadResponseShape } from '../../admin/api/config-responses.ts'
import type { Command } from '../../admin/commands/command.ts'
import { formatProblem, formatProblems } from '../../config/problem.ts'
import { asObject, asText, getMember } from '../../lib/text/decode.ts'
import { escapeControls } from '../../lib/text/escape-controls.ts'
import { alignRow, columnWidths } from '../../lib/text/table.ts'
import { type AdminResponse, decodeResponse } from '../client/admin-client.ts'
import { type AdminTarget, targetUrl } from '../client/admin-target.ts'

export const renderReloadOutcome = (target: AdminTarget, command: Command, { body }: AdminResponse): string => {
  const outcome = decodeResponse(target, body, reloadResponseShape)
  const warnings = outcome.warnings.map((warning) => `warning: ${formatProblem(warning)}\n`).join('')
  const changes = outcome.changes.length === 0 ? '' : `\n${renderChanges(outcome.changes)}`
  const { switchedOff } = outcome
  const off = switchedOff === null || switchedOff.length === 0 ? '' : `switched off: ${switchedOff.join(', ')}\n`
  return `${command.cliText({}, outcome)}\n${off}${warnings}${changes}`
}

export const renderReloadRejection = (target: AdminTarget, command: Command, { body }: AdminResponse): string => {
  if (command.plainErrors?.includes(`${getMember(body, 'code')}`))
    return `${decodeResponse(target, body, asObject({ detail: asText })).detail}\n`
  const { hash, problems, nextTry } = decodeResponse(target, body, reloadRejectionShape)
  const retryNote = nextTry === null ? '' : ', and it is tried again and again while the file says so'
  process.stderr.write(`lender-gateway: ${targetUrl(target)} ${command.rejectedText}; ${hash} runs on${retryNote}\n`)
  return formatProblems(problems)
}

export const renderChanges = (changes: ReloadResponse['changes']): string => {
  const byGroup = Map.groupBy(changes, ({ group }) => group)
  const globalChanges = byGroup.get(null) ?? []
  byGroup.delete(null)
  const sections = [...byGroup].map(([group, ofGroup]) => renderSection(group ?? '', ofGroup))
  if (globalChanges.length > 0) sections.push(renderSection('for all groups', globalChanges))
  return sections.map((text) => `${text}\n`).join('\n')
}

const renderSection = (title: string, changes: readonly ReloadResponse['changes'][number][]): string => {
  const rows = changes.map((change) => [escapeControls(changeLabel(change)), renderChange(change)])
  const maxLabelWidth = 40 // a longer key shifts only its own line, not the whole table
  const widths = columnWidths(rows, maxLabelWidth)
  return [title, ...rows.map((row) => `  ${alignRow(row, widths)}`)].join('\n')
}

const changeLabel = ({ group, path }: ReloadResponse['changes'][number]): string => {
  if (group === null) return path
  const prefix = `upstreams.${group}.`
  return path.startsWith(prefix) ? path.slice(prefix.length) : path.replace(/^operations\./, '')
}

/** A value that looks the same before and after is, or holds, a secret. */
const renderChange = ({ from, to }: ReloadResponse['changes'][number]): string =>
  JSON.stringify(from) === JSON.stringify(to) ? 'changed, not shown' : `${renderValue(from)} → ${renderValue(to)}`

const renderValue = (value: unknown): string => {
  if (value === null || value === undefined) return '(not set)'
  if (value === '***') return '(not shown)'
  if (Array.isArray(value)) return value.length === 0 ? '(none)' : value.map(renderEntry).join(', ')
  return renderEntry(value)
}

const renderEntry = (value: unknown): string => {
  if (typeof value === 'string' && /^[^\s,]+$/.test(value)) return escapeControls(value)
  const [url, weight] = [getMember(value, 'url'), getMember(value, 'weight')]
  if (typeof url === 'string' && typeof weight === 'number') return escapeControls(`${url} (weight ${weight})`)
  // A candidate that was added or removed whole is shown by its endpoints.
  const endpoints = getMember(value, 'endpoints')
  return Array.isArray(endpoints) ? endpoints.map(renderEntry).join(', ') : escapeControls(JSON.stringify(value))
}
