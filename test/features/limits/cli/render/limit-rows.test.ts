import { expect, test } from 'vitest'
import type { Status } from '../../../../../src/core/runtime/status/status-part.ts'
import { limitRows } from '../../../../../src/features/limits/status-text.ts'

const at = Date.parse('2026-11-21T02:10:00.000Z')

type Rate = NonNullable<Status['limits']['rate']>

const row = (rate: Partial<Rate>): string | undefined => {
  const since = '2026-11-21T02:09:00.000Z'
  const server = 'redis:6379'
  const usual: Rate = { store: 'redis', server, state: 'shared', since, reason: null, where: null, evictions: 0 }
  const [, shown] = limitRows({ rate: { ...usual, ...rate }, concurrency: [], eventLoop: null }, at)
  return shown?.[1]
}

test('the store of rates is shown, in capitals when Redis is out', () => {
  expect(row({ store: 'memory', state: 'local' })).toBe('counted in memory')
  expect(row({})).toBe('by redis (redis:6379), with other gateways')
  expect(row({ state: 'local', where: 'in 1 of 2 workers' })).toBe(
    'REDIS (redis:6379) IS OF NO USE in 1 of 2 workers since 2026-11-21T02:09:00Z, 1m ago: counted here',
  )
  expect(row({ store: 'memory', state: 'local', evictions: 7 })).toBe(
    'counted in memory; 7 keys forgotten for want of room since the start',
  )
})
