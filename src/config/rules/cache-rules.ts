import { allOperations } from '../../operations.ts'
import { formatSize } from '../../units.ts'
import { cacheSchema, operationCacheSchema } from '../sections/cache.ts'
import { type ConfigRule, valueAt } from './rule.ts'

/** Requires that the whole cache has room for the largest entry. */
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

/** The rules of caching. */
export const cacheRules: readonly ConfigRule[] = [entryFitsCache]
