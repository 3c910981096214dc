import { catalog } from '../../catalog.ts'
import { formatSize } from '../../units.ts'
import { cacheSchema, operationCache } from '../schema/cache.ts'
import { type Check, childAt, type Doubt } from './rule.ts'

/** What may be stored of one answer has room in what may be stored at all. */
const room: Check = (tree) => {
  const { data: cache } = cacheSchema.safeParse(childAt(tree, ['cache']) ?? {})
  if (cache === undefined) return null
  return catalog.map(({ id }) => {
    const path = ['operations', id, 'cache']
    const { data } = operationCache.safeParse(childAt(tree, path) ?? false)
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
export const cacheChecks: readonly Check[] = [room]

const idleStore: Doubt = ({ config: { cache, operations } }) =>
  cache.redis !== null &&
  catalog.every(({ id }) => operations[id].cache === null) && {
    path: ['cache', 'redis'],
    message: 'this does nothing: no operation is cached',
    expected: 'cache: true under one of operations, or no cache.redis',
    found: 'none that is',
    hint: 'add market.insights: { cache: true } under operations, or remove redis',
  }

/** Looks for operations whose every request carries a credential: it is passed on, so that nothing is answered from what is stored. */
const passedBy: Doubt = ({ config: { auth, operations } }) =>
  auth?.credentials === 'forward' &&
  catalog.map(({ id }) => {
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
export const cacheDoubts: readonly Doubt[] = [idleStore, passedBy]
