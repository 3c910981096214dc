import type { KeysState } from '../layers/auth/jwt/keys.ts'
import type { StandingState } from '../layers/auth/standing.ts'
import { pluck, worstOf } from '../observe/added.ts'
import type { SeenState } from '../shared/once/once.ts'
import type { Snapshot } from './snapshot.ts'

/** Is how it stands with what tokens are checked by, as plain data; null: none is needed. */
export interface TokensReport {
  readonly jwt: Reported<KeysState> | null
  readonly introspection: Reported<StandingState> | null
  /** How full the memory of proofs is; null also where another process has it. */
  readonly proofs: SeenState | null
}

/** Is a server as one process knows it, or several. */
type Reported<State extends StandingState> = State & {
  /** In which of several workers it is so: `in 1 of 2 workers`; null: in all. */
  readonly where: string | null
}

/** Reports on what the tokens of a snapshot are checked by. */
export const reportOnTokens = ({ guard }: Snapshot): TokensReport => {
  const { jwt, introspection, proofs } = guard.state()
  return {
    jwt: jwt && { ...jwt, where: null },
    introspection: introspection && { ...introspection, where: null },
    proofs,
  }
}

/** Makes one report of several workers, each of which asks for itself: the worst that is known. Proofs the primary remembers for all. */
export const mergeTokens = (primary: TokensReport, workers: readonly TokensReport[]): TokensReport => ({
  jwt: worstOf(pluck(workers, 'jwt'), isFailing) ?? primary.jwt,
  introspection: worstOf(pluck(workers, 'introspection'), isFailing) ?? primary.introspection,
  proofs: primary.proofs,
})

const isFailing = ({ error }: StandingState): boolean => error !== null
