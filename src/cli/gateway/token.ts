import type { Environment } from '../../config/environment.ts'
import type { Token } from './target.ts'
import { unasked } from './unasked.ts'

/** Names the variable that holds the token. */
export const tokenVariable = 'LENDER_GATEWAY_ADMIN_TOKEN'

/** Takes the token from the environment; an empty variable is none. */
export const tokenFrom = (environment: Environment): Token | null => {
  const value = environment[tokenVariable] ?? ''
  if (value === '') return null
  // RFC 6750 §2.1. Anything else could not be sent as a field value, or could be sent as two.
  if (/^[A-Za-z0-9._~+/-]+=*$/.test(value)) return { value, from: tokenVariable }
  throw unasked(
    `${tokenVariable} holds no token: letters, digits and -._~+/ are expected, without blanks or a line end`,
  )
}
