import type { OnlineCheck } from '../../../core/cli/built-in-command.ts'
import type { ProvenanceMap } from '../../../core/config/load/provenance.ts'
import { type ConfigProblem, locateKey } from '../../../core/config/problem.ts'
import { errorMessage, type TryOptions, tryOutside } from '../../../core/lib/try.ts'
import type { PrimaryFeature } from '../../../core/runtime/primary-part.ts'
import { heldBackTip } from '../../../core/runtime/reload/reload-problems.ts'
import { maxCheckMs } from '../../../core/upstream/health/preflight.ts'
import type { JwtConfig } from '../config.ts'
import { parseJwkSet } from './jwk-set.ts'
import { createJwksFetcher, jwksTimeoutMs } from './token-verifiers.ts'

/**
 * Lists new URLs whose keys cannot be fetched: without keys every token would get 503. A URL that runs already is not
 * tried, so an issuer's outage holds back no other edit.
 */
export const preflight: Required<PrimaryFeature>['preflight'] = async (running, next, provenance, file) => {
  const edits = [
    ['auth.jwt', running.auth?.jwt ?? null, next.auth?.jwt ?? null] as const,
    ['admin.jwt', running.admin.jwt, next.admin.jwt] as const,
  ]
  const tried = edits.map(([key, before, jwt]) =>
    jwt === null || getJwksUrl(jwt) === getJwksUrl(before) ? null : tryJwks(key, jwt),
  )
  const missing = await Promise.all(tried)
  return missing.flatMap((each) => (each === null ? [] : [jwksUnavailableProblem(each, provenance, file)]))
}

/** `reason` may be shown to operators. */
export interface JwksUnavailable {
  readonly key: 'auth.jwt' | 'admin.jwt'
  /** Without the query, which may hold a secret. */
  readonly url: string
  readonly reason: string
}

/** `provenance` and `file` are those of the edit. */
export const jwksUnavailableProblem = (
  { key, url, reason }: JwksUnavailable,
  provenance: ProvenanceMap,
  file: string,
): ConfigProblem => ({
  ...locateKey(`${key}.jwks`, provenance, file),
  expected: 'a JWK Set with a key that tokens may be signed with, before tokens are asked for',
  found: `${url} ${reason}`,
  message: 'the keys that the edit brings cannot be had, so no token would be good',
  hint: heldBackTip,
})

type KeySource = Pick<JwtConfig, 'jwks' | 'algorithms'>

/** Fetches an issuer's keys as the gateway does, within 5 s by default. Null: they are usable, or in a file. */
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
    // As with keys in a file, one must fit an accepted algorithm.
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

// The same limit as for an endpoint.
const onlineTry = { waitMs: maxCheckMs, repeatsSilent: true }

/** Warns of each issuer whose keys cannot be fetched within 2 s. */
export const checkIssuers: OnlineCheck = async ({ auth, admin }, locate) => {
  const issuers = [['auth.jwt', auth?.jwt ?? null] as const, ['admin.jwt', admin.jwt] as const]
  const checked = issuers.map(async ([key, jwt]): Promise<readonly ConfigProblem[]> => {
    if (jwt === null) return []
    const { reason } = (await tryJwks(key, jwt, onlineTry)) ?? { reason: null }
    if (reason === null) return []
    const message = `the keys of ${key} cannot be had from here: ${reason}`
    const expected = 'a JWK Set with a key that tokens may be signed with'
    return [{ ...locate(`${key}.jwks`), message, expected, found: reason }]
  })
  return (await Promise.all(checked)).flat()
}
