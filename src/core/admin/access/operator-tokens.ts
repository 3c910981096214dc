import { timingSafeEqual } from 'node:crypto'
import type { AdminConfig } from '../../config/config.ts'
import { isBearerToken } from '../../exchange/header-fields.ts'
import { weakMemo } from '../../lib/memo.ts'
import { tokenKeyNames } from '../../lib/operators.ts'
import { digestSecret } from '../../lib/secrets.ts'
import type { Operator } from './operator.ts'

export interface OperatorToken {
  readonly operator: Operator
  readonly digest: Buffer
  /** Until when it is accepted, in milliseconds since the epoch. Null: it is good until the file has it no longer. */
  readonly expiresAt: number | null
}

/** Lists the tokens of the file: `admin.token` and `admin.metricsToken` are two of them. */
// A configuration never changes: the next one is another object.
export const listOperatorTokens = weakMemo(({ token, metricsToken, tokens }: AdminConfig): readonly OperatorToken[] => [
  ...(token === null ? [] : [toToken(tokenKeyNames[0], 'operate', digestSecret(token))]),
  ...(metricsToken === null ? [] : [toToken(tokenKeyNames[1], 'metrics', digestSecret(metricsToken))]),
  ...tokens.map(({ name, scope, hash }) => toToken(name, scope, Buffer.from(hash, 'hex'))),
])

/**
 * Finds the token that was given; null: the file has none like it. It compares digests, with each in the list: the time
 * says neither how much of a token is right nor which one matches.
 */
export const findOperatorToken = (given: string, admin: AdminConfig): OperatorToken | null => {
  // The hash of an empty variable stands in many a file, and an empty field of a form would be its token.
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
