import { isIP } from 'node:net'

/** What an operator may do, the least first: each scope includes those before it. */
export const operatorScopes = ['metrics', 'read', 'operate'] as const

/** `metrics`: /metrics and /whoami alone. `read`: whatever is shown. `operate`: orders as well. */
export type OperatorScope = (typeof operatorScopes)[number]

export const includesScope = (held: OperatorScope, needed: OperatorScope): boolean =>
  operatorScopes.indexOf(held) >= operatorScopes.indexOf(needed)

export const operatorNameForm = '1 to 64 letters, digits and -_.'

/** The names of the operators whose tokens have a key of their own. */
export const tokenKeyNames = ['admin.token', 'admin.metricsToken'] as const

/** Says why a text cannot name an operator in the file; null: it can. */
export const operatorNameMistake = (text: string): string | null =>
  /^[\w.-]{1,64}$/.test(text) ? takenNameMistake(text) : 'not a name'

/**
 * Says what else a name stands for; null: nothing. In the log, an operator without a name has an address in its place,
 * and the tokens of those keys have the names of the keys.
 */
export const takenNameMistake = (name: string): string | null => {
  if (isIP(name) !== 0) return 'an address, and not a name'
  return (tokenKeyNames as readonly string[]).includes(name) ? 'the name of another token' : null
}
