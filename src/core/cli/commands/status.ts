import { formatInstance, statusShape } from '../../admin/api/status.ts'
import { sinceStart } from '../../admin/commands/phrases.ts'
import { formatPlace, formatProblem } from '../../config/problem.ts'
import { insertBeside } from '../../lib/beside.ts'
import { expiryWarningDays } from '../../lib/certificate-expiry.ts'
import { formatAgo, formatInstant, formatTimeLeft, humanizeSeconds } from '../../lib/text/format-time.ts'
import type { Status } from '../../runtime/status/status-part.ts'
import { getDecoded } from '../client/admin-client.ts'
import { type AdminTarget, type ClientCommandOptions, locateGateway, targetUrl } from '../client/admin-target.ts'
import { formatTable, printJson, type TableRow, warnAboutTarget } from '../render/output.ts'
import { operationRows, renderFindings, statusFacts, statusTexts, upstreamRows } from '../render/status-rows.ts'

export const showStatus = async ({ format, ...targetOptions }: ClientCommandOptions): Promise<number> => {
  const target = await locateGateway(targetOptions)
  const { body, decoded: status, at } = await getDecoded(target, '/status', statusShape)
  warnAboutTarget(target, status.version)
  if (format === 'json') printJson(body)
  else process.stdout.write(renderStatus(target, status, at))
  return 0
}

// A file of another format would have hundreds; the first ones show it.
const maxProblems = 10

/** The rejection of the file comes last, where the operator's eye ends. */
export const renderStatus = (target: AdminTarget, status: Status, at: number): string => {
  const { findings, certificates, upstreams, operations, config, warnings } = status
  const own = {
    target: renderTarget(target, status),
    findings: renderFindings(findings, at),
    facts: renderFacts(status, at),
    upstreams: formatTable(upstreamRows(upstreams, at)),
    certificates: certificates.length === 0 ? null : formatTable(certificateRows(certificates)),
    operations: Object.keys(operations).length === 0 ? null : formatTable(operationRows(operations, at)),
    warnings: warnings.length === 0 ? null : renderWarnings(warnings),
    rejection: config.lastRefusal === null ? null : renderLastRejection(config.lastRefusal, at),
  }
  const all = insertBeside<'upstreams' | 'certificates', string | null>(
    own,
    statusTexts.map((each) => ({ ...each, value: each.render(status, at) })),
  )
  return `${all.filter((text) => text !== null).join('\n\n')}\n`
}

/** Tells which gateway responded and why it was asked: the machine may run several. */
const renderTarget = (target: AdminTarget, { config, pid }: Status): string => {
  const why = target.file === null ? '--admin' : target.isDefaultAddress ? 'by default' : `admin in ${target.file}`
  return `asked ${targetUrl(target)} (${why}), which runs ${config.path} as process ${pid}`
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
    ['before', previous === null ? 'none' : `${previous}, which rollback brings back`],
    ['file', `${differing.length === 0 ? file : differing.join(', ')}: ${renderFileState(config, at)}`],
    ['log', dropped === 0 ? 'no lines dropped' : `${dropped} LINES DROPPED ${sinceStart}: its reader is too slow`],
  ]
  for (const { label, render } of statusFacts) {
    const text = render(status, at)
    if (text !== null) rows.push([label, text])
  }
  if (retiring > 0) rows.push(['retiring', `${retiring} earlier: requests that began under it still run`])
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

const renderFileState = ({ fileDiffers, lastRefusal, loadedBy, nextTry }: Status['config'], at: number): string => {
  if (!fileDiffers) return 'says what runs'
  if (nextTry !== null)
    return `DIFFERS from what runs: it is held back, see below; next try ${formatTimeLeft(nextTry, at)}`
  if (lastRefusal !== null) return 'DIFFERS from what runs: it was refused, see below'
  if (loadedBy === 'rollback') return 'DIFFERS from what runs: it was rolled back; reload takes it again'
  return 'DIFFERS from what runs: it was not read yet; reload reads it now'
}

const renderLastRejection = (rejection: NonNullable<Status['config']['lastRefusal']>, at: number): string => {
  const title = `refused ${formatAgo(rejection.at, at)}; what ran before runs on`
  return [title, ...firstLines(rejection.problems.map(formatProblem))].join('\n')
}

const renderWarnings = (warnings: Status['warnings']): string =>
  firstLines([...new Set(warnings.map((each) => `warning: ${formatPlace(each)}: ${each.message}`))]).join('\n')

const firstLines = (lines: readonly string[]): readonly string[] => {
  const more = lines.length - maxProblems
  return [...lines.slice(0, maxProblems), ...(more > 0 ? [`and ${more} more: check shows all`] : [])]
}

const certificateRows = (certificates: Status['certificates']): readonly TableRow[] => [
  ['certificate', 'until', 'left', 'names'],
  ...certificates.map(({ key, names, notAfter, daysLeft }): TableRow => {
    const left = daysLeft < expiryWarningDays ? `ONLY ${daysLeft} DAYS` : `${daysLeft} days`
    return [key, notAfter, daysLeft < 0 ? 'EXPIRED' : left, names.join(', ')]
  }),
]
