import { allOperations } from '../../operations.ts'
import { maxOutsideShare } from '../../shared/bodies/body-memory.ts'
import { formatSize } from '../../units.ts'
import type { WarningRule } from '../rules/rule.ts'
import { workerCount, workerShare } from '../worker-count.ts'

const unusedCacheRedis: WarningRule = ({ config: { cache, operations } }) =>
  cache.redis !== null &&
  allOperations.every(({ id }) => operations[id].cache === null) && {
    path: ['cache', 'redis'],
    message: 'this does nothing: no operation is cached',
    expected: 'cache: true under one of operations, or no cache.redis',
    found: 'none that is',
    hint: 'add market.insights: { cache: true } under operations, or remove redis',
  }

/** Warns of cached operations that forward a credential with every request, which then gets no stored response. */
const bypassedCache: WarningRule = ({ config: { auth, operations } }) =>
  auth?.credentials === 'forward' &&
  allOperations.map(({ id }) => {
    const { cache, auth: requiredAuth } = operations[id]
    return (
      cache !== null &&
      !cache.shared &&
      requiredAuth !== null && {
        path: ['operations', id, 'cache'],
        message:
          'this does nothing: every request carries a credential, and what does is never answered from what is stored',
        expected: 'auth.credentials: strip, or shared: true',
        found: 'auth.credentials: forward',
        hint: 'read docs/caching.md before you write shared: true',
      }
    )
  })

/** Warns of entries that a worker has no room for while they are on their way. */
const entryWithoutRoom: WarningRule = ({ config, cores }) => {
  const share = workerShare(config.cache.maxBytes, workerCount(config, cores))
  const room = Math.floor(share * maxOutsideShare)
  return allOperations.map(({ id }) => {
    const { cache } = config.operations[id]
    return (
      cache !== null &&
      cache.maxEntry > room && {
        path: ['operations', id, 'cache', 'maxEntry'],
        message: 'the longest answers are never stored: a worker has no room for one on its way',
        expected: `at most ${formatSize(room)}, half of what each worker has of cache.maxBytes`,
        found: formatSize(cache.maxEntry),
        hint: 'write less, or more for cache.maxBytes',
      }
    )
  })
}

/** The warnings of caching: settings without an effect. */
export const cacheWarnings: readonly WarningRule[] = [unusedCacheRedis, bypassedCache, entryWithoutRoom]
