import { parseJwkSet } from '../../../features/auth/tokens/jwk-set.ts'
import { createJwksFetcher, jwksTimeoutMs } from '../../../features/auth/tokens/token-verifiers.ts'
import type { Config, JwtConfig } from '../../config/config.ts'
import type { ProvenanceMap } from '../../config/load/provenance.ts'
import type { ConfigProblem } from '../../config/problem.ts'
import { errorMessage } from '../../exchange/failures/error-message.ts'
import { type TryOptions, tryOutside } from '../../lib/try-outside.ts'
import { findUnreachableUpstreams, toPreflightTarget } from '../../upstream/health/preflight.ts'
import { newEndpoints } from './new-endpoints.ts'
import { type JwksUnavailable, jwksUnavailableProblem, unreachableProblems } from './reload-problems.ts'

/**
 * Tries the new endpoints and the issuers' new keys of an edit. Lists the upstreams of which no endpoint was reached,
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
  const [unreached, ...keys] = await Promise.all([
    findUnreachableUpstreams(targets),
    preflightJwks('auth.jwt', running.auth?.jwt ?? null, next.auth?.jwt ?? null),
    preflightJwks('admin.jwt', running.admin.jwt, next.admin.jwt),
  ])
  return [
    ...unreachableProblems(unreached, provenance, file),
    ...keys.flatMap((each) => (each === null ? [] : [jwksUnavailableProblem(each, provenance, file)])),
  ]
}

/**
 * Fetches the keys at a new URL: without keys every token would be answered with 503. Null: they are there, or the URL
 * is not new. A URL that runs already is not tried, so an outage of the issuer keeps no other edit back.
 */
const preflightJwks = async (
  key: JwksUnavailable['key'],
  running: KeySource | null,
  next: KeySource | null,
): Promise<JwksUnavailable | null> =>
  next === null || getJwksUrl(next) === getJwksUrl(running) ? null : tryJwks(key, next)

type KeySource = Pick<JwtConfig, 'jwks' | 'algorithms'>

/** Fetches the keys of an issuer, as the gateway will, within 5 s. Null: they are there, or stand in a file. */
export const tryJwks = async (
  key: JwksUnavailable['key'],
  { jwks, algorithms }: KeySource,
  options: TryOptions = { waitMs: jwksTimeoutMs },
): Promise<JwksUnavailable | null> => {
  if (!('url' in jwks)) return null
  const url = new URL(jwks.url)
  const fetcher = createJwksFetcher(url, options.waitMs)
  try {
    const keys = parseJwkSet(await tryOutside(() => fetcher.fetchJwks(), options), null)
    // As with keys in a file: keys of which none fits an accepted algorithm are no keys.
    if (algorithms.some((algorithm) => keys.find(algorithm, null).length > 0)) return null
    return { key, url: withoutQuery(url), reason: `it holds no key for ${algorithms.join(', ')}` }
  } catch (error) {
    return { key, url: withoutQuery(url), reason: errorMessage(error) }
  } finally {
    fetcher.close()
  }
}

const getJwksUrl = (jwt: KeySource | null): string | null => (jwt !== null && 'url' in jwt.jwks ? jwt.jwks.url : null)

const withoutQuery = ({ origin, pathname }: URL): string => origin + pathname
