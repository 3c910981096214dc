import type { Socket } from 'node:net'
import type { AdminConfig } from '../../config/config.ts'
import type { OperatorScope } from '../../lib/operators.ts'
import type { Log } from '../../log/log.ts'
import type { AdminError } from '../admin-error.ts'
import { throttlesByAddress } from './attempt-throttle.ts'
import type { Operator, OperatorToken } from './operator-tokens.ts'

/** Credentials other than the tokens of the file: certificates, and tokens of an issuer. */
export interface OperatorProofs {
  applyConfig(admin: AdminConfig): void
  takesTokens(admin: AdminConfig): boolean
  /** Tells by a token's form alone. */
  isTaken(token: string, admin: AdminConfig): boolean
  tokenScopes(admin: AdminConfig): readonly OperatorScope[]
  /** Null: the token is invalid. An error: it cannot be verified now, or not for that address. */
  verify(token: string, address: string): Promise<OperatorToken | AdminError | null>
  /** Finds the operator of a token verified before, by its SHA-256. */
  recall(digest: Buffer): Operator | null
  ofConnection(socket: Socket, admin: AdminConfig): Operator | null
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

// Verifying an issuer's token costs more than comparing a digest. Wrong tokens count, right tokens do not.
const wrongTokenLimit = { policy: 'operator-token', perMs: 2 / 1000, burst: 20 } as const

export class TokenRefusals {
  readonly #log: Pick<Log, 'warn'>
  readonly throttleOf = throttlesByAddress(wrongTokenLimit)

  constructor(log: Pick<Log, 'warn'>) {
    this.#log = log
  }

  logIfAllowed(address: string, reason: string, cause: string): void {
    if (this.throttleOf(address).tryAcquire() === null) this.log(address, reason, cause)
  }

  /** Logs a token whose attempt is counted already. */
  log(client: string, reason: string, cause: string): void {
    this.#log.warn({ client, reason, cause }, 'operator token refused')
  }
}
