import type { DependencyHealthState } from '../../../features/auth/dependency-health.ts'
import type { IssuerKeysState } from '../../../features/auth/tokens/jwt/jwks-cache.ts'
import type { ReplayWindowState } from '../../../features/auth/tokens/replay-cache.ts'
import { pluck, type WithWhere, worstWorker } from '../../log/sum-reports.ts'
import type { Snapshot } from '../snapshot/snapshot.ts'

export interface TokensReport {
  readonly jwt: WithWhere<IssuerKeysState> | null
  readonly introspection: WithWhere<DependencyHealthState> | null
  /** How full the replay window of DPoP proofs is. Null also where another process keeps it. */
  readonly proofs: ReplayWindowState | null
}

export const collectTokensReport = ({ authProvider }: Snapshot): TokensReport => {
  const { jwt, introspection, proofs } = authProvider.state()
  return {
    jwt: jwt && { ...jwt, where: null },
    introspection: introspection && { ...introspection, where: null },
    proofs,
  }
}

/**
 * Merges the reports of several workers, each of which fetches and introspects for itself: the worst state wins, and a
 * worker without keys before one that cannot fetch newer ones. The primary keeps the replay window for all.
 */
export const mergeTokensReports = (primary: TokensReport, workers: readonly TokensReport[]): TokensReport => ({
  jwt: mergeIssuerKeys(pluck(workers, 'jwt')) ?? primary.jwt,
  introspection: worstWorker(pluck(workers, 'introspection'), isFailing) ?? primary.introspection,
  proofs: primary.proofs,
})

const mergeIssuerKeys = (workers: readonly WithWhere<IssuerKeysState>[]): TokensReport['jwt'] =>
  worstWorker(workers, workers.some(hasNoKeys) ? hasNoKeys : isFailing)

const hasNoKeys = ({ keys }: IssuerKeysState): boolean => keys === 0

const isFailing = ({ error }: DependencyHealthState): boolean => error !== null
