import { formatInstance } from '../../admin/api/format-instance.ts'
import { type Status, statusShape } from '../../admin/api/status.ts'
import { pluralize, sinceStart } from '../../admin/commands/phrases.ts'
import { formatPlace, formatProblem } from '../../config/problem.ts'
import { expiryWarningDays } from '../../lib/net/expiry-warning.ts'
import { formatRoundedSize } from '../../lib/text/units.ts'
import { getDecoded } from '../client/admin-client.ts'
import { type AdminTarget, targetUrl } from '../client/admin-target.ts'
import { type ClientCommandOptions, locateGateway } from '../client/locate.ts'
import { formatAgo, formatInstant, formatTimeLeft, humanizeSeconds } from '../render/format-time.ts'
import { printJson, warnAboutTarget } from '../render/output.ts'
import {
  idempotencyRows,
  limitRows,
  operationRows,
  renderContractCounts,
  renderFindings,
  renderLearning,
  workerRows,
} from '../render/status-sections.ts'
import { formatTable, type TableRow } from '../render/table.ts'
import { upstreamRows } from '../render/upstream-rows.ts'

export const showStatus = async ({ format, ...targetOptions }: ClientCommandOptions): Promise<number> => {
  const target = await locateGateway(targetOptions)
  const { body, decoded: status, at } = await getDecoded(target, '/status', statusShape)
  warnAboutTarget(target, status.version)
  if (format === 'json') printJson(body)
  else process.stdout.write(renderStatus(target, status, at))
  return 0
}

// The first problems show what is wrong; a file of another format would have hundreds.
const maxProblems = 10

/**
 * Renders a gateway's status for a screen: the target, the findings, the gateway itself, its workers, then what runs,
 * what does not, and the warnings. The rejection of the file comes last, where the operator's eye ends.
 */
export const renderStatus = (target: AdminTarget, status: Status, at: number): string => {
  const { findings, certificates, workers, upstreams, limits, tokens, cache, contract, learning, operations } = status
  const { idempotency, config, warnings } = status
  const sections = [renderTarget(target, status), renderFindings(findings, at), renderFacts(status, at)]
  if (workers.length > 0) sections.push(formatTable(workerRows(workers, config.hash, at)))
  sections.push(formatTable(upstreamRows(upstreams, at)))
  const limitsTable = limitRows(limits, at)
  if (limitsTable.length > 1) sections.push(formatTable(limitsTable))
  const tokensTable = tokenRows(tokens, at)
  if (tokensTable.length > 1) sections.push(formatTable(tokensTable))
  if (cache !== null) sections.push(formatTable(cacheRows(cache, at)))
  if (idempotency !== null) sections.push(formatTable(idempotencyRows(idempotency, at)))
  const contractCounts = contract === null ? null : renderContractCounts(contract, at)
  if (contractCounts !== null) sections.push(contractCounts)
  if (learning !== null) sections.push(renderLearning(learning, at))
  if (certificates.length > 0) sections.push(formatTable(certificateRows(certificates)))
  if (Object.keys(operations).length > 0) sections.push(formatTable(operationRows(operations, at)))
  if (warnings.length > 0) sections.push(renderWarnings(warnings))
  if (config.lastRefusal !== null) sections.push(renderLastRejection(config.lastRefusal, at))
  return `${sections.join('\n\n')}\n`
}

/** Renders which gateway responded, and why that one was asked: there may be others on the machine. */
const renderTarget = (target: AdminTarget, { config, pid }: Status): string => {
  const why = target.file === null ? '--admin' : target.isDefaultAddress ? 'by default' : `admin in ${target.file}`
  return `asked ${targetUrl(target)} (${why}), which runs ${config.path} as process ${pid}`
}

const renderFacts = (
  { state, ready, notReady, version, instance, node, pid, uptimeSeconds, config, retiring, audit, log }: Status,
  at: number,
): string => {
  const rows: (readonly [string, string])[] = [
    [
      'gateway',
      `${state === 'not serving' ? 'NOT SERVING' : state}, ${ready ? 'ready' : `NOT READY${notReady === null ? '' : `: ${notReady}`}`}`,
    ],
    ...instanceRows(instance),
    ['version', `${version}, Node ${node}, process ${pid}`],
    ['up', `${humanizeSeconds(uptimeSeconds)}, started ${formatInstant(at - uptimeSeconds * 1000)}`],
    [
      'config',
      `${config.hash}, loaded ${formatAgo(config.loadedAt, at)}, ${loadCauses[config.loadedBy] ?? `by ${config.loadedBy}`}`,
    ],
    ['before', config.previous === null ? 'none' : `${config.previous}, which rollback brings back`],
    ['file', `${renderFiles(config)}: ${renderFileState(config, at)}`],
    ['log', renderLog(log)],
  ]
  if (audit !== null) rows.push(['audit', renderAudit(audit, at)])
  if (retiring > 0) rows.push(['retiring', `${retiring} earlier: requests that began under it still run`])
  return formatTable(rows)
}

const instanceRows = (instance: Status['instance']): readonly (readonly [string, string])[] => {
  const words = formatInstance(instance)
  return words === null ? [] : [['instance', words]]
}

const renderLog = ({ dropped }: Status['log']): string =>
  dropped === 0 ? 'no lines dropped' : `${dropped} LINES DROPPED ${sinceStart}: its reader is too slow`

const renderAudit = ({ file, count, since, reason, lost, disk }: NonNullable<Status['audit']>, at: number): string => {
  const missing = lost === 0 ? '' : `, ${lost} LINES LOST ${sinceStart}`
  if (reason !== null) return `NOT WRITTEN since ${formatAgo(since, at)}: ${reason}${missing}`
  // Files that were rotated hold the others.
  const free = disk === null ? '' : `, and its disk ${formatRoundedSize(disk.freeBytes)} free`
  return `the chain in ${file} has ${pluralize(count, 'line')}${missing}${free}`
}

const loadCauses: Readonly<Record<string, string>> = {
  start: 'at the start',
  file: 'by an edit of the file',
  signal: 'by SIGHUP',
  request: 'by a reload',
  rollback: 'by a rollback',
  preflight: 'by an edit of the file that was held back at first',
}

/** Names the files that differ; the file itself, where none does. A gateway of an earlier version does not tell. */
const renderFiles = ({ file, path, differingFiles }: Status['config']): string => {
  const names = (differingFiles ?? []).map((each) => (each === path ? file : each))
  return names.length === 0 ? file : names.join(', ')
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

/** Lists the cached operations with what is stored and how often it is used; what needs an operator is in capitals. */
const cacheRows = (
  { bytes, maxBytes, redis, operations }: NonNullable<Status['cache']>,
  at: number,
): readonly TableRow[] => [
  ['cache', 'entries', 'bytes', `hits ${sinceStart}`],
  ...Object.entries(operations).map(([id, { bytes, entries, hitRatio }]): TableRow => {
    const hits = hitRatio === null ? 'not asked for' : `${(hitRatio * 100).toFixed(1)}%`
    return [id, `${entries}`, formatRoundedSize(bytes), hits]
  }),
  // More than the sum: entries that are being stored, or still read, count too.
  ['in all', '', `${formatRoundedSize(bytes)} of ${formatRoundedSize(maxBytes)}`],
  ...(redis === null ? [] : [['redis', '', '', renderRedis(redis, at)]]),
]

const renderRedis = (
  { server, state, since, reason, where }: NonNullable<NonNullable<Status['cache']>['redis']>,
  at: number,
): string => {
  if (state === 'shared') return `shared with other gateways (${server})`
  const here = where === null ? '' : ` ${where}`
  return `${server} OF NO USE${here} since ${formatAgo(since, at)}${reason === null ? '' : `: ${reason}`}`
}

const tokenRows = ({ jwt, introspection, operators, proofs }: Status['tokens'], at: number): readonly TableRow[] => [
  ['tokens', 'now'],
  ...(jwt === null ? [] : [['jwt', renderKeys(jwt, at)]]),
  ...(introspection === null ? [] : [['introspection', renderFailure(introspection, at) ?? 'can be asked']]),
  ...(operators === null ? [] : [['operators', renderKeys(operators, at)]]),
  ...(proofs === null ? [] : [['proofs', renderProofs(proofs)]]),
]

// One client alone may take half of the room.
const renderProofs = ({ remembered, room }: NonNullable<Status['tokens']['proofs']>): string =>
  `${remembered} remembered, ${2 * remembered < room ? 'room' : 'ROOM'} for ${room}`

const renderKeys = (jwt: NonNullable<Status['tokens']['jwt']>, at: number): string => {
  const keys = jwt.keys === 0 ? 'NO KEYS' : pluralize(jwt.keys, 'key')
  if (jwt.source === 'file') return `${keys}, of a file`
  const fetched = jwt.lastSuccess === null ? 'never had' : `had ${formatAgo(jwt.lastSuccess, at)}`
  const failure = renderFailure(jwt, at)
  // While the first fetch is under way, no failure says in which workers.
  if (failure === null) return `${keys}${jwt.keys > 0 || jwt.where === null ? '' : ` ${jwt.where}`}, ${fetched}`
  return `${keys}, ${fetched}; ${failure}`
}

const renderFailure = (
  { error, since, where }: NonNullable<Status['tokens']['introspection']>,
  at: number,
): string | null =>
  error === null ? null : `CANNOT BE ASKED${where === null ? '' : ` ${where}`} since ${formatAgo(since, at)}: ${error}`

const certificateRows = (certificates: Status['certificates']): readonly TableRow[] => [
  ['certificate', 'until', 'left', 'names'],
  ...certificates.map(
    ({ key, names, notAfter, daysLeft }): TableRow => [key, notAfter, renderDaysLeft(daysLeft), names.join(', ')],
  ),
]

const renderDaysLeft = (days: number): string => {
  if (days < 0) return 'EXPIRED'
  return days < expiryWarningDays ? `ONLY ${days} DAYS` : `${days} days`
}
