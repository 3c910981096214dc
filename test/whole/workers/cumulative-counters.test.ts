import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { GatewayError } from '../../../src/core/exchange/failures/errors.ts'
import { RequestMetrics } from '../../../src/core/log/metrics/request-metrics.ts'
import { RecentErrors } from '../../../src/core/log/recent-errors.ts'
import { Overrides } from '../../../src/core/runtime/overrides.ts'
import { createDataPlane } from '../../../src/core/runtime/snapshot/data-plane.ts'
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
import { comparedResponse } from '../../features/candidate/observe/compare/response.ts'
import { testConfig } from '../../helpers/gateway.ts'

const endpoints = ['http://127.0.0.1:1']
const config = testConfig({
  upstream: { endpoints },
  upstreams: { market: { endpoints, candidate: { endpoints, shadow: { sample: '1%' } } } },
  limits: { address: { rate: '1/s' } },
  operations: { 'market.insights': { cache: {} }, 'valuation.score': { idempotency: true } },
})
const plane = await createDataPlane({ config, overrides: new Overrides(), sandboxOrigin: null }, { logEvent: () => {} })
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

const nothingInFlight = reportWith(new Map())
const { market } = none.upstreams
const withMarket = (changed: Partial<typeof market>): StatusReport => ({
  ...none,
  upstreams: { ...none.upstreams, market: { ...market, ...changed } },
})

/** Opens the totals of a gateway; workers report to them one after another. */
const openCounters = () => {
  const counters = new CumulativeCounters<object>()
  const update = (worker: object, report: StatusReport): void => counters.update(worker, { report, droppedLines: 0 })
  return {
    counters,
    update,
    /** Has a worker report, and shows a counter of all. */
    show(worker: object, report: StatusReport, name: string): number | undefined {
      update(worker, report)
      return collectCounters(counters.mergeInto(report, none)).get(name)
    },
  }
}

test('all counters are found, and put back where they were', () => {
  expect(names).toEqual(
    expect.arrayContaining([
      'upstreams.market.endpoints.http://127.0.0.1:1.ejections',
      'upstreams.market.candidate.endpoints.http://127.0.0.1:1.ejections',
      'upstreams.market.candidate.shadow.sent',
      'cache.operations.market.insights.hit',
      'limits.rate.evictions',
      'idempotency.memory.rejected',
      'runtimes.gateway.cpuSeconds.user',
    ]),
  )
  expect(withCounters(idleReport, collectCounters(idleReport))).toEqual(idleReport)

  const numbered = withCounters(idleReport, new Map(names.map((name, i) => [name, i])))

  expect([...collectCounters(numbered).values()]).toEqual(names.map((_, i) => i))
})

test('what workers count adds up, also of workers that have ended or do not reply, and never goes back', () => {
  const step = fc.tuple(fc.nat({ max: 2 }), fc.constantFrom('serve', 'reply', 'die'), fc.nat())
  const counted = names.filter((each) => !each.startsWith('runtimes'))
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
      const counters = new CumulativeCounters<object>()
      const start = () => ({ counts: new Map<string, number>(), unreported: 0, reported: 0 })
      const workers = [start(), start(), start()]
      let reported = 0
      for (const [number, what, nth] of steps) {
        const worker = workers[number] as (typeof workers)[number]
        const name = counted[nth % counted.length] as string
        if (what === 'serve') {
          worker.counts.set(name, (worker.counts.get(name) ?? 0) + 1)
          worker.unreported++
        } else if (what === 'reply') {
          reported += worker.unreported
          worker.reported += worker.unreported
          worker.unreported = 0
          counters.update(worker, { report: reportWith(worker.counts), droppedLines: worker.reported })
        } else {
          counters.retire(worker)
          workers[number] = start()
        }
        const merged = mergeReports(none, what === 'reply' ? [reportWith(worker.counts)] : [])

        expect([total(counters.mergeInto(merged, none)), counters.droppedLines]).toEqual([reported, reported])
      }
    }),
    { numRuns: 30 },
  )
})

const servedBytes = (bytesOut: number): RequestMetrics => {
  const requestMetrics = new RequestMetrics()
  requestMetrics.observer(false).record(exchangeRecord({ bytesOut }))
  return requestMetrics
}

test('the request metrics of a worker that has ended stay, but its requests in flight do not', () => {
  const { counters, update } = openCounters()
  const [one, two] = [{}, {}]
  const requestMetrics = servedBytes(7)
  requestMetrics.operations['market.insights'].inFlight = 3
  for (const worker of [one, two]) update(worker, reportWith(new Map(), requestMetrics))

  counters.retire(one)

  const { requestMetrics: merged } = counters.mergeInto(nothingInFlight, none)
  expect(merged?.operations['market.insights']).toMatchObject({ bytesOut: 14, inFlight: 3 })
})

test('the last errors of a worker that has ended, or does not reply, stay beside their total', () => {
  const { counters, update } = openCounters()
  const failing = (requestId: string): StatusReport => {
    const errors = new RecentErrors()
    errors.record(exchangeRecord({ requestId, failure: new GatewayError('internal') }))
    return { ...none, recentErrors: errors.report }
  }
  const ended = {}
  update(ended, failing('of-ended'))
  update({}, failing('of-hung'))
  update({}, failing('of-serving'))

  counters.retire(ended)

  const { last, total } = counters.mergeInto(mergeReports(none, [failing('of-serving')]), none).recentErrors
  expect([last.map(({ requestId }) => requestId).toSorted(), total]).toEqual([['of-ended', 'of-hung', 'of-serving'], 3])
})

test('metrics from before they were turned off are there when they are on again, whether the worker has ended or not', () => {
  const { counters, update } = openCounters()
  const worker = {}
  update(worker, reportWith(new Map(), servedBytes(7)))
  const bytesOut = () =>
    counters.mergeInto(nothingInFlight, none).requestMetrics?.operations['market.insights'].bytesOut

  update(worker, { ...none, requestMetrics: null })
  const before = bytesOut()
  counters.retire(worker)

  expect([before, bytesOut()]).toEqual([7, 7])
})

test('the CPU time of a worker that hung before it ended stays, and that of the workers before it', () => {
  const { counters, update, show } = openCounters()
  const used = (user: number): StatusReport => ({
    ...none,
    runtimes: idleReport.runtimes.map((each) => ({ ...each, process: 'worker-1', cpuSeconds: { user, system: 0 } })),
  })
  const [first, second, third, other] = [{}, {}, {}, {}]
  const name = 'runtimes.worker-1.cpuSeconds.user'

  show(first, used(100), name)
  counters.retire(first)
  const before = show(second, used(10), name)
  counters.mergeInto(none, none) // it hangs
  update(other, none)
  counters.retire(other)
  counters.retire(second)

  expect([before, show(third, used(1), name)]).toEqual([110, 111])
})

describe('the counters of an endpoint that an edit', () => {
  const name = 'upstreams.market.endpoints.http://127.0.0.1:1.requests'
  const requests = (count: number): StatusReport => reportWith(new Map([[name, count]]))
  const without = withMarket({ endpoints: [] })

  test.each([
    ['opens anew go on from where they were', [7, 0, 3, 5], [107, 107, 110, 112]],
    ['takes out, and another brings back, begin at 0', [7, null, 3], [107, undefined, 3]],
  ])('%s', (_, counts, shown) => {
    const { counters, update, show } = openCounters()
    const [ended, serving] = [{}, {}]
    update(ended, requests(100))
    counters.retire(ended)

    expect(counts.map((count) => show(serving, count === null ? without : requests(count), name))).toEqual(shown)
  })

  test('takes out, and another brings back before all workers have reported, go on', () => {
    const { show } = openCounters()
    const [prompt, slow] = [{}, {}]

    const before = [show(slow, requests(7), name), show(prompt, requests(50), name)]
    const after = [show(prompt, without, name), show(prompt, requests(3), name), show(slow, requests(2), name)]

    expect([before, after]).toEqual([
      [7, 57],
      [undefined, 60, 62],
    ])
  })
})

describe('the counters that an edit takes out of the report, and another brings back,', () => {
  const { candidate } = market
  const withShadow = (shadow: NonNullable<typeof candidate>['shadow']): StatusReport =>
    withMarket({ candidate: candidate && { ...candidate, shadow } })
  const copies = (sent: number) => withShadow(candidate?.shadow ? { ...candidate.shadow, sent } : null)

  const withRedis = (redis: NonNullable<StatusReport['cache']>['redis']): StatusReport => ({
    ...none,
    cache: none.cache && { ...none.cache, redis },
  })
  const redis = { state: 'shared', since: 0, reason: null, where: null, server: 'redis://127.0.0.1' } as const
  const found = (count: number) => withRedis({ ...redis, found: count, rejected: 0, dropped: 0 })

  test.each([
    ['copies go on', 'upstreams.market.candidate.shadow.sent', copies, withShadow(null), 9, 109],
    ['a Redis of the cache, which begin at 0, add up', 'cache.redis.found', found, withRedis(null), 3, 110],
  ] as const)('of %s, also those of workers that have ended', (_, name, report, off, back, shown) => {
    const { counters, show } = openCounters()
    const [ended, endedMeanwhile, serving] = [{}, {}, {}]
    show(ended, report(60), name)
    counters.retire(ended)
    show(endedMeanwhile, report(40), name)
    const before = show(serving, report(7), name)

    const meanwhile = [endedMeanwhile, serving, serving].map((worker) => show(worker, off, name))
    counters.retire(endedMeanwhile)

    expect([before, ...meanwhile]).toEqual([107, undefined, undefined, undefined])
    expect(show(serving, report(back), name)).toBe(shown)
  })
})

test('a counter that no report has any more is not kept for ever', () => {
  const { counters, update } = openCounters()
  const elsewhere = (url: string, more: object = {}) =>
    withMarket({ endpoints: market.endpoints.map((each) => ({ ...each, url, ...more })) })
  for (let n = 0; n < 50; n++) {
    const worker = {}
    update(worker, elsewhere(`http://${n}`, { requests: 1 }))
    counters.mergeInto(none, none)
    counters.retire(worker)
  }

  const withTotals = counters.mergeInto(elsewhere('http://7'), none)

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

/** Reports with so many pairs of responses, compared in the way with that digest. */
const comparison = {
  about: 'a comparison',
  report(digest: string, times: number): StatusReport {
    const rules = { fields: [], ignore: [], numbers: null, arrays: {} }
    const counts = createComparisonCounts(digest, { ...rules, maxBody: 1024, noise: false, examples: false }, 'key')
    const same = { ...comparedResponse('{}'), headMs: 10 }
    for (let n = 0; n < times; n++) counts.onPair(same, same, { operation: 'market.insights', requestId: 'r-1' })
    return withMarket({ candidate: market.candidate && { ...market.candidate, comparison: counts.report } })
  },
  countOf: ({ upstreams }: StatusReport): number => upstreams.market.candidate?.comparison?.totals[0]?.compared ?? 0,
}

// What workers know of the contract or comparison with the digest a or b, so many times, and what is shown of it.
describe.each([contract, comparison])('what workers know of $about', ({ report, countOf }) => {
  test.each([
    ['stays when they end, until it is another one', 'one 3a, one ends, two 4a, shown 7a, two 1b, shown 1b'],
    ['is not lost when one ends that last knew of the one before', 'two 4a, one 10b, one ends, two ends, shown 10b'],
    [
      'begins anew when the one before is back',
      'one 7a, one ends, two 5a, six 1b, shown 1b, six 2a, two ends, shown 2a',
    ],
  ])('%s', (_, steps) => {
    const { counters, update } = openCounters()
    const workers: Record<string, object> = {}
    for (const step of steps.split(', ')) {
      const [name = '', what = ''] = step.split(' ')
      const [times, digest] = [Number.parseInt(what, 10), what.slice(-1)]
      workers[name] ??= {}
      const primary = report(digest, 0)
      if (name === 'shown') expect(countOf(counters.mergeInto(mergeReports(primary, []), primary))).toBe(times)
      else if (what === 'ends') counters.retire(workers[name])
      else update(workers[name], report(digest, times))
    }
  })
})
