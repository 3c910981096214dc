import type { DependencyHealthState } from '../../layers/auth/dependency-health.ts'
import type { IssuerKeysState } from '../../layers/auth/jwt/jwks-cache.ts'
import { pluck, worstWorker } from '../../observe/sum-reports.ts'
import type { ReplayWindowState } from '../../shared/replay-cache.ts'
import type { Snapshot } from '../snapshot/snapshot.ts'

/** Is how it stands with what tokens are checked by, as plain data; null: none is needed. */
export interface TokensReport {
  readonly jwt: WithWhere<IssuerKeysState> | null
  readonly introspection: WithWhere<DependencyHealthState> | null
  /** How full the memory of proofs is; null also where another process has it. */
  readonly proofs: ReplayWindowState | null
}

/** Is a server as one process knows it, or several. */
type WithWhere<State extends DependencyHealthState> = State & {
  /** In which of several workers it is so: `in 1 of 2 workers`; null: in all. */
  readonly where: string | null
}

/** Reports on what the tokens of a snapshot are checked by. */
export const collectTokensReport = ({ authProvider }: Snapshot): TokensReport => {
  const { jwt, introspection, proofs } = authProvider.state()
  return {
    jwt: jwt && { ...jwt, where: null },
    introspection: introspection && { ...introspection, where: null },
    proofs,
  }
}

/** Makes one report of several workers, each of which asks for itself: the worst that is known. Proofs the primary remembers for all. */
export const mergeTokensReports = (primary: TokensReport, workers: readonly TokensReport[]): TokensReport => ({
  jwt: worstWorker(pluck(workers, 'jwt'), isFailing) ?? primary.jwt,
  introspection: worstWorker(pluck(workers, 'introspection'), isFailing) ?? primary.introspection,
  proofs: primary.proofs,
})

const isFailing = ({ error }: DependencyHealthState): boolean => error !== null
