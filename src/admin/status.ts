import { catalog, type Group, groups } from '../catalog.ts'
import { clientAuthorities } from '../config/client-authorities.ts'
import { shownCertificates } from '../config/shown-certificates.ts'
import type { Cleared } from '../layers/cache/store.ts'
import type { Trail } from '../observe/audit/trail.ts'
import type { ClearedCount } from '../snapshot/caches.ts'
import type { KeptLevel } from '../snapshot/log-level.ts'
import type { Overrides } from '../snapshot/overrides.ts'
import type { Reloader } from '../snapshot/reloader.ts'
import type { Report, WorkerState } from '../snapshot/report.ts'
import { unread } from '../snapshot/unread.ts'
import { version } from '../version.ts'
import { auditStatus } from './audit-status.ts'
import { cacheStatus } from './cache-status.ts'
import { certificateStatus } from './certificate-status.ts'
import { limitsStatus } from './limits-status.ts'
import { logLevelStatus } from './log-level.ts'
import { time } from './time.ts'
import { tokensStatus } from './tokens-status.ts'
import { upstreamStatus } from './upstream-status.ts'
import { workerStatus } from './worker-status.ts'

/** Is what the operator's listener shows and moves. */
export interface Desk {
  readonly reloader: Reloader
  readonly overrides: Overrides
  /** How much the log writes. */
  readonly logLevel: KeptLevel
  /** Takes what operators do. */
  readonly audit: Pick<Trail, 'tell' | 'state'>
  /** Tells whether the gateway is on its way down. */
  draining(): boolean
  /** Tells whether anybody serves clients: of several workers, at least one. */
  serving(): boolean
  /** Tells how many log lines were dropped because their reader was too slow. */
  droppedLines(): number
  /** Tells what is known of the traffic, by whoever serves it. */
  report(): Promise<Report>
  /** Tells how the workers do, by what the last report found; none: this process serves. */
  workers(): readonly WorkerState[]
  /** Ends the ejection of an endpoint, named as `/status` shows it: an operator says that it is ready. */
  lift(group: Group, url: string): void
  /** Removes what is stored. */
  clear(what: Cleared): Promise<ClearedCount>
}

/** Tells all that runs, as JSON: what was loaded, what was refused or is doubtful, what stands behind each group. Times are RFC 3339. */
export const status = async (desk: Desk) => {
  const { reloader, overrides, droppedLines } = desk
  // First, so that all that follows is of one moment.
  const [isUnread, { upstreams, limits, tokens, cache, retiring }] = await Promise.all([
    unread(reloader),
    desk.report(),
  ])
  const { loadedAt, loadedBy, fileDiffers, refusal, nextTryAt } = reloader.state
  return {
    version: version(),
    state: desk.draining() ? 'draining' : desk.serving() ? 'serving' : 'not serving',
    ready: isReady(desk),
    uptimeSeconds: Math.round(process.uptime() * 10) / 10,
    node: process.version,
    pid: process.pid,
    config: {
      file: reloader.file,
      hash: reloader.config.hash,
      loadedAt: time(loadedAt),
      loadedBy,
      fileDiffers: fileDiffers || isUnread,
      lastRefusal: refusal === null ? null : { at: time(refusal.at), problems: refusal.problems },
      nextTry: nextTryAt === null ? null : time(nextTryAt),
      previous: reloader.previous?.hash ?? null,
    },
    warnings: reloader.warnings,
    certificates: [...shownCertificates(reloader.config), ...clientAuthorities(reloader.config)].map(certificateStatus),
    workers: desk.workers().map(workerStatus),
    upstreams: Object.fromEntries(
      groups.map((group) => [group, upstreamStatus(upstreams[group], overrides.endpoints, group)]),
    ),
    limits: limitsStatus(limits),
    tokens: tokensStatus(tokens),
    cache: cacheStatus(cache),
    operations: Object.fromEntries(catalog.flatMap(({ id }) => operation(reloader, overrides, id))),
    retiring,
    audit: auditStatus(desk.audit.state),
    log: { ...logLevelStatus(desk), dropped: droppedLines() },
  }
}

/** Tells whether new clients are welcome. */
export const isReady = ({ draining, serving }: Desk): boolean => !draining() && serving()

/** Tells of an operation that does not serve, or only for now. */
const operation = ({ config }: Reloader, overrides: Overrides, id: (typeof catalog)[number]['id']) => {
  const override = overrides.operations.of(id)
  const state = override?.state ?? config.operations[id].state
  if (override === null && state === 'serve') return []
  return [[id, { state, until: override === null ? null : time(override.until) }] as const]
}
