import type { OnlineCheck } from '../../../core/cli/built-in-command.ts'
import type { ConfigProblem } from '../../../core/config/problem.ts'
import { maxCheckMs } from '../../../core/upstream/health/check-reachable.ts'
import { tryJwks } from './preflight.ts'

// As long as an endpoint has.
const onlineTry = { waitMs: maxCheckMs, repeatsSilent: true }

/** Fetches the keys of each issuer as the gateway does. A warning names one whose keys cannot be had within 2 s. */
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
