import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { GatewayError } from '../../../src/core/exchange/failures/errors.ts'
import { maxRequests, RecentRequests, watchMs } from '../../../src/features/tail/runtime.ts'
import { exchangeRecord } from '../../core/log/exchange-record.ts'

// One clock for all tests: timers of one duration share a timer of Node's, which would be lost with the clock.
beforeAll(() => void vi.useFakeTimers())
afterAll(() => void vi.useRealTimers())

const record = (requests: RecentRequests, ...ids: readonly string[]): void => {
  for (const requestId of ids) requests.record(exchangeRecord({ requestId }))
}

const idsOf = ({ last }: ReturnType<RecentRequests['watch']>): readonly string[] => last.map((each) => each.requestId)

test('requests are kept only while an operator watches, also for a second operator', () => {
  const requests = new RecentRequests()
  record(requests, 'before')
  expect(requests.watch()).toEqual({ last: [], total: 0 })

  record(requests, 'a', 'b')

  expect(idsOf(requests.watch())).toEqual(['a', 'b'])
  expect(idsOf(requests.watch())).toEqual(['a', 'b'])
  expect(requests.watch().total).toBe(2)
})

test('collecting ends ten seconds after the last call, and frees the requests', () => {
  const requests = new RecentRequests()
  requests.watch()
  vi.advanceTimersByTime(watchMs - 100)
  requests.watch()
  vi.advanceTimersByTime(watchMs - 100)
  record(requests, 'kept')
  expect(idsOf(requests.watch())).toEqual(['kept'])

  vi.advanceTimersByTime(2 * watchMs)
  record(requests, 'unwatched')

  expect(requests.watch()).toEqual({ last: [], total: 1 })
})

test('the last 1,000 requests of a flood are kept, and all are counted', () => {
  const requests = new RecentRequests()
  requests.watch()

  record(requests, ...Array.from({ length: maxRequests + 5 }, (_, n) => `r${n}`))

  const { last, total } = requests.watch()
  expect([last.length, last[0]?.requestId, total]).toEqual([maxRequests, 'r5', maxRequests + 5])
})

test('close() frees the requests and stops the timer', () => {
  vi.advanceTimersByTime(watchMs) // of the others
  const requests = new RecentRequests()
  requests.watch()
  record(requests, 'r1')

  requests.close()

  expect([vi.getTimerCount(), requests.watch().last]).toEqual([0, []])
})

test('an entry says what became of the request, and holds none of the objects that it came from', () => {
  const requests = new RecentRequests()
  requests.watch()
  requests.record(exchangeRecord({ cache: 'hit', endpoint: null }))
  requests.record(exchangeRecord({ status: 502, failure: new GatewayError('connect-failed', { reason: 'refused' }) }))

  const { last } = requests.watch()

  const cached = { status: 200, operation: 'market.insights', outcome: { source: 'cache', outcome: 'hit' } }
  expect(last).toMatchObject([
    { ...cached, endpoint: null, totalMs: 12, error: null },
    { status: 502, outcome: null, error: { kind: 'connect-failed', reason: 'refused' } },
  ])
  expect(JSON.parse(JSON.stringify(last))).toEqual(last)
})
