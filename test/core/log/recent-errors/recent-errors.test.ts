import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { FailedAttempt, GatewayError, reasonsFor } from '../../../../src/core/exchange/failures/errors.ts'
import { mergeRecentErrors, RecentErrors } from '../../../../src/core/log/recent-errors.ts'
import { allOperations } from '../../../../src/operations.ts'
import { collectGarbage } from '../../../helpers/collect-garbage.ts'
import { exchangeRecord } from '../exchange-record.ts'

beforeEach(() => vi.useFakeTimers({ now: Date.parse('2026-11-22T02:00:00Z') }))
afterEach(() => vi.useRealTimers())

const notFound = { operation: null, endpoint: null, path: '/x', status: 404, failure: new GatewayError('not-found') }
const dead = (cause = 'connect ECONNREFUSED') => ({
  status: 502,
  failure: new GatewayError('connect-failed', { reason: 'refused', cause: new Error(cause) }),
})

const expired = { status: 401, failure: new GatewayError('unauthenticated', { reason: 'expired' }) }
const open = {
  status: 503,
  endpoint: null,
  failure: new GatewayError('circuit-open', {
    reason: 'breaker-open',
    cause: new FailedAttempt('http://market:8080', dead().failure, 0),
  }),
}

const record = (...all: readonly Parameters<typeof exchangeRecord>[0][]) => {
  const errors = new RecentErrors()
  for (const each of all) errors.record(exchangeRecord(each))
  return errors
}

const countKinds = ({ last }: RecentErrors['report'], ...kinds: readonly string[]): number[] =>
  kinds.map((kind) => last.filter((each) => each.kind === kind).length)

describe('the recent errors', () => {
  test('recent errors hold the requests that got an error of the gateway, newest first', () => {
    const errors = record({}, { status: 500 }, dead())
    vi.advanceTimersByTime(1000)
    errors.record(exchangeRecord(notFound))

    expect(errors.report.last).toMatchObject([
      { kind: 'not-found', reason: null, path: '/x', operation: null, at: Date.parse('2026-11-22T02:00:01Z') },
      { kind: 'connect-failed', reason: 'refused', cause: 'connect ECONNREFUSED', operation: 'market.insights' },
    ])
  })

  test('recent errors leave out clients that left', () => {
    const { report } = record({ status: 499, failure: new GatewayError('client-gone') })

    expect(report).toEqual({ last: [], causes: [], total: 0 })
  })

  test('recent errors hold at most a hundred of operations, which requests for no operation never push out', () => {
    const errors = record(dead(), ...Array.from({ length: 500 }, () => notFound))
    const many = record(...Array.from({ length: 500 }, () => dead()))

    expect(errors.report.last).toHaveLength(101)
    expect(errors.report.last.filter(({ operation }) => operation !== null)).toHaveLength(1)
    expect(mergeRecentErrors([errors.report, many.report, many.report]).last).toHaveLength(200)
  })

  test('recent errors keep some of each reason, whatever floods them', () => {
    const flood = Array.from({ length: 500 }, () => open)
    const errors = record(expired, dead(), ...flood, dead())
    const merged = mergeRecentErrors([errors.report, record(...flood).report])

    expect([errors.report.last.length, errors.report.total, merged.total]).toEqual([100, 503, 1003])
    expect(countKinds(errors.report, 'connect-failed', 'unauthenticated')).toEqual([2, 1])
    expect(countKinds(merged, 'unauthenticated')).toEqual([1])
  })

  test('recent errors drop no entry of a rare reason while another has more, in one process and merged', () => {
    const forbidden = { status: 403, failure: new GatewayError('forbidden', { reason: 'unknown-client' }) }
    const each = [record(dead()), record(), record(), record()]
    const one = record(dead())
    for (let n = 0; n < 163; n++) {
      const error = exchangeRecord(n < 120 ? expired : forbidden)
      one.record(error)
      each[n % 4]?.record(error)
    }

    for (const report of [one.report, mergeRecentErrors(each.map(({ report }) => report))])
      expect(countKinds(report, 'connect-failed', 'forbidden', 'unauthenticated')).toEqual([1, 43, 56])
  })

  test('recent errors name the cause that opened the circuit breaker', () => {
    expect(record(open).report.last[0]).toMatchObject({
      cause: 'http://market:8080: connect ECONNREFUSED',
      failedAttempt: { endpoint: 'http://market:8080', kind: 'connect-failed', reason: 'refused' },
    })
  })

  test('recent errors name no method that a client made up', () => {
    expect(record({ ...notFound, method: 'HUNTER2' }).report.last[0]?.method).toBe('another method')
  })
})

test('a recent error holds neither its packet nor the object of its error', async () => {
  const errors = new RecentErrors()
  const reject = (): WeakRef<Error> => {
    const cause = Object.assign(new Error('Parse Error'), { rawPacket: Buffer.alloc(65_536) })
    errors.record(exchangeRecord({ ...notFound, failure: new GatewayError('bad-request', { cause }) }))
    return new WeakRef(cause)
  }
  vi.useRealTimers()
  const held = reject()

  await new Promise(setImmediate) // what a WeakRef tells stays until the end of the job
  collectGarbage()

  expect(errors.report).toMatchObject({ last: [{ cause: 'Parse Error' }], causes: [{ detail: 'Parse Error' }] })
  expect(held.deref()).toBeUndefined()
})

test('a recent error does not keep the target and the fields that its path, address and id were cut out of', () => {
  const [fields, bytes] = [20, 256 * 1024]
  const cutOut = (): string => Buffer.alloc(bytes, 'x').toString('latin1').concat(',', '192.168.100.100').slice(-20)
  const errors = new RecentErrors()
  collectGarbage()
  const before = process.memoryUsage().heapUsed

  for (let i = 0; i < fields; i++) {
    const requestId = cutOut()
    errors.record(exchangeRecord({ ...notFound, requestId, path: cutOut(), client: cutOut() }))
  }
  collectGarbage()

  expect(process.memoryUsage().heapUsed - before).toBeLessThan((fields * bytes) / 2)
  expect(errors.report.last).toHaveLength(fields)
})

describe('error counts', () => {
  test('errors are counted over one minute and over fifteen minutes, then forgotten', () => {
    const errors = record(dead('first'), dead('last'))
    const counts = (): unknown => errors.report.causes.map(({ lastMinute, last15Min }) => [lastMinute, last15Min])

    const [cause] = errors.report.causes
    expect(cause).toMatchObject({ kind: 'connect-failed', endpoint: 'http://market:8080', detail: 'last' })
    expect(counts()).toEqual([[2, 2]])
    vi.advanceTimersByTime(60_000)
    expect(counts()).toEqual([[0, 2]])
    vi.advanceTimersByTime(14 * 60_000)
    expect(counts()).toEqual([])
  })

  test('an error count begins with its first occurrence within that time', () => {
    const errors = record(dead())
    vi.advanceTimersByTime(20 * 60_000)
    errors.record(exchangeRecord(dead()))

    expect(errors.report.causes).toMatchObject([
      { firstAt: Date.parse('2026-11-22T02:20:00Z'), lastAt: Date.parse('2026-11-22T02:20:00Z'), last15Min: 1 },
    ])
  })

  test('error counts are bounded, and those of an hour ago make room', () => {
    const errors = new RecentErrors()
    const fill = (name: string): void => {
      for (let i = 0; i < 300; i++) errors.record(exchangeRecord({ ...dead(), endpoint: `http://${name}-${i}` }))
    }

    fill('a')
    expect(errors.report.causes).toHaveLength(200)
    vi.advanceTimersByTime(3_600_000)
    fill('b')

    expect(errors.report.causes).toHaveLength(200)
    expect(errors.report.causes.every(({ endpoint }) => endpoint?.startsWith('http://b-'))).toBe(true)
  })

  test('error counts of clients leave room for a dead upstream', () => {
    const errors = new RecentErrors()
    const failures = reasonsFor('bad-request').map((reason) => new GatewayError('bad-request', { reason }))
    for (const { id: operation } of allOperations)
      for (const endpoint of [null, 'http://a'])
        for (const failure of failures) errors.record(exchangeRecord({ operation, endpoint, failure }))

    errors.record(exchangeRecord(dead()))

    const kinds = errors.report.causes.map(({ kind }) => kind).sort()
    expect(kinds).toEqual([...new Array(200).fill('bad-request'), 'connect-failed'])
  })

  test('error counts from before a clock was set back are not in the last minute', () => {
    const errors = record(dead('then'))
    vi.setSystemTime(Date.parse('2026-11-22T01:00:00Z'))
    errors.record(exchangeRecord(notFound))

    expect(errors.report.causes).toMatchObject([{ kind: 'not-found', lastMinute: 1 }])
    expect(errors.report.causes).toHaveLength(1)
  })

  test('error counts of several processes add up, the most frequent first', () => {
    const [one, other] = [record(dead('one')), record(notFound, notFound, notFound)]
    vi.advanceTimersByTime(5)
    other.record(exchangeRecord(dead('other')))

    expect(mergeRecentErrors([one.report, other.report]).causes).toMatchObject([
      { kind: 'not-found', lastMinute: 3 },
      { kind: 'connect-failed', lastMinute: 2, detail: 'other', firstAt: Date.parse('2026-11-22T02:00:00Z') },
    ])
  })
})
