import { catalog } from '../catalog.ts'
import { formatSize } from '../units.ts'
import { childAt } from './auth-places.ts'
import type { Config } from './config.ts'
import type { Finding } from './problem.ts'
import { cacheSchema, operationCache } from './schema/cache.ts'

/** Checks that what may be stored of one answer has room in what may be stored at all. */
export function cacheFindings(tree: unknown): readonly Finding[] {
  const { data: cache } = cacheSchema.safeParse(childAt(tree, ['cache']) ?? {})
  if (cache === undefined) return []
  return catalog.flatMap(({ id }): readonly Finding[] => {
    const path = ['operations', id, 'cache']
    const { data } = operationCache.safeParse(childAt(tree, path) ?? false)
    if (!data || data.maxEntry <= cache.maxBytes) return []
    return [
      {
        path: [...path, 'maxEntry'],
        message: 'more than there is room for',
        expected: `at most cache.maxBytes, ${formatSize(cache.maxBytes)}`,
        found: formatSize(data.maxEntry),
        hint: 'write less, or more for cache.maxBytes',
      },
    ]
  })
}

/** Lists what is said of caching and has no effect. */
export const cacheDoubts = (config: Config): readonly Finding[] => [...idleStore(config), ...passedBy(config)]

function idleStore({ cache, operations }: Config): readonly Finding[] {
  if (cache.redis === null || catalog.some(({ id }) => operations[id].cache !== null)) return []
  return [
    {
      path: ['cache', 'redis'],
      message: 'this does nothing: no operation is cached',
      expected: 'cache: true under one of operations, or no cache.redis',
      found: 'none that is',
      hint: 'add market.insights: { cache: true } under operations, or remove redis',
    },
  ]
}

/** Looks for operations whose every request carries a credential: it is passed on, so that nothing is answered from what is stored. */
function passedBy({ auth, operations }: Config): readonly Finding[] {
  if (auth === null || auth.credentials === 'strip') return []
  return catalog.flatMap(({ id }): readonly Finding[] => {
    const { cache, auth: asked } = operations[id]
    if (cache === null || cache.shared || asked === null) return []
    return [
      {
        path: ['operations', id, 'cache'],
        message:
          'this does nothing: every request carries a credential, and what does is never answered from what is stored',
        expected: 'auth.credentials: strip, or shared: true',
        found: 'auth.credentials: forward',
        hint: 'read docs/caching.md before you write shared: true',
      },
    ]
  })
}
