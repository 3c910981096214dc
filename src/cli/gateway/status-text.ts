import { formatProblem } from '../../config/problem.ts'
import type { AuditStatus, Status } from './answers.ts'
import { cacheRows } from './cache-text.ts'
import { certificateRows } from './certificates-text.ts'
import { findingsText } from './findings-text.ts'
import { limitRows } from './limits-text.ts'
import { operationRows } from './operations-text.ts'
import { ago, span, until } from './span.ts'
import { table } from './table.ts'
import { type Target, urlOf } from './target.ts'
import { tokenRows } from './tokens-text.ts'
import { upstreamRows } from './upstreams-text.ts'
import { workerRows } from './workers-text.ts'

// The first ones tell what is wrong; a file of another format would have hundreds.
const maxProblems = 10

/**
 * Writes a gateway's status on a screen: whom it is of, what is wrong, then what it is, who serves, what runs, what does not, what is doubtful,
 * and last, where the eye ends, why the file was refused.
 */
export const statusText = (target: Target, status: Status, at: number): string => {
  const { findings, certificates, workers, upstreams, limits, tokens, cache, operations, config, warnings } = status
  const told = findings === null ? [] : [findingsText(findings, at)]
  const sections = [asked(target, status), ...told, facts(status, at)]
  if (workers !== null && workers.length > 0) sections.push(table(workerRows(workers, config.hash, at)))
  sections.push(table(upstreamRows(upstreams, at)))
  const bounds = limits === null ? [] : limitRows(limits, at)
  if (bounds.length > 1) sections.push(table(bounds))
  const servers = tokens === null ? [] : tokenRows(tokens, at)
  if (servers.length > 1) sections.push(table(servers))
  if (cache !== null) sections.push(table(cacheRows(cache, at)))
  if (certificates !== null && certificates.length > 0) sections.push(table(certificateRows(certificates)))
  if (Object.keys(operations).length > 0) sections.push(table(operationRows(operations, at)))
  if (warnings.length > 0) sections.push(doubtful(warnings))
  if (config.lastRefusal !== null) sections.push(refusal(config.lastRefusal, at))
  return `${sections.join('\n\n')}\n`
}

/** Says which gateway has answered, and why that one was asked: there may be others on the machine. */
const asked = (target: Target, { config, pid }: Status): string => {
  const why = target.file === null ? '--admin' : target.isGuessed ? 'by default' : `admin in ${target.file}`
  return `asked ${urlOf(target)} (${why}), which runs ${config.path ?? config.file} as process ${pid}`
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

const auditState = ({ file, count, since, reason, lost }: AuditStatus, at: number): string => {
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
