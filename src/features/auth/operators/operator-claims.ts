import type { Operator } from '../../../core/admin/access/operator.ts'
import { type OperatorScope, operatorScopes, takenNameMistake } from '../../../core/lib/operators.ts'
import { ownMember } from '../../../core/lib/plain-object.ts'
import type { Claims } from '../tokens/claims.ts'
import type { OperatorJwtConfig } from '../tokens/operator-jwt-config.ts'

/** Why a token that is good in itself is that of no operator. */
export type OperatorRefusal = 'bound-token' | 'no-name' | 'no-scope'

type OperatorClaimConfig = Pick<OperatorJwtConfig, 'nameClaim' | 'scopeClaim' | 'scopes'>

export const readOperator = (claims: Claims, config: OperatorClaimConfig): Operator | OperatorRefusal => {
  // Its owner has a key to prove with (RFC 7800), and who sends it as a bearer token may be a thief.
  if (Object.hasOwn(claims, 'cnf')) return 'bound-token'
  const scope = readScope(claims, config)
  if (scope === null) return 'no-scope'
  const name = readName(claims, config)
  return name === null ? 'no-name' : { name, scope, proof: 'jwt' }
}

/** Describes why a token is of no operator, by the names of its claims and by none of its values. */
export const describeRefusal = (
  refusal: OperatorRefusal,
  claims: Claims,
  { nameClaim, scopeClaim }: OperatorClaimConfig,
): string => {
  if (refusal === 'bound-token') return 'it is bound to a key or a certificate, and this listener takes no proof of one'
  const [key, claim] = refusal === 'no-scope' ? ['scopeClaim', scopeClaim] : ['nameClaim', nameClaim]
  if (ownMember(claims, claim) === undefined) return `it has no claim ${claim} (admin.jwt.${key}) at its top level`
  return refusal === 'no-scope'
    ? `no value of its claim ${claim} stands under admin.jwt.scopes`
    : `its claim ${claim} (admin.jwt.nameClaim) is no name: a text of 1 to 128 visible ASCII characters, and no address`
}

// The name goes into each line of the log: no control character, and a bound.
const namePattern = /^[\x21-\x7e](?:[\x20-\x7e]{0,126}[\x21-\x7e])?$/

const readName = (claims: Claims, { nameClaim }: OperatorClaimConfig): string | null => {
  const name = ownMember(claims, nameClaim)
  return typeof name === 'string' && namePattern.test(name) && takenNameMistake(name) === null ? name : null
}

/** Reads the scope: of several values, that of the one that opens most. */
const readScope = (claims: Claims, { scopeClaim, scopes }: OperatorClaimConfig): OperatorScope | null => {
  const held = new Set(
    listValues(claims, scopeClaim).flatMap((value) =>
      typeof value === 'string' && Object.hasOwn(scopes, value) ? [scopes[value]] : [],
    ),
  )
  return operatorScopes.findLast((scope) => held.has(scope)) ?? null
}

// RFC 9068 §2.2.3 has scopes in one text with blanks between them, and so has `scp` where it is one. In any other claim
// a text is one value: `former oncall` is not two groups.
const blankSeparated: ReadonlySet<string> = new Set(['scope', 'scp'])

const listValues = (claims: Claims, name: string): readonly unknown[] => {
  const value = ownMember(claims, name)
  if (Array.isArray(value)) return value
  return typeof value === 'string' && blankSeparated.has(name) ? value.split(' ') : [value]
}
