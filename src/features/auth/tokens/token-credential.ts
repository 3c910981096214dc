import { type HeaderFields, isBearerToken } from '../../../core/exchange/header-fields.ts'
import { hasTokenInQuery } from '../../../core/exchange/token-in-query.ts'
import type { AuthScheme } from '../auth-challenge.ts'
import { malformedCredential, singleFieldValue } from '../authenticator.ts'

/** A credential of a request's `Authorization` (RFC 9110 §11.4). */
export interface TokenCredential {
  readonly scheme: AuthScheme
  readonly token: string
}

/**
 * Reads the `Authorization` of a request; null: there is none, or its scheme carries no token. Two of them, one without
 * a scheme, and a token that is none are `bad-request`: it is unknown which one an upstream would take. RFC 6750 §2.1,
 * §3.1.
 */
export const parseTokenCredential = (fields: HeaderFields): TokenCredential | null => {
  const value = singleFieldValue(fields, 'authorization')
  if (value === null || value === '') return null
  const [, name, rest = ''] = credentialPattern.exec(value) ?? []
  if (name === undefined) throw malformedCredential('bad-credential', 'there is no scheme in Authorization')
  const scheme = name.toLowerCase()
  if (scheme !== 'bearer' && scheme !== 'dpop') return null
  if (!isBearerToken(rest)) throw malformedCredential('bad-credential', 'what follows the scheme is no token')
  return { scheme, token: rest }
}

// RFC 9110 §11.4: a token of §5.6.2, and what follows it after spaces alone: not tabs, nor what only Unicode calls a
// blank.
const credentialPattern = /^([!#$%&'*+.^_`|~\w-]+)(?: +([^ ].*))?$/

/** Rejects a token in the query, where logs and histories keep it: RFC 6750 §2.3, RFC 9700 §4.3.2. */
export const rejectTokenInQuery = (query: string): void => {
  if (hasTokenInQuery(query)) throw malformedCredential('token-in-query', 'there is a token in the query')
}
