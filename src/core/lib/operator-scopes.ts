/** What an operator may do, the least first: each scope includes those before it. */
export const operatorScopes = ['metrics', 'read', 'operate'] as const

/** `metrics`: /metrics and /whoami alone. `read`: whatever is shown. `operate`: orders as well. */
export type OperatorScope = (typeof operatorScopes)[number]

export const includesScope = (held: OperatorScope, needed: OperatorScope): boolean =>
  operatorScopes.indexOf(held) >= operatorScopes.indexOf(needed)
