import type { HeaderFields } from '../../header-fields.ts'
import { malformedCredential, singleFieldValue } from './authenticator.ts'
import type { AuthScheme } from './errors.ts'

/** Is a credential as a request shows it: RFC 9110 §11.4. */
export interface TokenCredential {
  readonly scheme: AuthScheme
  readonly token: string
}

/**
 * Reads the `Authorization` of a request, whatever its scheme; null: there is none, or it is of a scheme that carries no token. Two of them,
 * what has no scheme, or a token that is none, are `bad-request`: what an upstream would take, nobody knows. RFC 6750 §2.1, §3.1.
 */
export const parseTokenCredential = (fields: HeaderFields): TokenCredential | null => {
  const value = singleFieldValue(fields, 'authorization')
  if (value === null || value === '') return null
  const [, name, rest = ''] = credentialPattern.exec(value) ?? []
  if (name === undefined) throw malformedCredential('bad-credential', 'there is no scheme in Authorization')
  const scheme = name.toLowerCase()
  if (scheme !== 'bearer' && scheme !== 'dpop') return null
  if (!token68.test(rest)) throw malformedCredential('bad-credential', 'what follows the scheme is no token')
  return { scheme, token: rest }
}

// RFC 9110 §11.4: a token of §5.6.2, and what follows it after blanks alone: not tabs, nor what only Unicode calls a blank.
const credentialPattern = /^([!#$%&'*+.^_`|~\w-]+)(?: +([^ ].*))?$/
const token68 = /^[A-Za-z0-9\-._~+/]+=*$/

/**
 * Refuses a token in the query, where logs and histories keep it: RFC 6750 §2.3, RFC 9700 §4.3.2. The query of the interface is not ours to
 * read; but this name has one meaning, however it is spelled.
 */
export const rejectTokenInQuery = (query: string): void => {
  if (query === '' || !(query.includes('access_token') || query.includes('%'))) return
  if (query.slice(1).split(/[&;]/).some(isAccessTokenParam))
    throw malformedCredential('token-in-query', 'there is a token in the query')
}

const isAccessTokenParam = (pair: string): boolean => {
  const name = pair.split('=', 1)[0] as string
  try {
    return decodeURIComponent(name.replaceAll('+', ' ')).trim() === 'access_token'
  } catch {
    return false
  }
}
