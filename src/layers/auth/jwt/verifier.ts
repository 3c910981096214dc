import type { ClaimsOf } from '../claims.ts'
import { digestOf, TokenCache } from '../token-cache.ts'
import type { Keys } from './keys.ts'
import { type VerifiedToken, type VerifySettings, verifyToken } from './verify.ts'

/**
 * Verifies tokens of one issuer, each once for as long as it is good: until it expires, or the key that it was signed with is not one of the
 * issuer's any more.
 */
export const jwtVerifier = (keys: Keys, settings: VerifySettings): ClaimsOf => {
  const cache = new TokenCache<VerifiedToken>(({ key }) => keys.current?.holds(key) ?? false)
  return (token) => {
    const digest = digestOf(token)
    const known = cache.find(digest)
    if (known !== null) return known.claims
    const learnt = cache.learn(digest, async () => {
      const value = await verifyToken(token, settings, keys)
      return { value, until: value.expiresAt, size: token.length }
    })
    return learnt.then(({ claims }) => claims)
  }
}
