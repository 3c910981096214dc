import type { Question, Server } from '../../../shared/server.ts'
import type { Claims } from '../claims.ts'
import { Unavailable } from '../refused.ts'

/** Is as whom the gateway asks: the server tells nobody else (RFC 7662 §2.1). */
export interface Credentials {
  readonly clientId: string
  readonly clientSecret: string
}

/** Is what the server says of a token that is good. */
export interface Introspected {
  readonly claims: Claims
  /** How many characters that was. */
  readonly size: number
}

/**
 * Asks an authorization server about a token (RFC 7662). Resolves with what it says of one that is good, or null: it is not. Rejects with
 * {@link Unavailable}, and a reason that holds neither token nor secret.
 */
export const introspect = async (
  server: Server,
  credentials: Credentials,
  token: string,
): Promise<Introspected | null> => {
  const { status, text } = await server.ask(questionOf(credentials, token)).catch((error: unknown) => {
    throw new Unavailable('introspection-server', error instanceof Error ? error.message : String(error))
  })
  if (status !== 200)
    throw new Unavailable(
      'introspection-server',
      `it answered ${status}${status === 401 ? ': wrong client credentials' : ''}`,
    )
  const claims = objectOf(text)
  if (claims === null) throw new Unavailable('introspection-server', 'its answer is not a JSON object')
  // RFC 7662 §2.2: a boolean. "true", or 1, is no word to let anybody in on.
  const { active } = claims
  if (typeof active !== 'boolean') throw new Unavailable('introspection-server', 'its answer has no boolean active')
  return active ? { claims, size: text.length } : null
}

const questionOf = ({ clientId, clientSecret }: Credentials, token: string): Question => ({
  method: 'POST',
  headers: {
    accept: 'application/json',
    authorization: `Basic ${Buffer.from(`${formEncoded(clientId)}:${formEncoded(clientSecret)}`).toString('base64')}`,
    'content-type': 'application/x-www-form-urlencoded',
  },
  body: new URLSearchParams({ token, token_type_hint: 'access_token' }).toString(),
})

// RFC 6749 §2.3.1: each is encoded as a form would have it, before it is part of Basic.
const formEncoded = (text: string): string => new URLSearchParams({ '': text }).toString().slice(1)

const objectOf = (text: string): Claims | null => {
  try {
    const parsed: unknown = JSON.parse(text)
    return typeof parsed === 'object' && parsed !== null && !Array.isArray(parsed) ? (parsed as Claims) : null
  } catch {
    return null
  }
}
