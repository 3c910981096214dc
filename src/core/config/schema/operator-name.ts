import { isIP } from 'node:net'

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
