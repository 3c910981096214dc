import type { GroupClients } from '../../core/admin/admin-context.ts'
import { bucketCount, bucketsOfShare } from '../../core/exchange/sides.ts'
import { formatPercent } from '../../core/lib/text/units.ts'
import type { CandidateConfig } from './config/candidate.ts'
import type { ShiftState } from './shift/shift-state.ts'

/** `covered`: requests that cannot be sent to the candidate go to the primary. `exposed`: they fail. */
export type CandidateClients = GroupClients['others']

/** Null: the file sets the share. */
type ShiftOfGroup = Pick<ShiftState, 'share' | 'isStopped'> | null | undefined

export const clientConsequences: Readonly<Record<CandidateClients, string>> = {
  none: '',
  covered: ', so the primary serves its clients',
  exposed: ', so requests of its clients fail',
}

export const findPrimaryClients = (candidate: CandidateConfig | null, shift: ShiftOfGroup): GroupClients['primary'] => {
  const use = findCandidateUse(candidate, shift)
  if (use === null) return 'all'
  return bucketsOfShare(use.share) === bucketCount ? 'none' : 'some'
}

export const isTakenBack = ({ isStopped, cause }: ShiftState): boolean => isStopped && cause === 'guard'

export const findCandidateClients = (candidate: CandidateConfig | null, shift: ShiftOfGroup): CandidateClients => {
  if (candidate === null || findCandidateUse(candidate, shift) === null) return 'none'
  return candidate.fallback ? 'covered' : 'exposed'
}

export type CandidateUse = Pick<CandidateConfig, 'share' | 'clients'>

/** Null: no client is on the candidate. */
export const findCandidateUse = (candidate: CandidateConfig | null, shift: ShiftOfGroup): CandidateUse | null => {
  if (candidate === null || shift?.isStopped === true) return null
  const { clients } = candidate
  const share = shift?.share ?? candidate.share
  return bucketsOfShare(share) === 0 && clients.length === 0 ? null : { share, clients }
}

export const formatCandidateUse = ({ share, clients }: CandidateUse): string =>
  formatPercent(share) + (clients.length === 0 ? '' : `, clients: ${clients.join(', ')}`)
