import type { Fields } from '../../fields.ts'
import { onlyValue, unclear } from './method.ts'
import type { Scheme } from './refused.ts'

/** Is a credential as a request shows it: RFC 9110 §11.4. */
export interface Shown {
  readonly scheme: Scheme
  readonly token: string
}

/**
 * Reads the `Authorization` of a request, whatever its scheme; null: there is none, or it is of a scheme that carries no token. Two of them,
 * what has no scheme, or a token that is none, are `bad-request`: what an upstream would take, nobody knows. RFC 6750 §2.1, §3.1.
 */
export const shownIn = (fields: Fields): Shown | null => {
  const value = onlyValue(fields, 'authorization')
  if (value === null || value === '') return null
  const [, name, rest = ''] = schemed.exec(value) ?? []
  if (name === undefined) throw unclear('bad-credential', 'there is no scheme in Authorization')
  const scheme = name.toLowerCase()
  if (scheme !== 'bearer' && scheme !== 'dpop') return null
  if (!token68.test(rest)) throw unclear('bad-credential', 'what follows the scheme is no token')
  return { scheme, token: rest }
}

// RFC 9110 §11.4: a token of §5.6.2, and what follows it after blanks alone: not tabs, nor what only Unicode calls a blank.
const schemed = /^([!#$%&'*+.^_`|~\w-]+)(?: +([^ ].*))?$/
const token68 = /^[A-Za-z0-9\-._~+/]+=*$/

/**
 * Refuses a token in the query, where logs and histories keep it: RFC 6750 §2.3, RFC 9700 §4.3.2. The query of the interface is not ours to
 * read; but this name has one meaning, however it is spelled.
 */
export const refuseTokenInQuery = (query: string): void => {
  if (query === '' || !(query.includes('access_token') || query.includes('%'))) return
  if (query.slice(1).split(/[&;]/).some(isToken)) throw unclear('token-in-query', 'there is a token in the query')
}

const isToken = (pair: string): boolean => {
  const name = pair.split('=', 1)[0] as string
  try {
    return decodeURIComponent(name.replaceAll('+', ' ')).trim() === 'access_token'
  } catch {
    return false
  }
}
