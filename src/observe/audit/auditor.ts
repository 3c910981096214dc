import { wallClock } from '../../clock.ts'
import type { Recorder } from '../recorder.ts'
import { exchangeLine } from './line.ts'

/** Takes the lines of one process, and tells whether they can be written. There is one for all snapshots. */
export interface Auditor {
  /** Whether lines wait, or are lost, because they cannot be written. */
  readonly failing: boolean
  /** Takes what a line says. Never waits, and never throws. */
  record(says: string): void
}

/** Takes nothing. */
export const noAuditor: Auditor = { failing: false, record() {} }

/** Has a line of each exchange taken. */
export const auditRecorder = (auditor: Auditor): Recorder => ({
  name: 'audit',
  record: (exchanged) => auditor.record(exchangeLine(wallClock(), exchanged)),
})
