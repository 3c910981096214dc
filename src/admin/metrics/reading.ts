import type { MeterReport } from '../../observe/metrics/meter.ts'
import type { ReloadCount } from '../../snapshot/reload-history.ts'
import { unread } from '../../snapshot/unread.ts'
import { type Desk, unready } from '../desk.ts'
import { type Reading as Known, readingOf as knownOf } from '../findings/reading.ts'
import { certificatesOf } from '../findings/trust.ts'

/** All that metrics are read from, of one moment: what findings are made of, and more. */
export interface Reading extends Known {
  readonly meter: MeterReport
  /** Whether new clients are welcome. */
  readonly ready: boolean
  readonly loadedAt: number
  readonly reloads: readonly ReloadCount[]
  readonly certificates: readonly { readonly key: string; readonly notAfter: number }[]
}

/** Reads all of it; null: metrics are off. */
export const readingOf = async (desk: Desk): Promise<Reading | null> => {
  const { reloader } = desk
  // First, so that all that follows is of one moment.
  const [isUnread, report] = await Promise.all([unread(reloader), desk.report()])
  const { config, state, history } = reloader
  const { meter } = report
  if (config.metrics === null || meter === null) return null
  return {
    ...knownOf(desk, report, isUnread),
    meter,
    ready: unready(desk) === null,
    loadedAt: state.loadedAt,
    reloads: history.counts,
    certificates: certificatesOf(config),
  }
}
