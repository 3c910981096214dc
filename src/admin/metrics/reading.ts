import { wallClock } from '../../clock.ts'
import { clientAuthorities, shownCertificates } from '../../config/certificate-facts.ts'
import type { Config } from '../../config/config.ts'
import { formatPath } from '../../config/problem.ts'
import type { WriterState } from '../../observe/audit/health.ts'
import type { MeterReport } from '../../observe/metrics/meter-report.ts'
import type { ReloadCount } from '../../snapshot/reload-history.ts'
import type { Report, WorkerState } from '../../snapshot/report.ts'
import { unread } from '../../snapshot/unread.ts'
import type { Desk } from '../desk.ts'
import { unready } from '../readiness.ts'

/** Is all that metrics are read from, of one moment. Times are milliseconds since the epoch. */
export interface Reading {
  readonly at: number
  readonly config: Config
  readonly meter: MeterReport
  readonly report: Report
  readonly workers: readonly WorkerState[]
  /** Whether new clients are welcome. */
  readonly ready: boolean
  /** What the file, or an operator for a while, says of each operation. */
  readonly serving: (id: keyof Config['operations']) => boolean
  readonly loadedAt: number
  readonly fileDiffers: boolean
  /** Whether what was read last was refused. */
  readonly refused: boolean
  /** Whether an edit waits for its endpoints. */
  readonly held: boolean
  readonly reloads: readonly ReloadCount[]
  readonly certificates: readonly { readonly key: string; readonly notAfter: number }[]
  readonly droppedLines: number
  /** Null: there is no audit log, or another process writes it. */
  readonly audit: WriterState | null
}

/** Reads all of it; null: metrics are off. */
export const readingOf = async (desk: Desk): Promise<Reading | null> => {
  const { reloader, overrides } = desk
  // First, so that all that follows is of one moment.
  const [isUnread, report] = await Promise.all([unread(reloader), desk.report()])
  const { config } = reloader
  const { meter } = report
  if (config.metrics === null || meter === null) return null
  const { loadedAt, fileDiffers, refusal, nextTryAt } = reloader.state
  return {
    at: wallClock(),
    config,
    meter,
    report,
    workers: desk.workers(),
    ready: unready(desk) === null,
    serving: (id) => (overrides.operations.of(id)?.state ?? config.operations[id].state) === 'serve',
    loadedAt,
    fileDiffers: fileDiffers || isUnread,
    refused: refusal !== null,
    held: nextTryAt !== null,
    reloads: reloader.history.counts,
    certificates: [...shownCertificates(config), ...clientAuthorities(config)].map(({ path, notAfter }) => ({
      key: formatPath(path),
      notAfter,
    })),
    droppedLines: desk.droppedLines(),
    audit: desk.audit.state,
  }
}
