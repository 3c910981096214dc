import { afterEach, beforeEach, expect, onTestFinished, test, vi } from 'vitest'
import { GatewayError } from '../../../src/core/exchange/failures/errors.ts'
import { RequestMetrics } from '../../../src/core/log/metrics/request-metrics.ts'
import { createRateHistory } from '../../../src/features/overview/rate-history.ts'
import { exchangeRecord } from '../../core/log/exchange-record.ts'

beforeEach(() => vi.useFakeTimers())
afterEach(() => vi.useRealTimers())

const id = 'market.insights'

const openHistory = async () => {
  const metrics = new RequestMetrics()
  const observer = metrics.observer(false)
  const history = createRateHistory(async () => metrics.report)
  onTestFinished(() => history.close())
  await history.start()
  const serve = (count: number, more: Parameters<typeof exchangeRecord>[0] = {}): void => {
    for (let i = 0; i < count; i++) observer.record(exchangeRecord(more))
  }
  return { metrics, history, serve, rates: () => history.rates(id, metrics.report) }
}

test('rates are those of the last ten seconds, latencies those of the last minute', async () => {
  const { serve, rates } = await openHistory()

  serve(30, { totalMs: 40 })
  await vi.advanceTimersByTimeAsync(30_000)
  serve(20, { totalMs: 2 })
  serve(5, { status: 502, failure: new GatewayError('connect-failed') })
  serve(10, { status: 429, failure: new GatewayError('rate-limited') })
  await vi.advanceTimersByTimeAsync(10_000)

  expect(rates()).toMatchObject({ perSecond: 3.5, errorsPerSecond: 0.5, rejectedPerSecond: 1 })
  expect(rates()?.p99Ms).toBeGreaterThan(30)
  await vi.advanceTimersByTimeAsync(120_000)
  const none = { p50Ms: null, p99Ms: null }
  const outcomes = { served: none, failed: none, rejected: none }
  expect(rates()).toEqual({ perSecond: 0, errorsPerSecond: 0, rejectedPerSecond: 0, ...none, outcomes })
})

test('latencies are separate by outcome, so late failures do not hide those of served requests', async () => {
  const { serve, rates } = await openHistory()

  serve(50, { totalMs: 4 })
  serve(5, { totalMs: 2000, status: 502, failure: new GatewayError('connect-failed') })
  serve(5, { totalMs: 900, status: 503 })
  serve(20, { totalMs: 0.4, status: 429, failure: new GatewayError('rate-limited') })
  await vi.advanceTimersByTimeAsync(10_000)

  const { served, failed, rejected } = rates()?.outcomes ?? {}
  expect(rates()?.p99Ms).toBeGreaterThan(1500)
  expect([served?.p50Ms, served?.p99Ms].every((ms) => Math.abs((ms ?? 0) - 4) <= 1)).toBe(true)
  expect(failed?.p50Ms).toBeGreaterThan(700)
  expect(rejected?.p99Ms).toBeLessThan(1)
})

test('what is older than a minute keeps its step, and latencies are still those of the last minute', async () => {
  const { serve, rates, history } = await openHistory()

  serve(10, { totalMs: 2000 })
  await vi.advanceTimersByTimeAsync(300_000)
  serve(10, { totalMs: 4 })
  await vi.advanceTimersByTimeAsync(30_000)

  expect(history.steps(id)).toHaveLength(66)
  expect(history.steps(id)[0]?.perSecond).toBe(2)
  expect(rates()?.p99Ms).toBeLessThan(10)
})

test('an error of an upstream is an error, a 4xx of its own is nothing, and what matches no operation has its own rate', async () => {
  const { serve, rates, history, metrics } = await openHistory()

  serve(10, { status: 503 })
  serve(10, { status: 404 })
  serve(20, { operation: null, status: 404, failure: new GatewayError('not-found') })
  await vi.advanceTimersByTimeAsync(10_000)

  expect(rates()).toMatchObject({ perSecond: 2, errorsPerSecond: 1, rejectedPerSecond: 0 })
  expect(history.rates('none', metrics.report)?.perSecond).toBe(2)
})

test('errors that an upstream sent are counted over a minute, not those of the gateway, the cache or a replay', async () => {
  const { metrics, history, serve } = await openHistory()
  const recent = () => history.recent(id, metrics.report)

  serve(3, { status: 503 })
  for (const cache of ['miss', 'bypass'] as const) serve(1, { status: 503, cache })
  for (const cache of ['hit', 'stale', 'revalidated', 'collapsed'] as const) serve(1, { status: 503, cache })
  serve(1, { status: 200, cache: 'hit' })
  serve(2, { status: 500, idempotency: { outcome: 'replayed', firstRequestId: null } })
  serve(5, { status: 502, failure: new GatewayError('connect-failed') })
  await vi.advanceTimersByTimeAsync(30_000)

  expect(recent()).toEqual({ requests: 17, passedOn: 5, storedErrors: 6 })
  await vi.advanceTimersByTimeAsync(90_000)
  expect(recent()).toEqual({ requests: 0, passedOn: 0, storedErrors: 0 })
})

test('the history has fifteen minutes in steps of five seconds', async () => {
  const { history, serve } = await openHistory()

  serve(5)
  await vi.advanceTimersByTimeAsync(15_000)
  expect(history.steps(id).map(({ perSecond }) => perSecond)).toEqual([1, 0, 0])
  await vi.advanceTimersByTimeAsync(3_600_000)

  expect(history.steps(id)).toHaveLength(180)
})

test('without metrics the history is empty, and earlier samples are forgotten', async () => {
  const metrics = new RequestMetrics()
  let isCounted = true
  const history = createRateHistory(async () => (isCounted ? metrics.report : null))
  onTestFinished(() => history.close())
  await history.start()
  isCounted = false
  await vi.advanceTimersByTimeAsync(5000)

  expect([history.rates(id, metrics.report), history.steps(id)]).toEqual([null, []])
})

test('close() leaves no timer behind, even during a sample', async () => {
  const reading = Promise.withResolvers<null>()
  const history = createRateHistory(() => reading.promise)
  const started = history.start()
  history.close()
  reading.resolve(null)
  await started

  expect(vi.getTimerCount()).toBe(0)
})

test('steps are as long as they are drawn, however long it takes to count', async () => {
  const metrics = new RequestMetrics()
  const history = createRateHistory(async () => {
    await new Promise((resolve) => setTimeout(resolve, 900))
    return metrics.report
  })
  onTestFinished(() => history.close())

  void history.start()
  await vi.advanceTimersByTimeAsync(100_900)

  expect(history.steps(id)).toHaveLength(20)
})
