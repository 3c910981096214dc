import type { Config, JwtConfig } from '../config/config.ts'
import { readKeySet } from '../shared/jwks/key-set.ts'
import { openIssuer } from './issuer.ts'

/** Is keys that an edit brings and that are not there; the reason may be shown to operators. */
export interface Keyless {
  /** Without the query, which may hold what is nobody's business. */
  readonly url: string
  readonly reason: string
}

/**
 * Fetches the keys at the URL that an edit brings, once, as the gateway will: with none every token would be answered 503. Null: they are
 * there, or the edit brings no URL: one that runs already is not tried, so an outage of the issuer keeps no other edit back.
 */
export const tryKeys = async (running: Config, next: Config): Promise<Keyless | null> => {
  const jwt = next.auth?.jwt ?? null
  const from = urlOf(jwt)
  if (jwt === null || from === null || from === urlOf(running.auth?.jwt ?? null)) return null
  const url = new URL(from)
  const issuer = openIssuer(url)
  try {
    const keys = readKeySet(await issuer.fetchKeys(), null)
    // As with keys in a file: ones that sign nothing that is taken are none.
    if (jwt.algorithms.some((algorithm) => keys.find(algorithm, null).length > 0)) return null
    return { url: nameOf(url), reason: `it holds no key for ${jwt.algorithms.join(', ')}` }
  } catch (error) {
    return { url: nameOf(url), reason: error instanceof Error ? error.message : String(error) }
  } finally {
    issuer.close()
  }
}

const urlOf = (jwt: JwtConfig | null): string | null => (jwt !== null && 'url' in jwt.jwks ? jwt.jwks.url : null)

const nameOf = ({ origin, pathname }: URL): string => origin + pathname
