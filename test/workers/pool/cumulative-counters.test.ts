import fc from 'fast-check'
import { expect, test } from 'vitest'
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
  limits: { address: { rate: '1/s' } },
  operations: { 'market.insights': { cache: {} } },
})
const plane = new DataPlane({ config, overrides: new Overrides(), sandboxOrigin: null }, { logEvent: () => {} })
const quiet: StatusReport = collectReport(plane.currentSnapshot)
await plane.close(0)

/** Names all that a report counts. */
const names = [...collectCounters(quiet).keys()]

const none: StatusReport = withCounters({ ...quiet, runtimes: [] }, new Map(names.map((name) => [name, 0])))
const counting = (counts: ReportCounters, meter = new RequestMetrics()): StatusReport => ({
  ...withCounters(none, counts),
  requestMetrics: meter.report,
})

const all = (report: StatusReport): number =>
  [...collectCounters(report).values()].reduce((sum, count) => sum + count, 0)

test('all that is counted is found, and put back where it was', () => {
  expect(names).toContain('market http://127.0.0.1:1 ejections')
  expect(names).toContain('cache market.insights hit')
  expect(names).toContain('rate evictions')
  expect(names).toContain('gateway user')
  expect(withCounters(quiet, collectCounters(quiet))).toEqual(quiet)

  const numbered = withCounters(quiet, new Map(names.map((name, i) => [name, i])))

  expect([...collectCounters(numbered).values()]).toEqual(names.map((_, i) => i))
})

test('what workers count adds up, those among them that are gone or do not answer, and never goes back', () => {
  const step = fc.record({
    worker: fc.nat({ max: 2 }),
    what: fc.constantFrom('serve', 'answer', 'die'),
    name: fc.nat(),
  })
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
      const tally = new CumulativeCounters<object>()
      const start = () => ({ counts: new Map<string, number>(), said: new Map<string, number>() })
      const workers = [start(), start(), start()]
      let said = 0
      let before = 0
      for (const { worker: number, what, name } of steps) {
        const worker = workers[number] as (typeof workers)[number]
        const counted = names.filter((each) => !each.startsWith('gateway'))[name % (names.length - 4)] as string
        if (what === 'serve') worker.counts.set(counted, (worker.counts.get(counted) ?? 0) + 1)
        if (what === 'answer') {
          said += sum(worker.counts) - sum(worker.said)
          worker.said = new Map(worker.counts)
          tally.update(worker, { report: counting(worker.counts), droppedLines: sum(worker.counts) })
        }
        if (what === 'die') {
          tally.retire(worker)
          workers[number] = start()
        }
        const merged = mergeReports(none, what === 'answer' ? [counting(worker.counts)] : [])

        const told = tally.mergeInto(merged, none)

        expect(all(told)).toBe(said)
        expect(tally.droppedLines).toBe(said)
        expect(all(told)).toBeGreaterThanOrEqual(before)
        before = all(told)
      }
    }),
  )
})

const sum = (counts: ReportCounters): number => [...counts.values()].reduce((total, count) => total + count, 0)

test('what the meter of one that is gone has counted stays, but nothing of its is in flight', () => {
  const tally = new CumulativeCounters<object>()
  const [one, two] = [{}, {}]
  const meter = new RequestMetrics()
  meter.operations['market.insights'].inFlight = 3
  meter.observer(false).record(exchangeRecord({ bytesOut: 7 }))
  tally.update(one, { report: counting(new Map(), meter), droppedLines: 0 })
  tally.update(two, { report: counting(new Map(), meter), droppedLines: 0 })

  tally.retire(one)

  const told = tally.mergeInto(counting(new Map()), none).requestMetrics?.operations['market.insights']
  expect([told?.bytesOut, told?.inFlight]).toEqual([14, 3])
})

test('what was counted before counting was turned off is there when it is on again, the worker gone or not', () => {
  const tally = new CumulativeCounters<object>()
  const worker = {}
  const meter = new RequestMetrics()
  meter.observer(false).record(exchangeRecord({ bytesOut: 7 }))
  tally.update(worker, { report: counting(new Map(), meter), droppedLines: 0 })
  const told = () => tally.mergeInto(counting(new Map()), none).requestMetrics?.operations['market.insights'].bytesOut

  tally.update(worker, { report: { ...none, requestMetrics: null }, droppedLines: 0 })
  const before = told()
  tally.retire(worker)

  expect([before, told()]).toEqual([7, 7])
})

test('what one has used that hung before it was ended stays, and what those had used before it', () => {
  const tally = new CumulativeCounters<object>()
  const used = (user: number): StatusReport => ({
    ...none,
    runtimes: quiet.runtimes.map((each) => ({
      ...each,
      process: 'worker-1',
      cpuSeconds: { user, system: 0 },
    })),
  })
  const [first, second, third, other] = [{}, {}, {}, {}]
  const told = (report: StatusReport): number | undefined => tally.mergeInto(report, none).runtimes[0]?.cpuSeconds.user

  tally.update(first, { report: used(100), droppedLines: 0 })
  told(used(100))
  tally.retire(first)
  tally.update(second, { report: used(10), droppedLines: 0 })
  expect(told(used(10))).toBe(110)
  told(none) // it hangs
  tally.update(other, { report: none, droppedLines: 0 })
  tally.retire(other)
  tally.retire(second)
  tally.update(third, { report: used(1), droppedLines: 0 })

  expect(told(used(1))).toBe(111)
})

test('what is in no report any more is not kept for ever', () => {
  const tally = new CumulativeCounters<object>()
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
    tally.update(worker, { report: { ...none, upstreams: { ...none.upstreams, market: gone } }, droppedLines: 0 })
    tally.mergeInto(none, none)
    tally.retire(worker)
  }

  const back = {
    ...none.upstreams.market,
    endpoints: none.upstreams.market.endpoints.map((each) => ({ ...each, url: 'http://7' })),
  }
  const told = tally.mergeInto({ ...none, upstreams: { ...none.upstreams, market: back } }, none)

  expect(told.upstreams.market.endpoints[0]?.counts.requests).toBe(0)
})
