import { expect, test } from 'vitest'
import type { Status } from '../../../../../src/core/runtime/status/status-part.ts'
import { idempotencyRows } from '../../../../../src/features/idempotency/status-text.ts'

const at = Date.parse('2026-11-21T02:10:00.000Z')

const usual: NonNullable<Status['idempotency']> = {
  ...{ store: 'memory', state: 'local', since: '2026-11-21T02:09:00.000Z', reason: null, where: null },
  ...{ entries: 12, maxEntries: 200, bytes: 2048, maxBytes: 1024 ** 2, inProgress: 3 },
  ...{ unknown: 0, oldestUnknown: null, dropped: 0, rejected: 0 },
}

const rows = (more: Partial<typeof usual> = {}) => idempotencyRows({ ...usual, ...more }, at).slice(1)

test('the counts of stored keys are shown', () => {
  expect(rows()).toEqual([
    ['store', 'memory, of this gateway'],
    ['keys', '12 of 200'],
    ['responses', '2.0 KiB of 1.0 MiB'],
    ['in progress', '3'],
    ['unknown', '0'],
  ])
})

test('states that need an operator are in capitals', () => {
  const wrong = { entries: 200, unknown: 7, oldestUnknown: '2026-11-21T02:08:00.000Z', dropped: 4, rejected: 5 }

  expect(rows(wrong)).toEqual([
    ['store', 'memory, of this gateway'],
    ['keys', '200 of 200: FULL, no new key is stored'],
    ['responses', '2.0 KiB of 1.0 MiB'],
    ['in progress', '3'],
    ['unknown', '7 OUTCOMES, the oldest 2026-11-21T02:08:00Z, 2m ago'],
    ['dropped', '4 responses, for lack of room, since the start'],
    ['rejected', '5 keys, for lack of room, since the start'],
  ])
})

test('a store without counts is shown with its state alone', () => {
  const silent = { entries: null, maxEntries: null, bytes: null, maxBytes: null, inProgress: null, unknown: null }
  const redis = { ...silent, store: 'redis', state: 'shared' } as const

  expect(rows(redis)).toEqual([['store', 'redis, with other gateways']])
  expect(rows({ ...redis, state: 'unavailable', reason: 'connection lost', where: 'in 1 of 2 workers' })).toEqual([
    ['store', 'redis CANNOT BE USED in 1 of 2 workers since 2026-11-21T02:09:00Z, 1m ago: connection lost'],
  ])
})
