import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { GatewayError } from '../../../src/core/exchange/failures/errors.ts'
import { RequestMetrics } from '../../../src/core/log/metrics/request-metrics.ts'
import { RecentErrors } from '../../../src/core/log/recent-errors.ts'
import { Overrides } from '../../../src/core/runtime/overrides.ts'
import { DataPlane } from '../../../src/core/runtime/snapshot/data-plane.ts'
import {
  collectCounters,
  collectReport,
  mergeReports,
  type ReportCounters,
  withCounters,
} from '../../../src/core/runtime/status/report.ts'
import type { StatusReport } from '../../../src/core/runtime/status/status-part.ts'
import { createComparisonCounts } from '../../../src/features/candidate/observe/comparison-counts.ts'
import { createDriftCounts } from '../../../src/features/contract/drift-counts.ts'
import { CumulativeCounters } from '../../../src/features/workers/worker-stats.ts'
import { exchangeRecord } from '../../core/log/exchange-record.ts'
import { answer } from '../../features/candidate/observe/compare/answer.ts'
import { testConfig } from '../../helpers/gateway.ts'

const config = testConfig({
  upstream: 'http://127.0.0.1:1',
  upstreams: {
    market: {
      endpoints: ['http://127.0.0.1:1'],
      candidate: { endpoints: ['http://127.0.0.1:1'], shadow: { sample: '1%' } },
    },
  },
  limits: { address: { rate: '1/s' } },
  operations: { 'market.insights': { cache: {} }, 'valuation.score': { idempotency: true } },
})
const plane = new DataPlane({ config, overrides: new Overrides(), sandboxOrigin: null }, { logEvent: () => {} })
const idleReport: StatusReport = collectReport(plane.currentSnapshot)
await plane.close(0)

/** The names of all counters of a report. */
const names = [...collectCounters(idleReport).keys()]

const none: StatusReport = withCounters({ ...idleReport, runtimes: [] }, new Map(names.map((name) => [name, 0])))
const reportWith = (counts: ReportCounters, requestMetrics = new RequestMetrics()): StatusReport => ({
  ...withCounters(none, counts),
  requestMetrics: requestMetrics.report,
})

const total = (report: StatusReport): number =>
  [...collectCounters(report).values()].reduce((sum, count) => sum + count, 0)

test('all counters are found, and put back where they were', () => {
  expect(names).toContain('upstreams.market.endpoints.http://127.0.0.1:1.ejections')
  expect(names).toContain('upstreams.market.candidate.endpoints.http://127.0.0.1:1.ejections')
  expect(names).toContain('upstreams.market.candidate.shadow.sent')
  expect(names).toContain('cache.operations.market.insights.hit')
  expect(names).toContain('limits.rate.evictions')
  expect(names).toContain('idempotency.memory.refused')
  expect(names).toContain('runtimes.gateway.cpuSeconds.user')
  expect(withCounters(idleReport, collectCounters(idleReport))).toEqual(idleReport)

  const numbered = withCounters(idleReport, new Map(names.map((name, i) => [name, i])))

  expect([...collectCounters(numbered).values()]).toEqual(names.map((_, i) => i))
})

test('what workers count adds up, also of workers that have ended or do not reply, and never goes back', () => {
  const step = fc.record({
    worker: fc.nat({ max: 2 }),
    what: fc.constantFrom('serve', 'answer', 'die'),
    name: fc.nat(),
  })
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
      const counters = new CumulativeCounters<object>()
      const start = () => ({ counts: new Map<string, number>(), reported: new Map<string, number>() })
      const workers = [start(), start(), start()]
      let reported = 0
      let before = 0
      for (const { worker: number, what, name } of steps) {
        const worker = workers[number] as (typeof workers)[number]
        const counted = names.filter((each) => !each.startsWith('runtimes'))[name % (names.length - 4)] as string
        if (what === 'serve') worker.counts.set(counted, (worker.counts.get(counted) ?? 0) + 1)
        if (what === 'answer') {
          reported += sum(worker.counts) - sum(worker.reported)
          worker.reported = new Map(worker.counts)
          counters.update(worker, { report: reportWith(worker.counts), droppedLines: sum(worker.counts) })
        }
        if (what === 'die') {
          counters.retire(worker)
          workers[number] = start()
        }
        const merged = mergeReports(none, what === 'answer' ? [reportWith(worker.counts)] : [])

        const withTotals = counters.mergeInto(merged, none)

        expect(total(withTotals)).toBe(reported)
        expect(counters.droppedLines).toBe(reported)
        expect(total(withTotals)).toBeGreaterThanOrEqual(before)
        before = total(withTotals)
      }
    }),
    { numRuns: 30 },
  )
})

const sum = (counts: ReportCounters): number => [...counts.values()].reduce((total, count) => total + count, 0)

test('the request metrics of a worker that has ended stay, but its requests in flight do not', () => {
  const counters = new CumulativeCounters<object>()
  const [one, two] = [{}, {}]
  const requestMetrics = new RequestMetrics()
  requestMetrics.operations['market.insights'].inFlight = 3
  requestMetrics.observer(false).record(exchangeRecord({ bytesOut: 7 }))
  counters.update(one, { report: reportWith(new Map(), requestMetrics), droppedLines: 0 })
  counters.update(two, { report: reportWith(new Map(), requestMetrics), droppedLines: 0 })

  counters.retire(one)

  const withTotals = counters.mergeInto(reportWith(new Map()), none).requestMetrics?.operations['market.insights']
  expect([withTotals?.bytesOut, withTotals?.inFlight]).toEqual([14, 3])
})

test('the last errors of a worker that has ended, or does not reply, stay beside their total', () => {
  const counters = new CumulativeCounters<object>()
  const [ended, hung, serving] = [{}, {}, {}]
  const failing = (requestId: string): StatusReport => {
    const errors = new RecentErrors()
    errors.record(exchangeRecord({ requestId, failure: new GatewayError('internal') }))
    return { ...none, recentErrors: errors.report }
  }
  counters.update(ended, { report: failing('of-ended'), droppedLines: 0 })
  counters.update(hung, { report: failing('of-hung'), droppedLines: 0 })
  counters.update(serving, { report: failing('of-serving'), droppedLines: 0 })

  counters.retire(ended)

  const { last, total } = counters.mergeInto(mergeReports(none, [failing('of-serving')]), none).recentErrors
  expect([last.map(({ requestId }) => requestId).toSorted(), total]).toEqual([['of-ended', 'of-hung', 'of-serving'], 3])
})

test('metrics from before they were turned off are there when they are on again, whether the worker has ended or not', () => {
  const counters = new CumulativeCounters<object>()
  const worker = {}
  const requestMetrics = new RequestMetrics()
  requestMetrics.observer(false).record(exchangeRecord({ bytesOut: 7 }))
  counters.update(worker, { report: reportWith(new Map(), requestMetrics), droppedLines: 0 })
  const withTotals = () =>
    counters.mergeInto(reportWith(new Map()), none).requestMetrics?.operations['market.insights'].bytesOut

  counters.update(worker, { report: { ...none, requestMetrics: null }, droppedLines: 0 })
  const before = withTotals()
  counters.retire(worker)

  expect([before, withTotals()]).toEqual([7, 7])
})

test('the CPU time of a worker that hung before it ended stays, and that of the workers before it', () => {
  const counters = new CumulativeCounters<object>()
  const used = (user: number): StatusReport => ({
    ...none,
    runtimes: idleReport.runtimes.map((each) => ({
      ...each,
      process: 'worker-1',
      cpuSeconds: { user, system: 0 },
    })),
  })
  const [first, second, third, other] = [{}, {}, {}, {}]
  const withTotals = (report: StatusReport): number | undefined =>
    counters.mergeInto(report, none).runtimes[0]?.cpuSeconds.user

  counters.update(first, { report: used(100), droppedLines: 0 })
  withTotals(used(100))
  counters.retire(first)
  counters.update(second, { report: used(10), droppedLines: 0 })
  expect(withTotals(used(10))).toBe(110)
  withTotals(none) // it hangs
  counters.update(other, { report: none, droppedLines: 0 })
  counters.retire(other)
  counters.retire(second)
  counters.update(third, { report: used(1), droppedLines: 0 })

  expect(withTotals(used(1))).toBe(111)
})

describe('the counters of an endpoint that an edit', () => {
  const name = 'upstreams.market.endpoints.http://127.0.0.1:1.requests'
  const requests = (count: number): StatusReport => reportWith(new Map([[name, count]]))
  const { market } = none.upstreams
  const without: StatusReport = { ...none, upstreams: { ...none.upstreams, market: { ...market, endpoints: [] } } }

  /** Opens the counters of a worker that has ended, with 100 requests, and of one that serves. */
  const open = () => {
    const counters = new CumulativeCounters<object>()
    const [ended, serving] = [{}, {}]
    counters.update(ended, { report: requests(100), droppedLines: 0 })
    counters.retire(ended)
    return (report: StatusReport): number | undefined => {
      counters.update(serving, { report, droppedLines: 0 })
      return collectCounters(counters.mergeInto(report, none)).get(name)
    }
  }

  test('opens anew go on from where they were', () => {
    const show = open()

    expect([7, 0, 3, 5].map((count) => show(requests(count)))).toEqual([107, 107, 110, 112])
  })

  test('takes out, and another brings back, begin at 0', () => {
    const show = open()

    const shown = [requests(7), without, requests(3)].map(show)

    expect(shown).toEqual([107, undefined, 3])
  })

  test('takes out, and another brings back before all workers have reported, go on', () => {
    const counters = new CumulativeCounters<object>()
    const [prompt, slow] = [{}, {}]
    const show = (worker: object, report: StatusReport): number | undefined => {
      counters.update(worker, { report, droppedLines: 0 })
      return collectCounters(counters.mergeInto(report, none)).get(name)
    }

    const shown = [
      show(slow, requests(7)),
      show(prompt, requests(50)),
      show(prompt, without),
      show(prompt, requests(3)),
      show(slow, requests(2)),
    ]

    expect(shown).toEqual([7, 57, undefined, 60, 62])
  })
})

describe('the counters that an edit takes out of the report, and another brings back,', () => {
  const { market } = none.upstreams
  const { candidate } = market
  const withShadow = (shadow: NonNullable<typeof candidate>['shadow']): StatusReport => ({
    ...none,
    upstreams: { ...none.upstreams, market: { ...market, candidate: candidate && { ...candidate, shadow } } },
  })
  const withRedis = (redis: NonNullable<StatusReport['cache']>['redis']): StatusReport => ({
    ...none,
    cache: none.cache && { ...none.cache, redis },
  })
  const redis = { state: 'shared', since: 0, reason: null, where: null, server: 'redis://127.0.0.1' } as const

  test.each([
    {
      of: 'copies go on',
      name: 'upstreams.market.candidate.shadow.sent',
      report: (sent: number) => withShadow(candidate?.shadow ? { ...candidate.shadow, sent } : null),
      off: withShadow(null),
      back: 9,
      shown: 109,
    },
    {
      of: 'a Redis of the cache, which begin at 0, add up',
      name: 'cache.redis.found',
      report: (found: number) => withRedis({ ...redis, found, refused: 0, dropped: 0 }),
      off: withRedis(null),
      back: 3,
      shown: 110,
    },
  ])('of $of, also those of workers that have ended', ({ name, report, off, back, shown }) => {
    const counters = new CumulativeCounters<object>()
    const [ended, endedMeanwhile, serving] = [{}, {}, {}]
    const show = (worker: object, next: StatusReport): number | undefined => {
      counters.update(worker, { report: next, droppedLines: 0 })
      return collectCounters(counters.mergeInto(next, none)).get(name)
    }
    show(ended, report(60))
    counters.retire(ended)
    show(endedMeanwhile, report(40))
    const before = show(serving, report(7))

    const meanwhile = [show(endedMeanwhile, off), show(serving, off), show(serving, off)]
    counters.retire(endedMeanwhile)

    expect([before, ...meanwhile]).toEqual([107, undefined, undefined, undefined])
    expect(show(serving, report(back))).toBe(shown)
  })
})

test('a counter that no report has any more is not kept for ever', () => {
  const counters = new CumulativeCounters<object>()
  for (let n = 0; n < 50; n++) {
    const worker = {}
    const gone = {
      ...none.upstreams.market,
      endpoints: none.upstreams.market.endpoints.map((each) => ({
        ...each,
        url: `http://${n}`,
        requests: 1,
      })),
    }
    counters.update(worker, { report: { ...none, upstreams: { ...none.upstreams, market: gone } }, droppedLines: 0 })
    counters.mergeInto(none, none)
    counters.retire(worker)
  }

  const back = {
    ...none.upstreams.market,
    endpoints: none.upstreams.market.endpoints.map((each) => ({ ...each, url: 'http://7' })),
  }
  const withTotals = counters.mergeInto({ ...none, upstreams: { ...none.upstreams, market: back } }, none)

  expect(withTotals.upstreams.market.endpoints[0]?.requests).toBe(0)
})

/** Reports with so many counts of the contract with that digest. */
const contract = {
  about: 'the contract',
  report(digest: string, times: number): StatusReport {
    const counts = createDriftCounts(digest)
    for (let n = 0; n < times; n++) counts.countKept('market.insights', 'request', null)
    return { ...none, drift: counts.report }
  },
  countOf: ({ drift }: StatusReport): number => drift?.totals[0]?.checked ?? 0,
}

/** Reports with so many pairs of answers, compared in the way with that digest. */
const comparison = {
  about: 'a comparison',
  report(digest: string, times: number): StatusReport {
    const rules = { fields: [], ignore: [], numbers: null, arrays: {} }
    const counts = createComparisonCounts(digest, { ...rules, maxBody: 1024, noise: false, examples: false }, 'key')
    const same = { ...answer('{}'), headMs: 10 }
    for (let n = 0; n < times; n++) counts.onPair(same, same, { operation: 'market.insights', requestId: 'r-1' })
    const { market } = none.upstreams
    const candidate = market.candidate && { ...market.candidate, comparison: counts.report }
    return { ...none, upstreams: { ...none.upstreams, market: { ...market, candidate } } }
  },
  countOf: ({ upstreams }: StatusReport): number => upstreams.market.candidate?.comparison?.totals[0]?.compared ?? 0,
}

describe.each([contract, comparison])('what workers know of $about', ({ report, countOf }) => {
  const open = () => {
    const counters = new CumulativeCounters<object>()
    const update = (worker: object, digest: string, times: number): void =>
      counters.update(worker, { report: report(digest, times), droppedLines: 0 })
    const shown = (digest: string): number => {
      const primary = report(digest, 0)
      return countOf(counters.mergeInto(mergeReports(primary, []), primary))
    }
    return { counters, update, shown }
  }

  test('stays when they end, until it is another one', () => {
    const { counters, update, shown } = open()
    const [one, two] = [{}, {}]
    update(one, 'a', 3)
    counters.retire(one)
    update(two, 'a', 4)
    const before = shown('a')

    update(two, 'b', 1)

    expect([before, shown('b')]).toEqual([7, 1])
  })

  test('is not lost when another one ends that last knew of the one before', () => {
    const { counters, update, shown } = open()
    const [one, hung] = [{}, {}]
    update(hung, 'a', 4)
    update(one, 'b', 10)

    counters.retire(one)
    counters.retire(hung)

    expect(shown('b')).toBe(10)
  })

  test('begins anew when the one before comes back', () => {
    const { counters, update, shown } = open()
    const [ended, hung, worker] = [{}, {}, {}]
    update(ended, 'a', 7)
    counters.retire(ended)
    update(hung, 'a', 5)
    update(worker, 'b', 1)
    const before = shown('b')

    update(worker, 'a', 2)
    counters.retire(hung)

    expect([before, shown('a')]).toEqual([1, 2])
  })
})
