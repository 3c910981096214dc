import { type RecentErrorView, recentErrorsShape } from '../../core/admin/api/recent-errors.ts'
import { statusShape } from '../../core/admin/api/status.ts'
import { operationRows, renderFindings, statusTexts, upstreamRows } from '../../core/admin/api/status-rows.ts'
import { getDecoded } from '../../core/cli/client/admin-client.ts'
import {
  type AdminTarget,
  CliError,
  locateGateway,
  type TargetOptions,
  targetUrl,
} from '../../core/cli/client/admin-target.ts'
import { warnAboutTarget } from '../../core/cli/render/output.ts'
import { formatAgo } from '../../core/lib/text/format-time.ts'
import { formatTable, type TableRow } from '../../core/lib/text/table.ts'
import { groupByKey } from '../../core/log/sum-reports.ts'
import type { Status } from '../../core/runtime/status/status-part.ts'
import { allOperations, type Operation } from '../../operations.ts'
import { explainParts } from './global-settings.ts'

export type LiveState = Awaited<ReturnType<typeof collectLiveState>>

interface LiveSection {
  readonly key: keyof Status
  readonly value: unknown
  readonly text: string | null
}

// Findings about these concern the request only if its group or operation is named.
const aside: readonly string[] = [
  ...['upstreams', 'operations', 'clients', 'admin', 'config', 'log'],
  ...explainParts.flatMap((part) => part.aside ?? []),
]

const collectLiveState = async (target: AdminTarget, operation: Operation) => {
  const { id, group } = operation
  const [{ decoded: status, at }, last] = await Promise.all([
    getDecoded(target, '/status', statusShape),
    getDecoded(target, '/rejected', recentErrorsShape),
  ])
  warnAboutTarget(target, status.version)
  const owners = [`upstreams.${group}`, `operations.${id}`]
  const concerns = (about: string): boolean =>
    !aside.includes(about.split('.')[0] as string) || owners.some((one) => about === one || about.startsWith(`${one}.`))
  return {
    url: targetUrl(target),
    at,
    hash: status.config.hash,
    notReady: status.notReady,
    operation: status.operations[id] ?? null,
    upstream: status.upstreams[group] ?? null,
    sections: statusTexts.flatMap(({ key, render, ofOperation }): readonly LiveSection[] => {
      if (ofOperation === undefined) return []
      const value = ofOperation(status, operation)
      return [{ key, value, text: render({ ...status, [key]: value }, at) }]
    }),
    findings: status.findings.filter(({ about, alsoAbout }) => [about, ...(alsoAbout ?? [])].some(concerns)),
    failures: countFailures(last.decoded.rejections, id, at),
  }
}

const failureWindowMs = 15 * 60_000

/** The most frequent first. */
const countFailures = (rejections: readonly RecentErrorView[], id: string, at: number) => {
  const recent = rejections.filter(
    (rejection) => rejection.operation === id && at - Date.parse(rejection.at) <= failureWindowMs,
  )
  return groupByKey(recent, ({ status, kind, reason, endpoint }) => JSON.stringify([status, kind, reason, endpoint]))
    .map((same) => {
      const [{ status, kind, reason, endpoint, at: last }] = same // the newest
      return { status, kind, reason, endpoint, count: same.length, last }
    })
    .toSorted((a, b) => b.count - a.count)
}

export const toLiveJson = ({ sections, findings, failures, ...live }: LiveState) => ({
  ...live,
  at: new Date(live.at).toISOString(),
  ...Object.fromEntries(sections.map(({ key, value }) => [key, value])),
  findings,
  failures,
})

export const renderLiveState = (live: LiveState, { id, group }: Operation, fileHash: string | null): string => {
  const { url, at, hash, operation, upstream, findings, failures } = live
  const how = fileHash === null ? 'check shows why' : 'diff shows it'
  const differs = hash === fileHash ? '' : `, which is NOT WHAT THE FILE SAYS: ${how}`
  const texts = [
    `just now, by ${url}: it runs ${hash}${differs}`,
    ...(findings.length > 0 ? [renderFindings(findings, at)] : []),
    ...(operation === null ? [] : [formatTable(operationRows({ [id]: operation }, at))]),
    ...(upstream === null ? [] : [formatTable(upstreamRows({ [group]: upstream }, at))]),
    ...live.sections.flatMap(({ text }) => text ?? []),
    failures.length === 0 ? 'no error of the gateway’s own in the last 15 minutes' : formatTable(failureRows(live)),
  ]
  return `\n${texts.join('\n\n')}\n`
}

const failureRows = ({ failures, at }: LiveState): readonly TableRow[] => [
  ['failures in 15 min', 'last', 'what'],
  ...failures.map(({ count, last, status, kind, reason, endpoint }): TableRow => {
    const where = endpoint === null ? '' : `, at ${endpoint}`
    return [`${count}`, formatAgo(last, at), `${status} ${kind}: ${reason}${where}`]
  }),
]

/** Null: no operation, or no gateway responded. */
export const fetchLiveState = async (
  operation: Operation | null,
  targetOptions: TargetOptions,
): Promise<LiveState | null> => {
  if (operation === null) return null
  try {
    const target = await locateGateway(targetOptions)
    return await collectLiveState(target, operation)
  } catch (error) {
    if (!(error instanceof CliError)) throw error
    process.stderr.write(`lender-gateway: ${error.message}\n`)
    process.exitCode = 2
    return null
  }
}

/** By the target's end: the base path may be among the file's problems. */
export const findOperation = (method: string, target: string): Operation | null => {
  const { pathname } = URL.parse(target, 'http://gateway') ?? { pathname: '' }
  return allOperations.find((each) => each.method === method && pathname.endsWith(each.path)) ?? null
}
