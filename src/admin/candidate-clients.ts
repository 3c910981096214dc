import type { Config } from '../config/config.ts'
import type { Group } from '../operations.ts'
import type { OverridesView } from '../runtime/overrides.ts'
import type { ShiftState } from '../runtime/shift/shift-state.ts'

/**
 * What becomes of clients when the candidate of their group fails. `none`: it has none. `covered`: the primary serves
 * what could not be sent. `exposed`: their requests fail.
 */
export type CandidateClients = 'none' | 'covered' | 'exposed'

/** Tells whether the guard has taken a candidate back, and no operator and no edit has said otherwise since. */
export const isTakenBack = ({ isStopped, cause }: Pick<ShiftState, 'isStopped' | 'cause'>): boolean =>
  isStopped && cause === 'guard'

/** Finds what becomes of clients when the candidate of a group fails, by the share as it stands now. */
export const findCandidateClients = (
  group: Group,
  config: Config,
  shifts: Pick<OverridesView['shifts'], 'get'>,
): CandidateClients => {
  const { candidate } = config.upstreams[group]
  const shift = shifts.get(group)
  if (candidate === null || shift?.isStopped === true) return 'none'
  if ((shift?.share ?? candidate.share) === 0 && candidate.clients.length === 0) return 'none'
  return candidate.fallback ? 'covered' : 'exposed'
}
