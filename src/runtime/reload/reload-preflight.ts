import type { Config, JwtConfig } from '../../config/config.ts'
import type { ProvenanceMap } from '../../config/load/provenance.ts'
import type { ConfigProblem } from '../../config/problem.ts'
import { parseJwkSet } from '../../shared/jwk-set.ts'
import { findUnreachableUpstreams, toPreflightTarget } from '../../upstream/health/preflight.ts'
import { createJwksFetcher } from '../resources/token-verifiers.ts'
import { newEndpoints } from './new-endpoints.ts'
import { type JwksUnavailable, jwksUnavailableProblem, unreachableProblems } from './reload-problems.ts'

/**
 * Tries the new endpoints and the issuer's new keys of an edit. Lists the upstreams of which no endpoint was reached,
 * and keys that cannot be fetched.
 */
export const preflightReload = async (
  running: Config,
  next: Config,
  provenance: ProvenanceMap,
  file: string,
): Promise<readonly ConfigProblem[]> => {
  const { preflight: mode } = next.reload
  if (mode === 'none') return []
  const targets = newEndpoints(running, next).map((each) => toPreflightTarget(each, mode))
  const [unreached, keys] = await Promise.all([findUnreachableUpstreams(targets), preflightJwks(running, next)])
  return [
    ...unreachableProblems(unreached, provenance, file),
    ...(keys === null ? [] : [jwksUnavailableProblem(keys, provenance, file)]),
  ]
}

/**
 * Fetches the keys at a new URL, once, as the gateway will: without keys every token would be answered with 503. Null:
 * they are there, or the URL is not new. A URL that runs already is not tried, so an outage of the issuer keeps no
 * other edit back.
 */
const preflightJwks = async (running: Config, next: Config): Promise<JwksUnavailable | null> => {
  const jwt = next.auth?.jwt ?? null
  const jwksUrl = getJwksUrl(jwt)
  if (jwt === null || jwksUrl === null || jwksUrl === getJwksUrl(running.auth?.jwt ?? null)) return null
  const url = new URL(jwksUrl)
  const fetcher = createJwksFetcher(url)
  try {
    const keys = parseJwkSet(await fetcher.fetchJwks(), null)
    // As with keys in a file: keys of which none fits an accepted algorithm are no keys.
    if (jwt.algorithms.some((algorithm) => keys.find(algorithm, null).length > 0)) return null
    return { url: withoutQuery(url), reason: `it holds no key for ${jwt.algorithms.join(', ')}` }
  } catch (error) {
    return { url: withoutQuery(url), reason: error instanceof Error ? error.message : String(error) }
  } finally {
    fetcher.close()
  }
}

const getJwksUrl = (jwt: JwtConfig | null): string | null => (jwt !== null && 'url' in jwt.jwks ? jwt.jwks.url : null)

const withoutQuery = ({ origin, pathname }: URL): string => origin + pathname
