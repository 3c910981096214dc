import { epochMs } from '../../core/lib/clock.ts'
import type { ExchangeObserver } from '../../core/log/exchange-record.ts'
import { exchangeLine } from './audit-line.ts'

/** The destination of the lines of one process. One for all snapshots. */
export interface AuditSink {
  /** Whether lines wait, or are lost, because they cannot be written. */
  readonly failing: boolean
  /** Never waits, and never throws. */
  record(content: string): void
}

export const nullAuditSink: AuditSink = { failing: false, record() {} }

export const auditObserver = (sink: AuditSink): ExchangeObserver => ({
  name: 'audit',
  record: (record) => sink.record(exchangeLine(epochMs(), record)),
})
