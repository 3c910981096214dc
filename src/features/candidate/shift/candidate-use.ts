import { bucketsOfShare } from '../../../core/exchange/sides.ts'
import { formatPercent } from '../../../core/lib/text/units.ts'
import type { CandidateConfig } from '../config/candidate.ts'
import type { ShiftState } from './shift-state.ts'

/** Which clients of a group are on its candidate now. */
export interface CandidateUse {
  /** Part of all clients, from 0 to 1. */
  readonly share: number
  /** Those that are there whatever the share is. */
  readonly clients: readonly string[]
}

/**
 * Returns which clients of a group are on its candidate: the share as it stands now, and those that the file names.
 * Null: none are, and the group has no sides. `shift` null: the file decides.
 */
export const findCandidateUse = (
  candidate: CandidateConfig | null,
  shift: Pick<ShiftState, 'share' | 'isStopped'> | null | undefined,
): CandidateUse | null => {
  if (candidate === null || shift?.isStopped === true) return null
  const { clients } = candidate
  const share = shift?.share ?? candidate.share
  return bucketsOfShare(share) === 0 && clients.length === 0 ? null : { share, clients }
}

export const formatCandidateUse = ({ share, clients }: CandidateUse): string =>
  formatPercent(share) + (clients.length === 0 ? '' : `, clients: ${clients.join(', ')}`)
