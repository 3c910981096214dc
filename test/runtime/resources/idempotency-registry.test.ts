import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { IdempotencyRegistry } from '../../../src/runtime/resources/idempotency-registry.ts'
import type { Claim } from '../../../src/shared/idempotency/idempotency-store.ts'
import { testConfig } from '../../helpers/gateway.ts'

beforeEach(() => vi.useFakeTimers({ now: Date.parse('2026-11-23T10:00:00Z') }))
afterEach(() => vi.useRealTimers())

const claim = (name: string): Claim => ({
  ...{ client: 'a', name, token: name, fingerprint: 'f', requestId: 'r', takesOver: false },
  ...{ ttlMs: 60_000, leaseMs: 15_000, maxKeys: 100 },
})

const acquire = () => {
  const config = testConfig({ operations: { 'financing.pre-approval': { idempotency: true } } })
  const lease = new IdempotencyRegistry({ kind: 'alone' }, () => {}).acquire(config)
  if (lease === null) throw new Error('no operation has idempotency')
  return lease
}

test('an attempt that is not renewed has an unknown outcome, since its lease is over', async () => {
  const lease = acquire()
  await lease.store.call({ type: 'claim', claim: claim('a') })

  const before = lease.state()
  await vi.advanceTimersByTimeAsync(15_000)

  expect(before).toMatchObject({ entries: 1, inProgress: 1, unknown: 0, oldestUnknown: null })
  expect(lease.state()).toMatchObject({ entries: 1, inProgress: 0, unknown: 1, oldestUnknown: Date.now() })
})

test('what has expired is not counted, though no new key has come', async () => {
  const lease = acquire()
  await lease.store.call({ type: 'claim', claim: claim('a') })
  await lease.store.call({ type: 'settle', claim: claim('a'), settlement: { state: 'unknown', fingerprint: 'f' } })

  await vi.advanceTimersByTimeAsync(60_000)

  expect(lease.state()).toMatchObject({ entries: 0, unknown: 0, oldestUnknown: null })
})

test('the state of the memory is that of this gateway alone, since the process started', async () => {
  const since = Date.now()
  const lease = acquire()

  await vi.advanceTimersByTimeAsync(1000)

  expect(lease.state()).toMatchObject({ store: 'memory', state: 'local', since, reason: null, maxEntries: 200_000 })
})
