import fc from 'fast-check'
import { expect, test } from 'vitest'
import { DriftCounts } from '../../../src/observe/contract/drift-counts.ts'
import { RequestMetrics } from '../../../src/observe/metrics/request-metrics.ts'
import { Overrides } from '../../../src/runtime/overrides.ts'
import { mergeReports } from '../../../src/runtime/report/merge-reports.ts'
import { collectCounters, type ReportCounters, withCounters } from '../../../src/runtime/report/report-counters.ts'
import { collectReport, type StatusReport } from '../../../src/runtime/report/status-report.ts'
import { DataPlane } from '../../../src/runtime/snapshot/data-plane.ts'
import { CumulativeCounters } from '../../../src/workers/pool/cumulative-counters.ts'
import { testConfig } from '../../helpers/gateway.ts'
import { exchangeRecord } from '../../observe/exchange-record.ts'

const config = testConfig({
  upstream: 'http://127.0.0.1:1',
  upstreams: { market: { endpoints: ['http://127.0.0.1:1'], candidate: 'http://127.0.0.1:1' } },
  limits: { address: { rate: '1/s' } },
  operations: { 'market.insights': { cache: {} } },
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
  expect(names).toContain('market http://127.0.0.1:1 ejections')
  expect(names).toContain('market candidate http://127.0.0.1:1 ejections')
  expect(names).toContain('cache market.insights hit')
  expect(names).toContain('rate evictions')
  expect(names).toContain('gateway user')
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
        const counted = names.filter((each) => !each.startsWith('gateway'))[name % (names.length - 4)] as string
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

test('a counter that no report has any more is not kept for ever', () => {
  const counters = new CumulativeCounters<object>()
  for (let n = 0; n < 50; n++) {
    const worker = {}
    const gone = {
      ...none.upstreams.market,
      endpoints: none.upstreams.market.endpoints.map((each) => ({
        ...each,
        url: `http://${n}`,
        counts: { ...each.counts, requests: 1 },
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

  expect(withTotals.upstreams.market.endpoints[0]?.counts.requests).toBe(0)
})

test('what a worker that has ended knew of the contract stays, until the contract is another one', () => {
  const counters = new CumulativeCounters<object>()
  const driftOf = (digest: string): StatusReport => {
    const counts = new DriftCounts(digest)
    counts.countKept('market.insights', 'request', null)
    return { ...none, drift: counts.report }
  }
  const [one, two] = [{}, {}]
  counters.update(one, { report: driftOf('a'), droppedLines: 0 })
  counters.retire(one)
  counters.update(two, { report: driftOf('a'), droppedLines: 0 })
  const checkedOf = (digest: string): number | undefined =>
    counters.mergeInto(driftOf(digest), none).drift?.totals[0]?.checked
  const before = checkedOf('a')

  counters.update(two, { report: driftOf('b'), droppedLines: 0 })

  expect([before, checkedOf('b')]).toEqual([2, 1])
})
