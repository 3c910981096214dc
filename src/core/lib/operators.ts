import { isIP } from './net/addresses.ts'

/** Each scope includes those before it. */
export const operatorScopes = ['metrics', 'read', 'operate'] as const

/** `metrics`: /metrics and /whoami alone. `read`: all that is shown. `operate`: commands too. */
export type OperatorScope = (typeof operatorScopes)[number]

export const includesScope = (held: OperatorScope, needed: OperatorScope): boolean =>
  operatorScopes.indexOf(held) >= operatorScopes.indexOf(needed)

export const operatorNameForm = '1 to 64 letters, digits and -_.'

/** Tokens with a key of their own: the key is the name of the operator. */
export const tokenKeyNames = ['admin.token', 'admin.metricsToken'] as const

export const operatorNameMistake = (text: string): string | null =>
  /^[\w.-]{1,64}$/.test(text) ? takenNameMistake(text) : 'not a name'

/** Null: the name is free. In the log, an operator without a name has an address, and a token the name of its key. */
export const takenNameMistake = (name: string): string | null => {
  if (isIP(name) !== 0) return 'an address, and not a name'
  return (tokenKeyNames as readonly string[]).includes(name) ? 'the name of another token' : null
}
