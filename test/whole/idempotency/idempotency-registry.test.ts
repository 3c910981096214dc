import { afterEach, beforeEach, expect, onTestFinished, test, vi } from 'vitest'
import { createIdempotencyRegistry } from '../../../src/features/idempotency/idempotency-registry.ts'
import { claimKeyScript } from '../../../src/features/idempotency/store/idempotency-scripts.ts'
import type { Claim } from '../../../src/features/idempotency/store/idempotency-store.ts'
import { createClaim } from '../../features/idempotency/idempotency-claim.ts'
import { type Settings, testConfig } from '../../helpers/gateway.ts'
import { scriptedRedis } from '../../helpers/scripted-redis.ts'

beforeEach(() => vi.useFakeTimers({ now: Date.parse('2026-11-23T10:00:00Z') }))
afterEach(() => vi.useRealTimers())

const claim = (token: string): Claim => createClaim({ client: 'a', name: token, token, ttlMs: 60_000, leaseMs: 15_000 })

type Event = readonly [event: string, fields: object]

/** Creates a registry, and the events that it logs. */
const createRegistry = () => {
  const events: Event[] = []
  const registry = createIdempotencyRegistry({ kind: 'alone' }, (_, ...event) => events.push(event))
  const namesOf = () => events.map(([name]) => name)
  return { registry, events, namesOf }
}

const acquire = (idempotency = {}, { registry } = createRegistry()) => {
  const operations = { 'financing.pre-approval': { idempotency: true } }
  const lease = registry.acquire(testConfig({ operations, idempotency }))
  if (lease === null) throw new Error('no operation has idempotency')
  return lease
}

const openLease = () => {
  const lease = acquire()
  lease.activate()
  return lease
}

test('an attempt that is not renewed has an unknown outcome, since its lease is over', async () => {
  const lease = openLease()
  await lease.store.call({ type: 'claim', claim: claim('a') })

  const before = lease.state()
  await vi.advanceTimersByTimeAsync(15_000)

  expect(before).toMatchObject({ entries: 1, inProgress: 1, unknown: 0, oldestUnknown: null })
  expect(lease.state()).toMatchObject({ entries: 1, inProgress: 0, unknown: 1, oldestUnknown: Date.now() })
})

test('what has expired is not counted, though no new key has come', async () => {
  const lease = openLease()
  await lease.store.call({ type: 'claim', claim: claim('a') })
  await lease.store.call({ type: 'settle', claim: claim('a'), settlement: { state: 'unknown', fingerprint: 'f' } })

  await vi.advanceTimersByTimeAsync(60_000)

  expect(lease.state()).toMatchObject({ entries: 0, unknown: 0, oldestUnknown: null })
})

test('the state of the memory is that of this gateway alone, since the process started', async () => {
  const since = Date.now()
  const lease = openLease()

  await vi.advanceTimersByTimeAsync(1000)

  expect(lease.state()).toMatchObject({ store: 'memory', state: 'local', since, reason: null, maxEntries: 200_000 })
})

test('an edit that is prepared changes no bound, and is not logged, before it is in effect', async () => {
  const registry = createRegistry()
  const running = acquire({}, registry)
  running.activate()
  const redis = { url: 'redis://127.0.0.1:1' }
  const edited = acquire({ maxEntries: 100, redis, encryptionKeys: ['0'.repeat(64)] }, registry)

  const replies = await Promise.all(
    [...Array(60).keys()].map((n) => running.store.call({ type: 'claim', claim: claim(`${n}`) })),
  )

  expect(new Set(replies.map((reply) => reply?.state))).toEqual(new Set(['claimed']))
  expect(registry.namesOf()).not.toContain('idempotency store changed')
  edited.activate()
  expect(await running.store.call({ type: 'claim', claim: claim('b') })).toEqual({ state: 'full', of: 'client' })
  expect(registry.namesOf()).toContain('idempotency store changed')
  edited.release()
})

test.each<[string, object, object | null]>([
  ['is of another prefix', { prefix: 'other' }, { to: '127.0.0.1:1, database 0, prefix other' }],
  ['is another database', { url: 'redis://127.0.0.1:1/3' }, { to: '127.0.0.1:1, database 3, prefix lender-gateway' }],
  ['has another timeout', { timeout: '30ms' }, null],
])('an edit after which Redis %s is logged when every key is new', (_, edit, expected) => {
  const registry = createRegistry()
  const url = 'redis://127.0.0.1:1'
  const leases = [{}, edit].map((more) =>
    acquire({ redis: { url, ...more }, encryptionKeys: ['0'.repeat(64)] }, registry),
  )

  for (const lease of leases) lease.activate()

  const changes = registry.events.filter(([event]) => event === 'idempotency store changed').map(([, fields]) => fields)
  const from = '127.0.0.1:1, database 0, prefix lender-gateway'
  expect(changes).toEqual(expected === null ? [] : [{ from, ...expected }])
  for (const lease of leases) lease.release()
})

test('the keys that Redis has rejected are counted on after an edit', async () => {
  vi.useRealTimers()
  const redis = await scriptedRedis((command) => (command.includes(claimKeyScript.sha) ? ['f'] : undefined))
  const shared = { redis: { url: `redis://127.0.0.1:${redis.port}` }, encryptionKeys: ['0'.repeat(64)] }
  const registry = createRegistry()
  const running = acquire(shared, registry)
  onTestFinished(() => running.release())
  await running.settled
  const result = await running.store.call({ type: 'claim', claim: claim('a') })

  const edited = acquire({ ...shared, maxEntries: 100 }, registry)
  onTestFinished(() => edited.release())

  expect(result).toEqual({ state: 'full', of: 'client' })
  expect([running.state()?.rejected, edited.state()?.rejected]).toEqual([1, 1])
})

test('a store whose replicas are missing is unavailable, with the reason, until they are there', async () => {
  vi.useRealTimers()
  let replicas = 0
  const redis = await scriptedRedis(([name]) => (name === 'WAIT' ? replicas : undefined))
  const shared = { redis: { url: `redis://127.0.0.1:${redis.port}` }, encryptionKeys: ['0'.repeat(64)], replicas: 1 }
  const lease = acquire(shared)
  onTestFinished(() => lease.release())

  await lease.settled
  const reason = '0 of 1 replicas have the write'
  await vi.waitFor(() => expect(lease.state()).toMatchObject({ state: 'unavailable', reason }), 30_000)
  replicas = 1

  await vi.waitFor(() => expect(lease.state()).toMatchObject({ state: 'shared', reason: null }), 30_000)
})

const auth = {
  auth: { methods: ['apiKey'] },
  clients: [{ id: 'bank-a', operations: 'all', apiKeys: [{ id: 'k', sha256: '0'.repeat(64) }] }],
}

const withKeys = ({ operations, ...settings }: Settings) =>
  testConfig({ ...settings, operations: { ...operations, 'financing.pre-approval': { idempotency: true } } })

test.each<[string, Settings, Settings, readonly string[] | null]>([
  ['switches auth on', {}, auth, ['financing.pre-approval']],
  ['switches auth off', auth, {}, ['financing.pre-approval']],
  ['names another credential', {}, { cache: { credentials: ['X-Key'] } }, ['financing.pre-approval']],
  ['names another credential, where clients have ids', auth, { ...auth, cache: { credentials: ['X-Key'] } }, null],
  ['switches auth off elsewhere', auth, { ...auth, operations: { 'valuation.score': { auth: 'none' } } }, null],
  ['changes something else', {}, { limits: { concurrency: 10 } }, null],
])('an edit that %s is logged when it changes whose keys are whose', (_, before, after, operations) => {
  const { registry, events } = createRegistry()

  for (const settings of [before, before, after, after]) registry.acquire(withKeys(settings))?.activate()

  expect(events).toEqual(operations === null ? [] : [['idempotency owners changed', { operations }]])
})
