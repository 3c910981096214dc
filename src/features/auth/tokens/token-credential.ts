import { type HeaderFields, hasTokenInQuery, isBearerToken } from '../../../core/exchange/header-fields.ts'
import { type AuthScheme, malformedCredential, singleFieldValue } from '../errors.ts'

/** RFC 9110 §11.4. */
export interface TokenCredential {
  readonly scheme: AuthScheme
  readonly token: string
}

/**
 * Null: no `Authorization`, or a scheme without tokens. Two fields, a field without a scheme, and a malformed token are
 * `bad-request`: an upstream may read them differently (RFC 6750 §2.1, §3.1).
 */
export const parseTokenCredential = (fields: HeaderFields): TokenCredential | null => {
  const value = singleFieldValue(fields, 'authorization')
  if (value === null || value === '') return null
  const [, name, rest = ''] = credentialPattern.exec(value) ?? []
  if (name === undefined) throw malformedCredential('bad-credential', 'there is no scheme in Authorization')
  const scheme = name.toLowerCase()
  if (scheme !== 'bearer' && scheme !== 'dpop') return null
  if (!isBearerToken(rest)) throw malformedCredential('bad-credential', 'the text after the scheme is not a token')
  return { scheme, token: rest }
}

// RFC 9110 §11.4: a token of §5.6.2, then spaces; no tabs or Unicode blanks.
const credentialPattern = /^([!#$%&'*+.^_`|~\w-]+)(?: +([^ ].*))?$/

/** Logs and browser histories keep queries: RFC 6750 §2.3, RFC 9700 §4.3.2. */
export const rejectTokenInQuery = (query: string): void => {
  if (hasTokenInQuery(query)) throw malformedCredential('token-in-query', 'there is a token in the query')
}
