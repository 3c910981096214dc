import { describe, expect, test } from 'vitest'
import {
  describeVerdict,
  type GuardVerdict,
  judgeCandidate,
} from '../../../../../src/features/candidate/observe/guard/guard-judge.ts'
import { GuardWindow } from '../../../../../src/features/candidate/observe/guard/guard-window.ts'
import { reportOf, type SideEvents } from './side-events.ts'

const rules = { errors: 2, latency: 1.5, minRequests: 50 }
const windowMs = 60_000

/** Judges what became of requests within a window, spread over all of it; `before` is of the window before. */
const judge = (events: readonly SideEvents[], before: readonly SideEvents[] = []): GuardVerdict | null => {
  const window = new GuardWindow(windowMs)
  window.begin('earlier')
  window.add('one', reportOf(before, 'earlier'), 1)
  window.begin('era')
  for (const quarter of [1, 2, 3, 4]) window.add('one', reportOf(events), quarter * 15_000)
  window.advance(60_001)
  return judgeCandidate(window.evidence, rules)
}

const clients = (count: number, events: SideEvents): readonly SideEvents[] =>
  Array.from({ length: count }, (_, client) => ({ client, ...events }))

const primary = (events: SideEvents): SideEvents => ({ side: 'primary', ...events })

const well = primary({ responded: 500, failed: 1, rejected: 5 })

describe('taken back is a candidate', () => {
  test.each<[string, SideEvents, string]>([
    ['that fails all', { failed: 10 }, 'failed'],
    ['that fails a tenth', { responded: 45, failed: 5 }, 'failed'],
    ['whose responses break off', { responded: 10, late: 10 }, 'failed'],
    ['that rejects all, however fast', { rejected: 10 }, 'rejected'],
    ['that takes four times as long', { slow: [10, 80] }, 'slow'],
    ['that takes so long for a fifth of its requests', { responded: 40, slow: [10, 80] }, 'slow'],
    ['that does not respond at all', { waiting: [10, 900] }, 'slow'],
  ])('%s', (_, events, fault) => {
    expect(judge([well, ...clients(8, events)])).toMatchObject({ fault, reference: 'meanwhile' })
  })

  test('a candidate that fails one rare operation is taken back', () => {
    const [score, forecast] = [{ operation: 'valuation.score' }, { operation: 'valuation.forecast' }] as const
    const ofPrimary = [primary({ ...score, responded: 5000 }), primary({ ...forecast, responded: 500 })]
    const events = [
      ...ofPrimary,
      ...clients(8, { ...score, responded: 500 }),
      ...clients(8, { ...forecast, failed: 2 }),
    ]

    expect(judge(events)).toMatchObject({ fault: 'failed', operations: [4], requests: 64, bad: 64 })
  })

  const before = [primary({ responded: 500, failed: 1 })]

  test.each<[string, readonly SideEvents[], readonly SideEvents[], object]>([
    ['whose one client fails', [well, { responded: 40, failed: 10 }], [], { fault: 'failed' }],
    ['whose one client is rejected', [well, { rejected: 20 }], [], { fault: 'rejected' }],
    ['that fails more than before', clients(8, { responded: 10, failed: 5 }), before, { reference: 'before' }],
    ['that rejects more', clients(8, { rejected: 5 }), before, { fault: 'rejected', reference: 'before' }],
    ['that fails more than half', clients(8, { responded: 4, failed: 6 }), [], { fault: 'failed', reference: 'none' }],
  ])('%s, with nothing else to compare it with', (_, events, before, verdict) => {
    expect(judge(events, before)).toMatchObject(verdict)
  })
})

describe('not taken back is a candidate', () => {
  const outage = primary({ failed: 400, responded: 100 })
  const slow = { operation: 'valuation.forecast', slow: [500, 900] } as const
  const [bothSlow, wellBefore] = [[primary(slow), ...clients(8, slow)], [primary({ responded: 500 })]]

  test.each<[string, readonly SideEvents[], (readonly SideEvents[])?]>([
    ['that had too few requests', [well, ...clients(2, { failed: 6 })]],
    ['that is well', [well, ...clients(8, { responded: 100 })]],
    [
      'failing 1.8 times as much',
      [primary({ responded: 900, failed: 100 }), ...clients(8, { responded: 410, failed: 90 })],
    ],
    ['as bad as the primary', [outage, ...clients(8, { failed: 50, responded: 12 })]],
    ['of which one client fares badly', [well, ...clients(8, { responded: 50 }), { client: 9, failed: 400 }]],
    ['of which one client is rejected', [well, ...clients(8, { responded: 50 }), { client: 9, rejected: 400 }]],
    ['of which two clients are rejected', [well, ...clients(4, { responded: 50 }), ...clients(2, { rejected: 400 })]],
    ['of which one client waits', [well, ...clients(8, { responded: 50 }), { client: 9, slow: [400, 900] }]],
    ['that is slow by less than 10 ms', [well, ...clients(8, { slow: [50, 27] })]],
    ['that is slow for one in thirty', [well, ...clients(8, { responded: 290, slow: [10, 90] })]],
    ['whose clients call a slow operation', [primary({ operation: 'valuation.score', responded: 5000 }), ...bothSlow]],
    ['that rejects much, with nothing to compare it with', clients(8, { rejected: 50 })],
    ['that fails now and then, the primary not asked', clients(8, { responded: 95, failed: 5 }), wellBefore],
    ['beside a primary that fails now', [primary({ failed: 1 }), ...clients(8, { failed: 50 })], wellBefore],
  ])('%s', (_, events, before) => {
    expect(judge(events, before)).toBeNull()
  })

  const burst = (...batches: readonly (readonly [at: number, events: readonly SideEvents[]])[]) => {
    const window = new GuardWindow(windowMs)
    window.begin('era')
    for (const [at, events] of batches) window.add('one', reportOf(events), at)
    window.advance(60_001)
    return judgeCandidate(window.evidence, rules)
  }

  test('an outage that has just begun, without requests of the primary, is no reason to take back', () => {
    const early = [primary({ responded: 5 }), ...clients(8, { responded: 100 })]

    expect(burst([10_000, early], [59_000, clients(8, { failed: 300 })])).toBeNull()
  })

  test('one burst of failures of an operation is no reason to take back', () => {
    const others = clients(8, { operation: 'valuation.score', responded: 100 })
    const late = [...others, ...clients(8, { operation: 'valuation.forecast', failed: 8 })]

    expect(burst([15_000, others], [30_000, others], [45_000, others], [59_000, late])).toBeNull()
  })
})

test('the verdict states the failures of the candidate and of the primary', () => {
  const words = (events: readonly SideEvents[], before: readonly SideEvents[] = []): string => {
    const verdict = judge(events, before)
    return verdict === null ? '' : describeVerdict(verdict, windowMs)
  }
  const failing = '100 % of 320 requests to market.insights failed within 1m, and'

  expect(words([well, ...clients(8, { responded: 5, failed: 5 })])).toBe(
    '50 % of 320 requests to market.insights failed within 1m, and 0.2 % of 2024 at the primary',
  )
  expect(words([well, ...clients(8, { slow: [10, 200] })])).toBe(
    '100 % of 320 requests to market.insights waited longer than 32ms for the head within 1m, and 0 % of 2000 at the primary',
  )
  expect(words(clients(8, { failed: 10 }), [primary({ responded: 500 })])).toBe(
    `${failing} 0 % of 500 at the primary earlier, which has too few requests now`,
  )
  expect(words(clients(8, { failed: 10 }))).toBe(`${failing} the primary had too few requests to compare`)
})
