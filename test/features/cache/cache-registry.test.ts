import { expect, test } from 'vitest'
import { createCacheRegistry } from '../../../src/features/cache/cache-registry.ts'
import { createSharedCacheRegistry } from '../../../src/features/cache/redis/shared-cache-registry.ts'
import { testConfig } from '../../helpers/gateway.ts'

test.each([
  ['in a process that shares nothing', null],
  ['without cache.redis', createSharedCacheRegistry(() => {})],
])('%s, there is nothing to wait for when something becomes invalid', (_, sharedCaches) => {
  const caches = createCacheRegistry(
    () => {},
    () => {},
    sharedCaches,
  )
  const lease = caches.acquire(testConfig({ operations: { 'market.insights': { cache: true } } }))

  expect(lease.invalidate([{ operation: 'market.insights', query: '' }])).toBeNull()
})

test.each([
  ['in another order', ['http://127.0.0.1:2', 'http://127.0.0.1:1'], true],
  ['fewer', ['http://127.0.0.1:1'], false],
])('an edit with the same endpoints %s: whether what is stored stays', (_, edited, stays) => {
  const caches = createCacheRegistry(() => {})
  const partitionWith = (endpoints: readonly string[]) => {
    const operations = { 'market.insights': { cache: true } }
    return caches
      .acquire(testConfig({ upstreams: { market: { endpoints } }, operations }))
      .get('market.insights', 'primary')
  }
  const before = partitionWith(['http://127.0.0.1:1', 'http://127.0.0.1:2'])

  const after = partitionWith(edited)

  expect(before).not.toBeNull()
  expect(after === before).toBe(stays)
})
