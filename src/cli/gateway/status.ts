import { type Status, statusShape } from '../../admin/status.ts'
import { formatProblem } from '../../config/problem.ts'
import { roundedSize } from '../../units.ts'
import { get } from './ask.ts'
import { type AskOptions, findGateway } from './find.ts'
import { ago, noteDoubt, printJson, span, until } from './print.ts'
import { findingsText, limitRows, operationRows, upstreamRows, workerRows } from './sections.ts'
import { type Row, table } from './table.ts'
import { type Target, urlOf } from './target.ts'

/** Asks for the status of a gateway and prints it; resolves to the exit code. */
export const showStatus = async ({ format, ...where }: AskOptions): Promise<number> => {
  const target = await findGateway(where)
  const { body, told, at } = await get(target, '/status', statusShape)
  noteDoubt(target, told.version)
  if (format === 'json') printJson(body)
  else process.stdout.write(statusText(target, told, at))
  return 0
}

// The first ones tell what is wrong; a file of another format would have hundreds.
const maxProblems = 10

/**
 * Writes a gateway's status on a screen: whom it is of, what is wrong, then what it is, who serves, what runs, what does not, what is doubtful,
 * and last, where the eye ends, why the file was refused.
 */
export const statusText = (target: Target, status: Status, at: number): string => {
  const { findings, certificates, workers, upstreams, limits, tokens, cache, operations, config, warnings } = status
  const sections = [asked(target, status), findingsText(findings, at), facts(status, at)]
  if (workers.length > 0) sections.push(table(workerRows(workers, config.hash, at)))
  sections.push(table(upstreamRows(upstreams, at)))
  const bounds = limitRows(limits, at)
  if (bounds.length > 1) sections.push(table(bounds))
  const servers = tokenRows(tokens, at)
  if (servers.length > 1) sections.push(table(servers))
  if (cache !== null) sections.push(table(cacheRows(cache, at)))
  if (certificates.length > 0) sections.push(table(certificateRows(certificates)))
  if (Object.keys(operations).length > 0) sections.push(table(operationRows(operations, at)))
  if (warnings.length > 0) sections.push(doubtful(warnings))
  if (config.lastRefusal !== null) sections.push(refusal(config.lastRefusal, at))
  return `${sections.join('\n\n')}\n`
}

/** Says which gateway has answered, and why that one was asked: there may be others on the machine. */
const asked = (target: Target, { config, pid }: Status): string => {
  const why = target.file === null ? '--admin' : target.isGuessed ? 'by default' : `admin in ${target.file}`
  return `asked ${urlOf(target)} (${why}), which runs ${config.path} as process ${pid}`
}

const facts = (
  { state, ready, notReady, version, node, pid, uptimeSeconds, config, retiring, audit, log }: Status,
  at: number,
): string => {
  const rows: (readonly [string, string])[] = [
    [
      'gateway',
      `${state === 'not serving' ? 'NOT SERVING' : state}, ${ready ? 'ready' : `NOT READY${notReady === null ? '' : `: ${notReady}`}`}`,
    ],
    ['version', `${version}, Node ${node}, process ${pid}`],
    ['up', span(uptimeSeconds)],
    [
      'config',
      `${config.hash}, loaded ${ago(config.loadedAt, at)}, ${causes[config.loadedBy] ?? `by ${config.loadedBy}`}`,
    ],
    ['before', config.previous === null ? 'none' : `${config.previous}, which rollback brings back`],
    ['file', `${config.file}: ${fileState(config, at)}`],
    ['log', logState(log)],
  ]
  if (audit !== null) rows.push(['audit', auditState(audit, at)])
  if (retiring > 0) rows.push(['retiring', `${retiring} earlier: requests that began under it still run`])
  return table(rows)
}

const logState = ({ dropped }: Status['log']): string =>
  dropped === 0 ? 'no lines dropped' : `${dropped} LINES DROPPED: its reader is too slow`

const auditState = ({ file, count, since, reason, lost }: NonNullable<Status['audit']>, at: number): string => {
  const missing = lost === 0 ? '' : `, ${lost} LINES LOST`
  if (reason !== null) return `NOT WRITTEN since ${ago(since, at)}: ${reason}${missing}`
  return `${count} lines in ${file}${missing}`
}

const causes: Readonly<Record<string, string>> = {
  start: 'at the start',
  file: 'by an edit of the file',
  signal: 'by SIGHUP',
  request: 'by a reload',
  rollback: 'by a rollback',
  preflight: 'by an edit of the file that was held back at first',
}

const fileState = ({ fileDiffers, lastRefusal, loadedBy, nextTry }: Status['config'], at: number): string => {
  if (!fileDiffers) return 'says what runs'
  if (nextTry !== null)
    return `DIFFERS from what runs: what it brings was not reached, see below; next try ${until(nextTry, at)}`
  if (lastRefusal !== null) return 'DIFFERS from what runs: it was refused, see below'
  if (loadedBy === 'rollback') return 'DIFFERS from what runs: it was rolled back; reload takes it again'
  return 'DIFFERS from what runs: it was not read yet; reload reads it now'
}

const refusal = ({ at: when, problems }: NonNullable<Status['config']['lastRefusal']>, at: number): string =>
  [`refused ${ago(when, at)}; what ran before runs on`, ...firstOf(problems.map(formatProblem))].join('\n')

const doubtful = (warnings: Status['warnings']): string =>
  firstOf(warnings.map((warning) => `warning: ${formatProblem(warning)}`)).join('\n')

const firstOf = (told: readonly string[]): readonly string[] => {
  const more = told.length - maxProblems
  return [...told.slice(0, maxProblems), ...(more > 0 ? [`and ${more} more: check shows all`] : [])]
}

/** Writes how much is stored of each cached operation, and of how much use that is; what needs somebody is in capitals. */
const cacheRows = (
  { bytes, maxBytes, redis, operations }: NonNullable<Status['cache']>,
  at: number,
): readonly Row[] => [
  ['cache', 'entries', 'bytes', 'hits'],
  ...Object.entries(operations).map(([id, { bytes, entries, hitRatio }]): Row => {
    const hits = hitRatio === null ? 'not asked for' : `${(hitRatio * 100).toFixed(1)}%`
    return [id, `${entries}`, roundedSize(bytes), hits]
  }),
  // More than the sum of them: what is on its way, or still read, counts too.
  ['in all', '', `${roundedSize(bytes)} of ${roundedSize(maxBytes)}`],
  ...(redis === null ? [] : [['redis', '', '', redisText(redis, at)]]),
]

const redisText = (
  { state, since, reason, where }: NonNullable<NonNullable<Status['cache']>['redis']>,
  at: number,
): string => {
  if (state === 'shared') return 'shared with other gateways'
  const here = where === null ? '' : ` ${where}`
  return `OF NO USE${here} since ${ago(since, at)}${reason === null ? '' : `: ${reason}`}`
}

/** Writes how it stands with what tokens are checked by; what needs somebody is in capitals. */
const tokenRows = ({ jwt, introspection, proofs }: Status['tokens'], at: number): readonly Row[] => [
  ['tokens', 'now'],
  ...(jwt === null ? [] : [['jwt', keysText(jwt, at)]]),
  ...(introspection === null ? [] : [['introspection', failing(introspection, at) ?? 'can be asked']]),
  ...(proofs === null ? [] : [['proofs', roomText(proofs)]]),
]

// One client alone is refused beyond half of it.
const roomText = ({ remembered, room }: NonNullable<Status['tokens']['proofs']>): string =>
  `${remembered} remembered, ${2 * remembered < room ? 'room' : 'ROOM'} for ${room}`

const keysText = (jwt: NonNullable<Status['tokens']['jwt']>, at: number): string => {
  const keys = `${jwt.keys === 0 ? 'NO KEYS' : jwt.keys === 1 ? '1 key' : `${jwt.keys} keys`}`
  if (jwt.source === 'file') return `${keys}, of a file`
  const had = jwt.lastSuccess === null ? 'never had' : `had ${ago(jwt.lastSuccess, at)}`
  const wrong = failing(jwt, at)
  return wrong === null ? `${keys}, ${had}` : `${keys}, ${had}; ${wrong}`
}

const failing = ({ error, since, where }: NonNullable<Status['tokens']['introspection']>, at: number): string | null =>
  error === null ? null : `CANNOT BE ASKED${where === null ? '' : ` ${where}`} since ${ago(since, at)}: ${error}`

// As the warning of the configuration has it.
const soonDays = 14

/** Lists the certificates that the gateway shows; what needs somebody is in capitals. */
const certificateRows = (certificates: Status['certificates']): readonly Row[] => [
  ['certificate', 'until', 'left', 'names'],
  ...certificates.map(
    ({ key, names, notAfter, daysLeft }): Row => [key, notAfter, leftText(daysLeft), names.join(', ')],
  ),
]

const leftText = (days: number): string => {
  if (days < 0) return 'EXPIRED'
  return days < soonDays ? `ONLY ${days} DAYS` : `${days} days`
}
