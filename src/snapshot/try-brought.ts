import type { Config, JwtConfig } from '../config/config.ts'
import type { Origins } from '../config/origins.ts'
import type { Problem } from '../config/problem.ts'
import { readKeySet } from '../shared/jwks/key-set.ts'
import { preflight, triedIn } from '../upstream/preflight.ts'
import { brought } from './brought.ts'
import { type Keyless, keyless, notReached } from './reload-problems.ts'
import { openIssuer } from './token-sources.ts'

/** Tries the endpoints and the issuer's keys that an edit brings, and tells of the groups of which none is there, and of keys that are not. */
export const tryBrought = async (
  running: Config,
  next: Config,
  origins: Origins,
  file: string,
): Promise<readonly Problem[]> => {
  const { preflight: mode } = next.reload
  if (mode === 'none') return []
  const tried = brought(running, next).map((each) => triedIn(each, mode))
  const [unreached, keys] = await Promise.all([preflight(tried), tryKeys(running, next)])
  return [...notReached(unreached, origins, file), ...(keys === null ? [] : [keyless(keys, origins, file)])]
}

/**
 * Fetches the keys at the URL that an edit brings, once, as the gateway will: with none every token would be answered 503. Null: they are
 * there, or the edit brings no URL: one that runs already is not tried, so an outage of the issuer keeps no other edit back.
 */
const tryKeys = async (running: Config, next: Config): Promise<Keyless | null> => {
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
