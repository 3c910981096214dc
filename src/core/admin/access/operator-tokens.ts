import { timingSafeEqual } from 'node:crypto'
import type { Socket } from 'node:net'
import type { AdminConfig } from '../../config/config.ts'
import { isBearerToken } from '../../exchange/header-fields.ts'
import { weakMemo } from '../../lib/memo.ts'
import { type OperatorScope, tokenKeyNames } from '../../lib/operators.ts'
import { digestSecret } from '../../lib/secrets.ts'
import type { Log } from '../../log/log.ts'
import type { AdminError } from '../admin-error.ts'
import { throttlesByAddress } from './attempt-throttle.ts'

/** `none`: a listener without credentials. `token`: from the file. `jwt`: from the issuer. */
type OperatorProof = 'none' | 'token' | 'certificate' | 'jwt'

export interface Operator {
  readonly name: string | null
  readonly scope: OperatorScope
  readonly proof: OperatorProof
}

/** The operator of each request on a listener without credentials, which must be on loopback. */
export const unnamedOperator: Operator = { name: null, scope: 'operate', proof: 'none' }

export const isSameOperator = (a: Operator, b: Operator): boolean =>
  a.name === b.name && a.scope === b.scope && a.proof === b.proof

export interface OperatorToken {
  readonly operator: Operator
  readonly digest: Buffer
  /** Milliseconds since the epoch. Null: accepted until the file no longer has the token. */
  readonly expiresAt: number | null
}

export const listOperatorTokens = weakMemo(({ token, metricsToken, tokens }: AdminConfig): readonly OperatorToken[] => [
  ...(token === null ? [] : [toToken(tokenKeyNames[0], 'operate', digestSecret(token))]),
  ...(metricsToken === null ? [] : [toToken(tokenKeyNames[1], 'metrics', digestSecret(metricsToken))]),
  ...tokens.map(({ name, scope, hash }) => toToken(name, scope, Buffer.from(hash, 'hex'))),
])

/** Compares the digests of all tokens in constant time, so that timing reveals nothing. */
export const findOperatorToken = (given: string, admin: AdminConfig): OperatorToken | null => {
  // A file may have the hash of an unset variable, which an empty form field would match.
  if (!isBearerToken(given)) return null
  const digest = digestSecret(given)
  const [found = null] = listOperatorTokens(admin).filter((each) => timingSafeEqual(each.digest, digest))
  return found
}

const toToken = (name: string, scope: Operator['scope'], digest: Buffer): OperatorToken => ({
  operator: { name, scope, proof: 'token' },
  digest,
  expiresAt: null,
})

export interface OperatorProofs {
  applyConfig(admin: AdminConfig): void
  takesTokens(admin: AdminConfig): boolean
  /** Tells by the form of a token, without verifying it. */
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

// Only wrong tokens count. Verifying an issuer's token costs more than comparing a digest.
const wrongTokenLimit = { policy: 'operator-token', perMs: 2 / 1000, burst: 20 } as const

export class TokenRejections {
  readonly #log: Pick<Log, 'warn'>
  readonly throttleOf = throttlesByAddress(wrongTokenLimit)

  constructor(log: Pick<Log, 'warn'>) {
    this.#log = log
  }

  logIfAllowed(address: string, reason: string, cause: string): void {
    if (this.throttleOf(address).tryAcquire() === null) this.log(address, reason, cause)
  }

  log(client: string, reason: string, cause: string): void {
    this.#log.warn({ client, reason, cause }, 'operator token rejected')
  }
}
