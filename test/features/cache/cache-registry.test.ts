import { expect, test } from 'vitest'
import { createCacheRegistry } from '../../../src/features/cache/cache-registry.ts'
import { createSharedCacheRegistry } from '../../../src/features/cache/redis/shared-cache-registry.ts'
import { type Settings, testConfig } from '../../helpers/gateway.ts'

test.each([
  ['in a process that shares nothing', null],
  ['without cache.redis', createSharedCacheRegistry(() => {})],
])('%s, there is nothing to wait for when something becomes invalid', (_, sharedCaches) => {
  const ignore = () => {}
  const caches = createCacheRegistry(ignore, ignore, sharedCaches)
  const lease = caches.acquire(testConfig({ operations: { 'market.insights': { cache: true } } }))

  expect(lease.invalidate([{ operation: 'market.insights', query: '' }])).toBeNull()
})

const market = (edited: object) => ({ upstreams: { market: { endpoints: ['http://127.0.0.1:1'], ...edited } } })

/** Acquires the caches of a configuration, and of its edit; returns the partition of each. */
const partitionsOf = (...edits: readonly Settings[]) => {
  const caches = createCacheRegistry(() => {})
  return edits.map((edited) => {
    const lease = caches.acquire(testConfig({ operations: { 'market.insights': { cache: true } }, ...edited }))
    return lease.get('market.insights', 'primary')
  })
}

test.each<[string, Settings]>([
  ['what concerns no response', { cache: { maxBytes: '32MiB' }, defaults: { deadline: '7s' } }],
  ['another operation', { operations: { 'market.insights': { cache: true }, 'leads.pipeline': { cache: true } } }],
  ['how it is served', { operations: { 'market.insights': { cache: true, state: 'reject' } } }],
])('what is stored stays over an edit of %s', (_, edited) => {
  const [before, after] = partitionsOf(market({}), { ...market({}), ...edited })

  expect(before).not.toBeNull()
  expect(after).toBe(before)
})

test('what is stored stays where the endpoints come in another order', () => {
  const [one, other] = ['http://127.0.0.1:1', 'http://127.0.0.1:2']
  const [before, after] = partitionsOf(market({ endpoints: [one, other] }), market({ endpoints: [other, one] }))

  expect(after).toBe(before)
})

test.each<[string, Settings]>([
  ['the cache of the operation', { operations: { 'market.insights': { cache: { staleIfError: '1m' } } } }],
  ['its endpoints', market({ endpoints: ['http://127.0.0.1:1/v2'] })],
  ['the number of its endpoints', market({ endpoints: ['http://127.0.0.1:1', 'http://127.0.0.1:2'] })],
  ['the host that it is asked by', market({ host: 'client' })],
  ['the fields of its requests', market({ request: { remove: ['X-Secret'] } })],
  ['the fields of its responses', market({ response: { remove: ['X-Secret'] } })],
  ['the names of credentials, by which it may have been fetched', { cache: { credentials: ['X-Session'] } }],
  ['the field of the request id, which an upstream may repeat', { requestId: { header: 'X-Correlation-Id' } }],
])('what is stored goes with an edit of %s', (_, edited) => {
  const [before, after] = partitionsOf(market({}), { ...market({}), ...edited })

  expect(after).not.toBeNull()
  expect(after).not.toBe(before)
})

test('what is stored gives way to a smaller limit once that takes effect', () => {
  const caches = createCacheRegistry(() => {})
  const acquire = (maxBytes: string) => caches.acquire(testConfig({ cache: { maxBytes } }))
  const [first, second] = [acquire('4MiB'), acquire('1MiB')]
  first.activate()
  const before = second.state().maxBytes

  second.activate()

  expect([before, second.state().maxBytes]).toEqual([4 * 1024 ** 2, 1024 ** 2])
})
