import type { GroupClients } from '../../core/admin/admin-part.ts'
import { bucketCount, bucketsOfShare } from '../../core/exchange/sides.ts'
import { formatPercent } from '../../core/lib/text/units.ts'
import type { CandidateConfig } from './config/candidate.ts'
import type { ShiftState } from './shift/shift-state.ts'

/**
 * What becomes of clients when the candidate of their group fails. `none`: it has none. `covered`: the primary serves
 * what could not be sent. `exposed`: their requests fail.
 */
export type CandidateClients = GroupClients['others']

/** The shift of a group. Null: the file says the share. */
type ShiftOfGroup = Pick<ShiftState, 'share' | 'isStopped'> | null | undefined

/** What follows for clients from a candidate that fails, as the end of a clause. */
export const clientConsequences: Readonly<Record<CandidateClients, string>> = {
  none: '',
  covered: ', so the primary serves its clients',
  exposed: ', so requests of its clients fail',
}

/** Finds how many of the clients of a group are on its primary, by the share as it stands. `shift` null: the file's. */
export const findPrimaryClients = (candidate: CandidateConfig | null, shift: ShiftOfGroup): GroupClients['primary'] => {
  const use = findCandidateUse(candidate, shift)
  if (use === null) return 'all'
  return bucketsOfShare(use.share) === bucketCount ? 'none' : 'some'
}

/** Tells whether the guard has taken a candidate back, and no operator and no edit has said otherwise since. */
export const isTakenBack = ({ isStopped, cause }: Pick<ShiftState, 'isStopped' | 'cause'>): boolean =>
  isStopped && cause === 'guard'

/** Finds what becomes of clients when the candidate of their group fails. `shift` null: the file says the share. */
export const findCandidateClients = (candidate: CandidateConfig | null, shift: ShiftOfGroup): CandidateClients => {
  if (candidate === null || findCandidateUse(candidate, shift) === null) return 'none'
  return candidate.fallback ? 'covered' : 'exposed'
}

/** Which clients of a group are on its candidate now: a part of all, and those that are there whatever it is. */
export type CandidateUse = Pick<CandidateConfig, 'share' | 'clients'>

/**
 * Returns which clients of a group are on its candidate: the share as it stands now, and those that the file names.
 * Null: none are, and the group has no sides. `shift` null: the file decides.
 */
export const findCandidateUse = (candidate: CandidateConfig | null, shift: ShiftOfGroup): CandidateUse | null => {
  if (candidate === null || shift?.isStopped === true) return null
  const { clients } = candidate
  const share = shift?.share ?? candidate.share
  return bucketsOfShare(share) === 0 && clients.length === 0 ? null : { share, clients }
}

export const formatCandidateUse = ({ share, clients }: CandidateUse): string =>
  formatPercent(share) + (clients.length === 0 ? '' : `, clients: ${clients.join(', ')}`)
