import type { Trail } from '../observe/audit/trail.ts'
import type { RunEverywhere } from '../snapshot/commands.ts'
import type { Overrides } from '../snapshot/overrides.ts'
import type { Reloader } from '../snapshot/reloader.ts'
import type { NotServing, Report, WorkerState } from '../snapshot/report.ts'
import type { Runnable } from './findings/finding.ts'
import type { History } from './history.ts'

/** Is what the operator's listener shows and moves. */
export interface Desk {
  readonly reloader: Reloader
  readonly overrides: Overrides
  /** Takes what operators do. */
  readonly audit: Pick<Trail, 'tell' | 'state' | 'failing'>
  /** Tells whether the gateway is on its way down. */
  draining(): boolean
  /** Tells why no client is served just now; null: clients are. */
  notServing(): NotServing | null
  /** Tells how many log lines were dropped because their reader was too slow. */
  droppedLines(): number
  /** Tells what is known of the traffic, by whoever serves it. */
  report(): Promise<Report>
  /** Tells how the workers do, by what the last report found; none: this process serves. */
  workers(): readonly WorkerState[]
  /** Has the commands of findings run on this machine. */
  readonly runnable: Runnable
  /** What has been served of late. */
  readonly history: History
  /** Has a command carried out where clients are served. */
  readonly command: RunEverywhere
}

/** Why this gateway can serve no new client, whatever stands behind it. */
export type Unready = 'draining' | NotServing | 'audit-unavailable'

/**
 * Tells why new clients are not welcome; null: they are. Upstreams do not count: a gateway whose upstream is down still answers best itself. One that
 * refuses every exchange because it cannot be recorded serves nobody, and another gateway, with room on its disk, does.
 */
export const unready = ({
  draining,
  notServing,
  audit,
  reloader,
}: Pick<Desk, 'draining' | 'notServing' | 'audit' | 'reloader'>): Unready | null => {
  if (draining()) return 'draining'
  const refuses = reloader.config.audit?.onFailure === 'refuse'
  return notServing() ?? (refuses && audit.failing ? 'audit-unavailable' : null)
}
