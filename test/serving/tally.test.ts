import fc from 'fast-check'
import { expect, test } from 'vitest'
import { Meter } from '../../src/observe/metrics/meter.ts'
import { Tally } from '../../src/serving/tally.ts'
import { type Counts, countsOf, withCounts } from '../../src/snapshot/counts.ts'
import { mergeReports } from '../../src/snapshot/merge.ts'
import { Overrides } from '../../src/snapshot/overrides.ts'
import { Plane } from '../../src/snapshot/plane.ts'
import { type Report, reportOn } from '../../src/snapshot/report.ts'
import { testConfig } from '../helpers/gateway.ts'
import { exchanged } from '../observe/exchanged.ts'

const config = testConfig({
  upstream: 'http://127.0.0.1:1',
  limits: { address: { rate: '1/s' } },
  operations: { 'market.insights': { cache: {} } },
})
const plane = new Plane({ config, said: new Overrides(), sandboxOrigin: null }, { tell: () => {} })
const quiet: Report = reportOn(plane.live)
await plane.close(0)

/** Names all that a report counts. */
const names = [...countsOf(quiet).keys()]

const none: Report = withCounts({ ...quiet, runtimes: [] }, new Map(names.map((name) => [name, 0])))
const counting = (counts: Counts, meter = new Meter()): Report => ({ ...withCounts(none, counts), meter: meter.report })

const all = (report: Report): number => [...countsOf(report).values()].reduce((sum, count) => sum + count, 0)

test('all that is counted is found, and put back where it was', () => {
  expect(names).toContain('market http://127.0.0.1:1 ejections')
  expect(names).toContain('cache market.insights hit')
  expect(names).toContain('rate evictions')
  expect(names).toContain('gateway user')
  expect(withCounts(quiet, countsOf(quiet))).toEqual(quiet)

  const numbered = withCounts(quiet, new Map(names.map((name, i) => [name, i])))

  expect([...countsOf(numbered).values()]).toEqual(names.map((_, i) => i))
})

test('what workers count adds up, those among them that are gone or do not answer, and never goes back', () => {
  const step = fc.record({
    worker: fc.nat({ max: 2 }),
    what: fc.constantFrom('serve', 'answer', 'die'),
    name: fc.nat(),
  })
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
      const tally = new Tally<object>()
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
          tally.note(worker, { report: counting(worker.counts), droppedLines: sum(worker.counts) })
        }
        if (what === 'die') {
          tally.ended(worker)
          workers[number] = start()
        }
        const merged = mergeReports(none, what === 'answer' ? [counting(worker.counts)] : [])

        const told = tally.inAll(merged, none)

        expect(all(told)).toBe(said)
        expect(tally.droppedLines).toBe(said)
        expect(all(told)).toBeGreaterThanOrEqual(before)
        before = all(told)
      }
    }),
  )
})

const sum = (counts: Counts): number => [...counts.values()].reduce((total, count) => total + count, 0)

test('what the meter of one that is gone has counted stays, but nothing of its is in flight', () => {
  const tally = new Tally<object>()
  const [one, two] = [{}, {}]
  const meter = new Meter()
  meter.operations['market.insights'].inFlight = 3
  meter.recorder(false).record(exchanged({ bytesOut: 7 }))
  tally.note(one, { report: counting(new Map(), meter), droppedLines: 0 })
  tally.note(two, { report: counting(new Map(), meter), droppedLines: 0 })

  tally.ended(one)

  const told = tally.inAll(counting(new Map()), none).meter?.operations['market.insights']
  expect([told?.bytesOut, told?.inFlight]).toEqual([14, 3])
})

test('what was counted before counting was turned off is there when it is on again, the worker gone or not', () => {
  const tally = new Tally<object>()
  const worker = {}
  const meter = new Meter()
  meter.recorder(false).record(exchanged({ bytesOut: 7 }))
  tally.note(worker, { report: counting(new Map(), meter), droppedLines: 0 })
  const told = () => tally.inAll(counting(new Map()), none).meter?.operations['market.insights'].bytesOut

  tally.note(worker, { report: { ...none, meter: null }, droppedLines: 0 })
  const before = told()
  tally.ended(worker)

  expect([before, told()]).toEqual([7, 7])
})

test('what one has used that hung before it was ended stays, and what those had used before it', () => {
  const tally = new Tally<object>()
  const used = (user: number): Report => ({
    ...none,
    runtimes: quiet.runtimes.map((each) => ({
      ...each,
      process: 'worker-1',
      cpuSeconds: { user, system: 0 },
    })),
  })
  const [first, second, third, other] = [{}, {}, {}, {}]
  const told = (report: Report): number | undefined => tally.inAll(report, none).runtimes[0]?.cpuSeconds.user

  tally.note(first, { report: used(100), droppedLines: 0 })
  told(used(100))
  tally.ended(first)
  tally.note(second, { report: used(10), droppedLines: 0 })
  expect(told(used(10))).toBe(110)
  told(none) // it hangs
  tally.note(other, { report: none, droppedLines: 0 })
  tally.ended(other)
  tally.ended(second)
  tally.note(third, { report: used(1), droppedLines: 0 })

  expect(told(used(1))).toBe(111)
})

test('what is in no report any more is not kept for ever', () => {
  const tally = new Tally<object>()
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
    tally.note(worker, { report: { ...none, upstreams: { ...none.upstreams, market: gone } }, droppedLines: 0 })
    tally.inAll(none, none)
    tally.ended(worker)
  }

  const back = {
    ...none.upstreams.market,
    endpoints: none.upstreams.market.endpoints.map((each) => ({ ...each, url: 'http://7' })),
  }
  const told = tally.inAll({ ...none, upstreams: { ...none.upstreams, market: back } }, none)

  expect(told.upstreams.market.endpoints[0]?.counts.requests).toBe(0)
})
