import type { Status } from '../../admin/api/status.ts'
import { isMutatingCommand } from '../../admin/commands/command-groups.ts'
import { formatAgo, formatTimeLeft } from './format-time.ts'
import type { TableRow } from './output.ts'

export const renderFindings = (findings: Status['findings'], at: number): string =>
  findings.length === 0 ? 'nothing is wrong' : findings.map((finding) => renderFinding(finding, at)).join('\n')

const renderFinding = (
  { severity, about, cause, details, since, command }: Status['findings'][number],
  at: number,
): string => {
  const more = [
    ...(since === null ? [] : [`since ${formatAgo(since, at)}`]),
    ...(command === null ? [] : [`${isMutatingCommand(command) ? 'to do' : 'more'}: ${command}`]),
  ]
  const first = `${(severity === 'critical' ? 'CRITICAL' : severity).padEnd(severityWidth)}  ${about}: ${cause}`
  const below = [...(more.length === 0 ? [] : [more.join('; ')]), ...details.map((detail) => `- ${detail}`)]
  return [first, ...below.map((text) => `${' '.repeat(severityWidth)}  ${text}`)].join('\n')
}

const severityWidth = 'CRITICAL'.length

/** Lists the operations that are refused, or that an operator has overridden. */
export const operationRows = (operations: Status['operations'], at: number): readonly TableRow[] => [
  ['operation', 'state'],
  ...Object.entries(operations).map(([id, { state, until: end, orderedBy, orderReason }]): TableRow => {
    const why = orderReason === null ? '' : `: ${orderReason}`
    const stateText = state === 'refuse' ? 'REFUSED' : state === 'serve' ? 'served' : state
    return [
      id,
      end === null
        ? `${stateText} by the file`
        : `${stateText} by ${orderedBy ?? 'an operator'} until ${formatTimeLeft(end, at)}${why}`,
    ]
  }),
]
