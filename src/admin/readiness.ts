import type { NotServing } from '../snapshot/report.ts'
import type { Desk } from './desk.ts'

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
