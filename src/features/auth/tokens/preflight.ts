import type { OnlineCheck } from '../../../core/cli/built-in-command.ts'
import type { Config } from '../../../core/config/config.ts'
import type { ProvenanceMap } from '../../../core/config/load/provenance.ts'
import { type ConfigProblem, locateKey } from '../../../core/config/problem.ts'
import { errorMessage, type TryOptions, tryOutside } from '../../../core/lib/try.ts'
import type { PrimaryFeature } from '../../../core/runtime/primary-part.ts'
import { heldBackTip } from '../../../core/runtime/reload/reload-problems.ts'
import { maxCheckMs } from '../../../core/upstream/health/preflight.ts'
import type { JwtConfig } from '../config.ts'
import { parseJwkSet } from './jwk-set.ts'
import { createJwksFetcher, jwksTimeoutMs } from './token-verifiers.ts'

const issuers = [
  { key: 'auth.jwt', of: ({ auth }: Config): KeySource | null => auth?.jwt ?? null },
  { key: 'admin.jwt', of: ({ admin }: Config): KeySource | null => admin.jwt },
] as const

type KeySource = Pick<JwtConfig, 'jwks' | 'algorithms'>

/** Without keys every token would get 503. A URL in use is not tried: its outage must not hold back other edits. */
export const preflightIssuers: Required<PrimaryFeature>['preflight'] = async (running, next, provenance, file) => {
  const tried = issuers.map(({ key, of }) => {
    const jwt = of(next)
    return jwt === null || getJwksUrl(jwt) === getJwksUrl(of(running)) ? null : tryJwks(key, jwt)
  })
  const missing = await Promise.all(tried)
  return missing.flatMap((each) => (each === null ? [] : [jwksUnavailableProblem(each, provenance, file)]))
}

/** `reason` is for operators. `url`: without the query, which may hold a secret. */
type JwksUnavailable = Readonly<Record<'url' | 'reason', string>> & { readonly key: (typeof issuers)[number]['key'] }

/** `places` and `file`: of the edit. */
export const jwksUnavailableProblem = ({ key, url, reason }: JwksUnavailable, places: ProvenanceMap, file: string) => ({
  ...locateKey(`${key}.jwks`, places, file),
  expected: 'a JWK Set with a key for one of the algorithms',
  found: `${url} ${reason}`,
  message: 'the issuer’s keys of this edit cannot be fetched, so every token would get 503',
  hint: heldBackTip,
})

/** Fetches as the gateway does, within 5 s by default. Null: usable keys, or keys in a file. */
export const tryJwks = async (
  key: JwksUnavailable['key'],
  { jwks, algorithms }: KeySource,
  options: TryOptions = { waitMs: jwksTimeoutMs },
): Promise<JwksUnavailable | null> => {
  if (!('url' in jwks)) return null
  const url = new URL(jwks.url)
  const failed = (reason: string): JwksUnavailable => ({ key, url: url.origin + url.pathname, reason })
  const fetcher = createJwksFetcher(url, options.waitMs)
  try {
    const keys = parseJwkSet(await tryOutside(() => fetcher.fetchJwks(), options), null)
    const isUsable = algorithms.some((algorithm) => keys.find(algorithm, null).length > 0)
    return isUsable ? null : failed(`it holds no key for ${algorithms.join(', ')}`)
  } catch (error) {
    return failed(errorMessage(error))
  } finally {
    fetcher.close()
  }
}

const getJwksUrl = (jwt: KeySource | null): string | null => (jwt !== null && 'url' in jwt.jwks ? jwt.jwks.url : null)

// As long as for an endpoint.
const onlineTry = { waitMs: maxCheckMs, repeatsSilent: true }

/** Warns of each issuer whose keys are not fetched within 2 s. */
export const checkIssuers: OnlineCheck = async (config, locate) => {
  const checked = issuers.map(async ({ key, of }): Promise<readonly ConfigProblem[]> => {
    const jwt = of(config)
    const { reason } = (jwt && (await tryJwks(key, jwt, onlineTry))) ?? { reason: null }
    if (reason === null) return []
    const message = `the keys of ${key} cannot be fetched from here: ${reason}`
    const expected = 'a JWK Set with a key for one of the algorithms'
    return [{ ...locate(`${key}.jwks`), message, expected, found: reason }]
  })
  return (await Promise.all(checked)).flat()
}
