import { describe, expect, test } from 'vitest'
import { Overrides } from '../../../src/core/runtime/overrides.ts'
import { DataPlane } from '../../../src/core/runtime/snapshot/data-plane.ts'
import type { Reported } from '../../../src/core/runtime/status/field.ts'
import { collectReport } from '../../../src/core/runtime/status/report.ts'
import type { Status } from '../../../src/core/runtime/status/status-part.ts'
import { limitsField } from '../../../src/features/limits/status.ts'
import { limitRows } from '../../../src/features/limits/status-text.ts'
import { testConfig } from '../../helpers/gateway.ts'

type LimitsReport = Reported<typeof limitsField>

const report = (inFlight: number, limit: number, eventLoop: LimitsReport['eventLoop'] = null): LimitsReport => ({
  rate: null,
  concurrency: [{ key: 'limits.concurrency', inFlight, limit }],
  eventLoop,
})

const loop = (delayMs: number, sheds: boolean, since: number): LimitsReport => ({
  rate: null,
  concurrency: [],
  eventLoop: { delayMs, limitMs: 50, sheds, since, where: null },
})

test('keys that a limiter has forgotten count on when an edit puts another limit in its place', async () => {
  const state = (rate: string) => ({
    config: testConfig({ upstream: 'http://127.0.0.1:1', limits: { address: { rate, burst: 1 } } }),
    overrides: new Overrides(),
    sandboxOrigin: null,
  })
  const plane = new DataPlane(state('1/min'), { logEvent: () => {} })
  const evictions = () => collectReport(plane.currentSnapshot).limits.rate?.evictions
  const limiter = plane.currentSnapshot.value.parts.limits.limiters.acquire(
    { policy: 'address', perMs: 1 / 60_000, burst: 1 },
    null,
  ).limiter
  for (let n = 0; n <= 100_000; n++) void limiter?.consume(String(n))
  const before = evictions()

  plane.currentSnapshot.swap(plane.buildNext(state('2/min')))

  expect([before, evictions()]).toEqual([1, 1])
  await plane.close(0)
})

describe('of several workers', () => {
  test('what is in flight and the shares of a limit are sums, and the primary, which has no traffic, adds nothing', () => {
    const merged = limitsField.merge(report(7, 5000), [report(10, 5000), report(1, 5000)])

    expect(merged).toEqual(report(11, 10_000))
  })

  test('the event loop is as late as the latest', () => {
    const { eventLoop } = limitsField.merge(loop(0, false, 0), [
      loop(3, false, 2),
      loop(80, true, 5),
      loop(60, true, 4),
    ])

    expect(eventLoop).toEqual({ delayMs: 80, limitMs: 50, sheds: true, since: 4, where: 'in 2 of 3 workers' })
  })

  test('all, or none, is no place', () => {
    const where = (...workers: readonly LimitsReport[]) =>
      limitsField.merge(loop(0, false, 0), workers).eventLoop?.where

    expect([where(loop(90, true, 1), loop(80, true, 2)), where(loop(1, false, 1), loop(2, false, 1))]).toEqual([
      null,
      null,
    ])
  })

  test('counts are shared when all workers share them', () => {
    const rate = (state: 'shared' | 'local', since: number): LimitsReport => ({
      rate: {
        ...{ store: 'redis', server: 'redis:6379', state, since, where: null, evictions: 0 },
        reason: state === 'local' ? 'refused' : null,
      },
      concurrency: [],
      eventLoop: null,
    })
    const primary = rate('local', 1)

    expect(limitsField.merge(primary, [rate('shared', 3), rate('shared', 2)]).rate).toEqual(rate('shared', 2).rate)
    expect(limitsField.merge(primary, [rate('shared', 3), rate('local', 5)]).rate).toEqual({
      ...rate('local', 5).rate,
      where: 'in 1 of 2 workers',
    })
  })
})

describe('in the terminal', () => {
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
})
