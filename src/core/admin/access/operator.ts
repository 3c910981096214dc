import type { OperatorScope } from '../../lib/operators.ts'

/** `none`: the listener asks for no credential. `token`: of the file. `jwt`: of the issuer. */
type OperatorProof = 'none' | 'token' | 'certificate' | 'jwt'

export interface Operator {
  /** Null: the listener asks for no credential. */
  readonly name: string | null
  readonly scope: OperatorScope
  readonly proof: OperatorProof
}

/** Of every request on a listener without credentials, which must be on loopback. */
export const unnamedOperator: Operator = { name: null, scope: 'operate', proof: 'none' }

export const isSameOperator = (a: Operator, b: Operator): boolean =>
  a.name === b.name && a.scope === b.scope && a.proof === b.proof
