import { timingSafeEqual } from 'node:crypto'
import type { AdminConfig } from '../../config/config.ts'
import { isBearerToken } from '../../exchange/header-fields.ts'
import { weakMemo } from '../../lib/memo.ts'
import { type OperatorScope, tokenKeyNames } from '../../lib/operators.ts'
import { digestSecret } from '../../lib/secrets.ts'

/** `none`: the listener asks for no credential. `token`: of the file. `jwt`: of the issuer. */
type OperatorProof = 'none' | 'token' | 'certificate' | 'jwt'

export interface Operator {
  readonly name: string | null
  readonly scope: OperatorScope
  readonly proof: OperatorProof
}

/** Of every request on a listener without credentials, which must be on loopback. */
export const unnamedOperator: Operator = { name: null, scope: 'operate', proof: 'none' }

export const isSameOperator = (a: Operator, b: Operator): boolean =>
  a.name === b.name && a.scope === b.scope && a.proof === b.proof

export interface OperatorToken {
  readonly operator: Operator
  readonly digest: Buffer
  /** Milliseconds since the epoch. Null: accepted until the file no longer has the token. */
  readonly expiresAt: number | null
}

// A configuration is immutable, so its list is computed once.
export const listOperatorTokens = weakMemo(({ token, metricsToken, tokens }: AdminConfig): readonly OperatorToken[] => [
  ...(token === null ? [] : [toToken(tokenKeyNames[0], 'operate', digestSecret(token))]),
  ...(metricsToken === null ? [] : [toToken(tokenKeyNames[1], 'metrics', digestSecret(metricsToken))]),
  ...tokens.map(({ name, scope, hash }) => toToken(name, scope, Buffer.from(hash, 'hex'))),
])

/** Compares the digests of all tokens in constant time: timing shows neither how much of a token is right nor which. */
export const findOperatorToken = (given: string, admin: AdminConfig): OperatorToken | null => {
  // Many files have the hash of an empty variable, which an empty form field would match.
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
