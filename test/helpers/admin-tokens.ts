/** Tokens of operators with a name, one of each scope. */
import { hash } from 'node:crypto'
import type { OperatorScope } from '../../src/core/lib/operators.ts'

/** The tokens themselves, by scope. */
export const tokenOf: Readonly<Record<OperatorScope, string>> = {
  metrics: 'a-token-of-prometheus-that-scrapes',
  read: 'a-token-of-an-auditor-who-reads',
  operate: 'a-token-of-anna-who-is-on-call',
}

/** Writes an entry of `admin.tokens`. */
export const tokenEntry = (name: string, token: string, scope: OperatorScope) => ({
  name,
  hash: hash('sha256', token),
  scope,
})

/** The entries of `admin.tokens`, in the order of the scopes. */
export const adminTokens = [
  tokenEntry('prometheus', tokenOf.metrics, 'metrics'),
  tokenEntry('auditor', tokenOf.read, 'read'),
  tokenEntry('oncall-anna', tokenOf.operate, 'operate'),
]

/** Returns the header field that a script sends. */
export const bearerOf = (scope: OperatorScope): { readonly authorization: string } => ({
  authorization: `Bearer ${tokenOf[scope]}`,
})
