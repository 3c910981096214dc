import { allOperations } from '../../operations.ts'
import { formatSize } from '../../units.ts'
import { cacheSchema, operationCacheSchema } from '../sections/cache.ts'
import { type ConfigRule, valueAt, type WarningRule } from './rule.ts'

/** What may be stored of one answer has room in what may be stored at all. */
const entryFitsCache: ConfigRule = (tree) => {
  const { data: cache } = cacheSchema.safeParse(valueAt(tree, ['cache']) ?? {})
  if (cache === undefined) return null
  return allOperations.map(({ id }) => {
    const path = ['operations', id, 'cache']
    const { data } = operationCacheSchema.safeParse(valueAt(tree, path) ?? false)
    return (
      data &&
      data.maxEntry > cache.maxBytes && {
        path: [...path, 'maxEntry'],
        message: 'more than there is room for',
        expected: `at most cache.maxBytes, ${formatSize(cache.maxBytes)}`,
        found: formatSize(data.maxEntry),
        hint: 'write less, or more for cache.maxBytes',
      }
    )
  })
}

/** Checks what is said of caching. */
export const cacheRules: readonly ConfigRule[] = [entryFitsCache]

const unusedCacheRedis: WarningRule = ({ config: { cache, operations } }) =>
  cache.redis !== null &&
  allOperations.every(({ id }) => operations[id].cache === null) && {
    path: ['cache', 'redis'],
    message: 'this does nothing: no operation is cached',
    expected: 'cache: true under one of operations, or no cache.redis',
    found: 'none that is',
    hint: 'add market.insights: { cache: true } under operations, or remove redis',
  }

/** Looks for operations whose every request carries a credential: it is passed on, so that nothing is answered from what is stored. */
const bypassedCache: WarningRule = ({ config: { auth, operations } }) =>
  auth?.credentials === 'forward' &&
  allOperations.map(({ id }) => {
    const { cache, auth: asked } = operations[id]
    return (
      cache !== null &&
      !cache.shared &&
      asked !== null && {
        path: ['operations', id, 'cache'],
        message:
          'this does nothing: every request carries a credential, and what does is never answered from what is stored',
        expected: 'auth.credentials: strip, or shared: true',
        found: 'auth.credentials: forward',
        hint: 'read docs/caching.md before you write shared: true',
      }
    )
  })

/** Lists what is said of caching and has no effect. */
export const cacheWarnings: readonly WarningRule[] = [unusedCacheRedis, bypassedCache]
