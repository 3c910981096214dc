import { isIP } from 'node:net'

/** The form of an operator's name in the file, in words. */
export const operatorNameForm = '1 to 64 letters, digits and -_.'

// Whom the log has no name for has an address in its place, and the tokens of these keys have the names of the keys.
const takenNames: readonly string[] = ['admin.token', 'admin.metricsToken']

/** Says why a text cannot name an operator in the file; null: it can. */
export const operatorNameMistake = (text: string): string | null => {
  if (!/^[\w.-]{1,64}$/.test(text)) return 'not a name'
  if (isIP(text) !== 0) return 'an address, and not a name'
  return takenNames.includes(text) ? 'the name of another token' : null
}
