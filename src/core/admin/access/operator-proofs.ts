import type { Socket } from 'node:net'
import type { AdminConfig } from '../../config/config.ts'
import type { OperatorScope } from '../../lib/operators.ts'
import type { AdminError } from '../admin-error.ts'
import type { Operator } from './operator.ts'
import type { OperatorToken } from './operator-tokens.ts'

/** The proofs of operators that the file does not list as tokens. */
export interface OperatorProofs {
  applyConfig(admin: AdminConfig): void
  /** Tells whether there are tokens among them. */
  takesTokens(admin: AdminConfig): boolean
  /** Tells by its form whether a token may be one of them. */
  isTaken(token: string, admin: AdminConfig): boolean
  /** Lists the scopes that tokens among them may have. */
  tokenScopes(admin: AdminConfig): readonly OperatorScope[]
  /** Verifies a token. Null: it is no good. An error: it cannot be verified now, or not from that address. */
  verify(token: string, address: string): Promise<OperatorToken | AdminError | null>
  /** Finds the operator of a token that was verified before, by its SHA-256. Null: none was, or it is good no more. */
  recall(digest: Buffer): Operator | null
  /** Finds the operator that a connection itself shows. */
  ofConnection(socket: Socket, admin: AdminConfig): Operator | null
  /** Describes what they are verified with, for the feature that does. */
  state(): object | null
  close(): void
}

export const noProofs: OperatorProofs = {
  applyConfig() {},
  takesTokens: () => false,
  isTaken: () => false,
  tokenScopes: () => [],
  verify: async () => null,
  recall: () => null,
  ofConnection: () => null,
  state: () => null,
  close() {},
}
