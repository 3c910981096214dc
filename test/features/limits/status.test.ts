import { expect, test } from 'vitest'
import { Overrides } from '../../../src/core/runtime/overrides.ts'
import { createDataPlane } from '../../../src/core/runtime/snapshot/data-plane.ts'
import type { Reported } from '../../../src/core/runtime/status/field.ts'
import { collectReport } from '../../../src/core/runtime/status/report.ts'
import type { Status } from '../../../src/core/runtime/status/status-part.ts'
import { limitsField } from '../../../src/features/limits/status.ts'
import { limitRows } from '../../../src/features/limits/status-text.ts'
import { testConfig } from '../../helpers/gateway.ts'

type LimitsReport = Reported<typeof limitsField>

const report = (more: Partial<LimitsReport>): LimitsReport => ({
  rate: null,
  concurrency: [],
  eventLoop: null,
  ...more,
})

const inFlight = (count: number, limit: number): LimitsReport =>
  report({ concurrency: [{ key: 'limits.concurrency', inFlight: count, limit }] })

const loop = (delayMs: number, sheds: boolean, since: number, where: string | null = null): LimitsReport =>
  report({ eventLoop: { delayMs, limitMs: 50, sheds, since, where } })

const rate = (state: 'shared' | 'local', since: number, where: string | null = null): LimitsReport =>
  report({
    rate: {
      ...{ store: 'redis', server: 'redis:6379', state, since, where, evictions: 0 },
      reason: state === 'local' ? 'rejected' : null,
    },
  })

test('keys that a limiter has forgotten count on when an edit puts another limit in its place', async () => {
  const state = (rate: string) => ({
    config: testConfig({ upstream: 'http://127.0.0.1:1', limits: { address: { rate, burst: 1 } } }),
    overrides: new Overrides(),
    sandboxOrigin: null,
  })
  const plane = await createDataPlane(state('1/min'), { logEvent: () => {} })
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

// The primary, which has no traffic, adds nothing.
test.each<[string, LimitsReport, LimitsReport[], LimitsReport]>([
  [
    'in flight is a sum, and so is the limit',
    inFlight(7, 5000),
    [inFlight(10, 5000), inFlight(1, 5000)],
    inFlight(11, 10_000),
  ],
  [
    'the event loop is as late as the latest',
    loop(0, false, 0),
    [loop(3, false, 2), loop(80, true, 5), loop(60, true, 4)],
    loop(80, true, 4, 'in 2 of 3 workers'),
  ],
  ['all is no place', loop(0, false, 0), [loop(90, true, 1), loop(80, true, 2)], loop(90, true, 1)],
  ['none is no place', loop(0, false, 0), [loop(2, false, 1), loop(1, false, 1)], loop(2, false, 1)],
  ['rates are shared when all share them', rate('local', 1), [rate('shared', 3), rate('shared', 2)], rate('shared', 2)],
  [
    'and not when one does not',
    rate('local', 1),
    [rate('shared', 3), rate('local', 5)],
    rate('local', 5, 'in 1 of 2 workers'),
  ],
])('of several workers: %s', (_, primary, workers, expected) => {
  expect(limitsField.merge(primary, workers)).toEqual(expected)
})

const redisIsOut =
  'REDIS (redis:6379) CANNOT BE USED in 1 of 2 workers since 2026-11-21T02:09:00Z, 1m ago: counted here'

test.each<[Partial<NonNullable<Status['limits']['rate']>>, string]>([
  [{ store: 'memory', state: 'local' }, 'counted in memory'],
  [{}, 'by redis (redis:6379), with other gateways'],
  [{ state: 'local', where: 'in 1 of 2 workers' }, redisIsOut],
  [
    { store: 'memory', state: 'local', evictions: 7 },
    'counted in memory; 7 keys forgotten for lack of room since the start',
  ],
])('in the terminal the store of rates is shown, in capitals when Redis is out: %j', (more, expected) => {
  const usual = {
    store: 'redis',
    server: 'redis:6379',
    state: 'shared',
    reason: null,
    where: null,
    evictions: 0,
  } as const
  const rate = { ...usual, since: '2026-11-21T02:09:00.000Z', ...more }

  const [, shown] = limitRows({ rate, concurrency: [], eventLoop: null }, Date.parse('2026-11-21T02:10:00.000Z'))

  expect(shown?.[1]).toBe(expected)
})
