import { resolve } from 'node:path'
import { catalog, groups } from '../catalog.ts'
import { clientAuthorities, shownCertificates } from '../config/certificate-facts.ts'
import type { Overrides } from '../snapshot/overrides.ts'
import type { Reloader } from '../snapshot/reloader.ts'
import type { Report } from '../snapshot/report.ts'
import { unread } from '../snapshot/unread.ts'
import { version } from '../version.ts'
import { auditStatus } from './audit-status.ts'
import { cacheStatus } from './cache-status.ts'
import { certificateStatus } from './certificate-status.ts'
import { clientsStatus } from './clients-status.ts'
import type { Desk } from './desk.ts'
import { findings } from './findings/findings.ts'
import { readingOf } from './findings/reading.ts'
import { limitsStatus } from './limits-status.ts'
import { unready } from './readiness.ts'
import { time } from './time.ts'
import { tokensStatus } from './tokens-status.ts'
import { upstreamStatus } from './upstream-status.ts'
import { workerStatus } from './worker-status.ts'

/** Tells all that runs, as JSON: what was loaded, what was refused or is doubtful, what stands behind each group. Times are RFC 3339. */
export const status = async (desk: Desk): Promise<Status> => statusOf(desk, await desk.report())

/** Is what /status says. */
export type Status = Awaited<ReturnType<typeof statusOf>>

/** Tells the same by a report that is there already. */
export const statusOf = async (desk: Desk, report: Report) => {
  const { upstreams, limits, tokens, cache, retiring } = report
  const { reloader, overrides, droppedLines } = desk
  const isUnread = await unread(reloader)
  const notReady = unready(desk)
  const { loadedAt, loadedBy, fileDiffers, refusal, nextTryAt } = reloader.state
  return {
    version: version(),
    state: desk.draining() ? 'draining' : desk.notServing() === null ? 'serving' : 'not serving',
    ready: notReady === null,
    notReady,
    findings: findings(readingOf(desk, report, isUnread)).map(desk.runnable),
    uptimeSeconds: Math.round(process.uptime() * 10) / 10,
    node: process.version,
    pid: process.pid,
    config: {
      file: reloader.file,
      path: resolve(reloader.file),
      hash: reloader.config.hash,
      loadedAt: time(loadedAt),
      loadedBy,
      fileDiffers: fileDiffers || isUnread,
      lastRefusal: refusal === null ? null : { at: time(refusal.at), problems: refusal.problems },
      nextTry: nextTryAt === null ? null : time(nextTryAt),
      previous: reloader.previous?.config.hash ?? null,
    },
    warnings: reloader.warnings,
    certificates: [...shownCertificates(reloader.config), ...clientAuthorities(reloader.config)].map(certificateStatus),
    workers: desk.workers().map(workerStatus),
    upstreams: Object.fromEntries(
      groups.map((group) => [group, upstreamStatus(upstreams[group], overrides.endpoints, group)]),
    ),
    limits: limitsStatus(limits),
    clients: clientsStatus(reloader.config),
    tokens: tokensStatus(tokens),
    cache: cacheStatus(cache),
    operations: Object.fromEntries(catalog.flatMap(({ id }) => operation(reloader, overrides, id))),
    retiring,
    audit: auditStatus(desk.audit.state),
    log: { level: reloader.config.log.level, dropped: droppedLines() },
  }
}

/** Tells of an operation that does not serve, or only for now. */
const operation = ({ config }: Reloader, overrides: Overrides, id: (typeof catalog)[number]['id']) => {
  const override = overrides.operations.of(id)
  const state = override?.state ?? config.operations[id].state
  if (override === null && state === 'serve') return []
  return [[id, { state, until: override === null ? null : time(override.until) }] as const]
}
