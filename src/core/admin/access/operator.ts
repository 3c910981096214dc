import type { OperatorScope } from '../../lib/operators.ts'

/**
 * How an operator has proved to be one. `none`: the listener asks for no proof. `token`: one of the file. `jwt`: one
 * that the issuer has made.
 */
type OperatorProof = 'none' | 'token' | 'certificate' | 'jwt'

export interface Operator {
  /** The name in the file, or in the token of the issuer. Null: the listener asks for no proof, so there is none. */
  readonly name: string | null
  readonly scope: OperatorScope
  readonly proof: OperatorProof
}

/** The operator of every request where the listener asks for no proof: it is on loopback then. */
export const unnamedOperator: Operator = { name: null, scope: 'operate', proof: 'none' }

export const isSameOperator = (a: Operator, b: Operator): boolean =>
  a.name === b.name && a.scope === b.scope && a.proof === b.proof
