import { formatAgo, formatTimeLeft } from '../../lib/text/format-time.ts'
import type { TableRow } from '../../lib/text/table.ts'
import type { Status } from '../../runtime/status/status-part.ts'
import { adminParts } from '../admin-parts.ts'
import { isMutatingCommand } from '../commands/command-groups.ts'
import { endpointHeader, labelRows, sideRows } from './endpoint-rows.ts'

const loaded = await Promise.all(adminParts.map(({ loadStatusTexts }) => loadStatusTexts?.()))

export const statusTexts = loaded.flatMap((each) => each?.texts ?? [])

export const statusFacts = loaded.flatMap((each) => each?.facts ?? [])

export const upstreamRows = (upstreams: Status['upstreams'], at: number): readonly TableRow[] => [
  endpointHeader,
  ...Object.entries(upstreams).flatMap(([group, upstream]) => [
    ...labelRows(group, sideRows(upstream, at)),
    ...loaded.flatMap((each) => each?.groupRows?.(group, upstream, at) ?? []),
  ]),
]

export const renderFindings = (findings: Status['findings'], at: number): string =>
  findings.length === 0 ? 'nothing is wrong' : findings.map((finding) => renderFinding(finding, at)).join('\n')

const renderFinding = (finding: Status['findings'][number], at: number): string => {
  const { severity, about, cause, details, since, command } = finding
  const more = [
    since === null ? [] : `since ${formatAgo(since, at)}`,
    command === null ? [] : `${isMutatingCommand(command) ? 'to do' : 'more'}: ${command}`,
  ].flat()
  const first = `${(severity === 'critical' ? 'CRITICAL' : severity).padEnd(severityWidth)}  ${about}: ${cause}`
  const below = [...(more.length === 0 ? [] : [more.join('; ')]), ...details.map((detail) => `- ${detail}`)]
  return [first, ...below.map((text) => `${' '.repeat(severityWidth)}  ${text}`)].join('\n')
}

const severityWidth = 'CRITICAL'.length

export const operationRows = (operations: Status['operations'], at: number): readonly TableRow[] => [
  ['operation', 'state'],
  ...Object.entries(operations).map(([id, { state, until: end, setBy, setReason }]): TableRow => {
    const why = setReason === null ? '' : `: ${setReason}`
    const stateText = state === 'reject' ? 'REJECTED' : state === 'serve' ? 'served' : state
    const by = end === null ? 'the file' : `${setBy ?? 'an operator'} until ${formatTimeLeft(end, at)}${why}`
    return [id, `${stateText} by ${by}`]
  }),
]
