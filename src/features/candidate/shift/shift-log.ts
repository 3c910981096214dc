import { formatPercent } from '../../../core/lib/text/units.ts'
import type { Log } from '../../../core/log/log.ts'
import type { RecordAdminEvent } from '../../../core/runtime/overrides.ts'
import type { Group } from '../../../operations.ts'
import type { ShiftState } from './shift-state.ts'
import type { ShiftNews } from './shifts.ts'

/** Logs and records what has come about in a shift without an operator, when it is in effect. */
export const logShift = (
  log: Log,
  recordAdminEvent: RecordAdminEvent,
  group: Group,
  news: ShiftNews,
  { share, cause, reason, step }: ShiftState,
): void => {
  const now = { group, share: formatPercent(share), cause }
  switch (news) {
    case 'step': {
      const fields = { ...now, step: step && `${step.reached} of ${step.of}` }
      log.info(fields, 'shift step')
      return recordAdminEvent('shift step', fields)
    }
    case 'order ended':
      log.info(now, 'shift order ended')
      return recordAdminEvent('shift order ended', now)
    case 'pause ended':
      log.info(now, 'shift pause ended')
      return recordAdminEvent('shift pause ended', now)
    case 'taken up':
      log.info({ ...now, reason }, 'shift taken up')
      return recordAdminEvent('shift taken up', { ...now, reason })
    case 'taken back':
      log.warn({ group, reason }, 'shift taken back')
      return recordAdminEvent('shift taken back', { group, reason })
  }
}
