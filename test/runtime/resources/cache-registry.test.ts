import { expect, test } from 'vitest'
import { CacheRegistry } from '../../../src/runtime/resources/cache-registry.ts'
import { SharedCacheRegistry } from '../../../src/runtime/resources/shared-cache-registry.ts'
import { testConfig } from '../../helpers/gateway.ts'

test.each([
  ['in a process that shares nothing', null],
  ['without cache.redis', new SharedCacheRegistry(() => {})],
])('%s, there is nothing to wait for when something becomes invalid', (_, sharedCaches) => {
  const caches = new CacheRegistry(
    () => {},
    () => {},
    sharedCaches,
  )
  const lease = caches.acquire(testConfig({ operations: { 'market.insights': { cache: true } } }))

  expect(lease.invalidate([{ operation: 'market.insights', query: '' }])).toBeNull()
})
