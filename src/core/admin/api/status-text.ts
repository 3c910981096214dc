import { formatPlace, formatProblem } from '../../config/problem.ts'
import { insertBeside } from '../../lib/beside.ts'
import { expiryWarningDays } from '../../lib/certificate-expiry.ts'
import { epochMs } from '../../lib/clock.ts'
import { formatAgo, formatInstant, formatTimeLeft, humanizeSeconds } from '../../lib/text/format-time.ts'
import { formatTable, type TableRow } from '../../lib/text/table.ts'
import type { Status } from '../../runtime/status/status-part.ts'
import type { AdminContext } from '../admin-context.ts'
import { sinceStart } from '../commands/phrases.ts'
import { formatInstance, getStatus, statusShape } from './status.ts'
import { operationRows, renderFindings, statusFacts, statusTexts, upstreamRows } from './status-rows.ts'

/** Renders the status for a terminal, with control characters escaped. */
export const getStatusText = async (context: AdminContext): Promise<string> =>
  renderStatus(statusShape(await getStatus(context), ''), epochMs())

// A file of another format would have hundreds.
const maxProblems = 10

/** The rejection of the file comes last, where the operator's eye ends. */
export const renderStatus = (status: Status, at: number): string => {
  const { pid, findings, certificates, upstreams, operations, config, warnings } = status
  const own = {
    // The command prints the gateway's address in front of it: the machine may run several.
    process: `runs ${config.path} as process ${pid}`,
    findings: renderFindings(findings, at),
    facts: renderFacts(status, at),
    upstreams: formatTable(upstreamRows(upstreams, at)),
    certificates: certificates.length === 0 ? null : formatTable(certificateRows(certificates)),
    operations: Object.keys(operations).length === 0 ? null : formatTable(operationRows(operations, at)),
    warnings: warnings.length === 0 ? null : renderWarnings(warnings),
    rejection: config.lastRejection === null ? null : renderLastRejection(config.lastRejection, at),
  }
  const all = insertBeside<'upstreams' | 'certificates', string | null>(
    own,
    statusTexts.map((each) => ({ ...each, value: each.render(status, at) })),
  )
  return `${all.filter((text) => text !== null).join('\n\n')}\n`
}

const renderFacts = (status: Status, at: number): string => {
  const { state, ready, notReady, version, instance, node, pid, uptimeSeconds, config, retiring, log } = status
  const readiness = ready ? 'ready' : `NOT READY${notReady === null ? '' : `: ${notReady}`}`
  const instanceWords = formatInstance(instance)
  const loadedBy = loadCauses[config.loadedBy] ?? `by ${config.loadedBy}`
  const { file, path, differingFiles, previous } = config
  const differing = (differingFiles ?? []).map((each) => (each === path ? file : each))
  const { dropped } = log
  const rows: (readonly [string, string])[] = [
    ['gateway', `${state === 'not serving' ? 'NOT SERVING' : state}, ${readiness}`],
    ...(instanceWords === null ? [] : [['instance', instanceWords] as const]),
    ['version', `${version}, Node ${node}, process ${pid}`],
    ['up', `${humanizeSeconds(uptimeSeconds)}, started ${formatInstant(at - uptimeSeconds * 1000)}`],
    ['config', `${config.hash}, loaded ${formatAgo(config.loadedAt, at)}, ${loadedBy}`],
    ['before', previous === null ? 'none' : `${previous}; return to it with: lender-gateway rollback`],
    ['file', `${differing.length === 0 ? file : differing.join(', ')}: ${renderFileState(config, at)}`],
    [
      'log',
      dropped === 0 ? 'no lines dropped' : `${dropped} LINES DROPPED ${sinceStart}: the reader of the log is too slow`,
    ],
  ]
  for (const { label, render } of statusFacts) {
    const text = render(status, at)
    if (text !== null) rows.push([label, text])
  }
  if (retiring > 0) rows.push(['retiring', `${retiring} earlier: their requests are still under way`])
  return formatTable(rows)
}

const loadCauses: Readonly<Record<string, string>> = {
  start: 'at the start',
  file: 'by an edit of the file',
  signal: 'by SIGHUP',
  request: 'by a reload',
  rollback: 'by a rollback',
  preflight: 'by an edit of the file that was held back at first',
}

const renderFileState = ({ fileDiffers, lastRejection, loadedBy, nextTry }: Status['config'], at: number): string => {
  if (!fileDiffers) return 'same as the running configuration'
  if (nextTry !== null)
    return `DIFFERS from the running configuration: held back, see below; next try ${formatTimeLeft(nextTry, at)}`
  if (lastRejection !== null) return 'DIFFERS from the running configuration: rejected, see below'
  if (loadedBy === 'rollback')
    return 'DIFFERS from the running configuration: rolled back; apply it again with: lender-gateway reload'
  return 'DIFFERS from the running configuration: not read yet; read it now with: lender-gateway reload'
}

const renderLastRejection = (rejection: NonNullable<Status['config']['lastRejection']>, at: number): string => {
  const title = `rejected ${formatAgo(rejection.at, at)}; the running configuration stays in effect`
  return [title, ...firstLines(rejection.problems.map(formatProblem))].join('\n')
}

const renderWarnings = (warnings: Status['warnings']): string =>
  firstLines([...new Set(warnings.map((each) => `warning: ${formatPlace(each)}: ${each.message}`))]).join('\n')

const firstLines = (lines: readonly string[]): readonly string[] => {
  const more = lines.length - maxProblems
  return [...lines.slice(0, maxProblems), ...(more > 0 ? [`and ${more} more: see lender-gateway check`] : [])]
}

const certificateRows = (certificates: Status['certificates']): readonly TableRow[] => [
  ['certificate', 'until', 'left', 'names'],
  ...certificates.map(({ key, names, notAfter, daysLeft }): TableRow => {
    const left = daysLeft < expiryWarningDays ? `ONLY ${daysLeft} DAYS` : `${daysLeft} days`
    return [key, notAfter, daysLeft < 0 ? 'EXPIRED' : left, names.join(', ')]
  }),
]
