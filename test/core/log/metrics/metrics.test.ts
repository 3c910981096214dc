import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { FailedAttempt, GatewayError } from '../../../../src/core/exchange/failures/errors.ts'
import { bucketBoundsMs, Histogram, histogramDelta, quantile } from '../../../../src/core/log/metrics/histogram.ts'
import {
  mergeRequestMetrics,
  type OperationLabel,
  RequestMetrics,
  withoutGauges,
} from '../../../../src/core/log/metrics/request-metrics.ts'
import { sumReports } from '../../../../src/core/log/sum-reports.ts'
import { exchangeRecord } from '../exchange-record.ts'

describe('durations', () => {
  const counted = (durations: readonly number[]) => {
    const histogram = new Histogram()
    for (const ms of durations) histogram.observe(ms)
    return histogram.report
  }

  const durations = fc.array(fc.double({ min: 0, max: 79_000, noNaN: true }), { minLength: 1, maxLength: 200 })

  test('bounds rise, and every duration is counted at the first bound that is not below it', () => {
    expect([...bucketBoundsMs].sort((a, b) => a - b)).toEqual(bucketBoundsMs)
    for (const [i, bound] of bucketBoundsMs.entries())
      expect([bound, bound + 1e-9].map((ms) => counted([ms]).counts.indexOf(1))).toEqual([i, i + 1])
  })

  test('the sum of several histograms equals one histogram of all, and a difference has only later durations', () => {
    fc.assert(
      fc.property(durations, durations, (some, others) => {
        const both = sumReports(counted([]), [counted(some), counted(others)])
        const one = counted([...some, ...others])

        expect(both.counts).toEqual(one.counts)
        expect(both.sumMs).toBeCloseTo(one.sumMs, 3)
        expect(histogramDelta(one, counted(some)).counts).toEqual(counted(others).counts)
      }),
    )
  })

  describe('a quantile', () => {
    test('a quantile above the last bound is that bound, and a quantile of nothing is unknown', () => {
      expect(quantile(counted([1_000_000]), 0.5)).toBe(bucketBoundsMs.at(-1))
      expect(quantile(counted([]), 0.5)).toBe(null)
    })

    test('a quantile lies between the same two bounds as the duration of its rank', () => {
      fc.assert(
        fc.property(durations, fc.constantFrom(0.5, 0.9, 0.99), (all, share) => {
          const exact = all.toSorted((a, b) => a - b)[Math.ceil(share * all.length) - 1] as number
          const at = bucketBoundsMs.findIndex((bound) => exact <= bound)

          const read = quantile(counted(all), share) as number

          expect(read).toBeLessThanOrEqual(bucketBoundsMs[at] as number)
          expect(read).toBeGreaterThanOrEqual(bucketBoundsMs[at - 1] ?? 0)
        }),
      )
    })

    test('a quantile never exceeds its upper bound by the rounding of floats', () => {
      const { counts } = counted([])
      const counted30 = Array.from({ length: 30 }, (_, n) => n + 1)
      const above = [...bucketBoundsMs.entries()].flatMap(([i, bound]) =>
        counted30.filter((count) =>
          [0.5, 0.9, 0.99, 1].some((share) => {
            const read = quantile({ counts: counts.with(i, count), sumMs: 0 }, share)
            return read === null || read > bound
          }),
        ),
      )

      expect(above).toEqual([])
    })
  })
})

describe('requests', () => {
  /** Counts exchanges, given by what is particular about them. */
  const counted = (all: readonly Parameters<typeof exchangeRecord>[0][], clients = false) => {
    const metrics = new RequestMetrics()
    const observer = metrics.observer(clients)
    for (const each of all) observer.record(exchangeRecord(each))
    return metrics.report
  }

  const of = (name: OperationLabel, all: Parameters<typeof counted>[0]) => counted(all).operations[name]

  const identity = { client: 'acme', method: 'apiKey', keyId: null } as const

  test('requests are counted by operation, or as for none, by class of status and failure', () => {
    const failure = new GatewayError('connect-failed', { reason: 'refused' })

    const rejected = { operation: null, status: 404, failure: new GatewayError('not-found') }
    const { operations } = counted([{}, {}, { status: 404 }, { status: 502, failure }, rejected])

    expect(operations['market.insights'].requests).toEqual([
      { statusClass: 2, failure: null, count: 2 },
      { statusClass: 4, failure: null, count: 1 },
      { statusClass: 5, failure: 'connect-failed', count: 1 },
    ])
    expect(operations.none.requests).toEqual([{ statusClass: 4, failure: 'not-found', count: 1 }])
  })

  test('durations, bytes and retries add up', () => {
    const { total, firstByte, upstream, ...rest } = of('market.insights', [
      { attempts: 3 },
      { firstByteMs: null, upstreamMs: null, attempts: 0 },
    ])

    expect(rest).toMatchObject({ retries: 2, bytesIn: 6, bytesOut: 10 })
    expect([total.sumMs, firstByte.sumMs, upstream.sumMs]).toEqual([24, 10, 9])
    expect([total, firstByte, upstream].map(({ counts }) => counts.reduce((sum, count) => sum + count))).toEqual([
      2, 1, 1,
    ])
  })

  test('each failed attempt is counted by its reason, its kind without a reason, or its status', () => {
    const metrics = new RequestMetrics()
    const operation = metrics.operations['market.insights']
    const rejected = new GatewayError('connect-failed', { reason: 'refused' })
    for (const why of [rejected, rejected, new GatewayError('headers-timeout'), 503, 500])
      operation.countFailedAttempt(new FailedAttempt('http://market:8080', why, 0), 'primary')
    operation.countFailedAttempt(new FailedAttempt('http://next:8080', 503, 0), 'candidate')

    const merged = mergeRequestMetrics([metrics.report, metrics.report])?.operations['market.insights']

    expect(merged?.attemptFailures).toEqual([
      { side: 'primary', reason: 'refused', count: 4 },
      { side: 'primary', reason: 'headers-timeout', count: 2 },
      { side: 'primary', reason: 'status', count: 4 },
      { side: 'candidate', reason: 'status', count: 2 },
    ])
  })

  test('a 5xx for a fault of the client is no error, as in its span', () => {
    const { failed, rejected } = of('market.insights', [
      { status: 504, failure: new GatewayError('not-cached'), totalMs: 1 },
      { status: 504, failure: new GatewayError('headers-timeout'), totalMs: 2 },
      { status: 500, totalMs: 4 },
      { status: 200, failure: new GatewayError('truncated'), totalMs: 8 },
    ])

    expect([failed.sumMs, rejected.sumMs]).toEqual([14, 1])
  })

  test('a request that was never sent is counted on the side that was to serve it', () => {
    const failure = new GatewayError('circuit-open', { reason: 'breaker-open' })
    const failed = { status: 503, failure } as const

    const { reasons } = of('market.insights', [
      failed,
      { ...failed, side: 'primary' },
      { ...failed, side: 'candidate' },
      { ...failed, side: 'candidate', fellBack: true },
    ])

    expect(reasons.map(({ side, count }) => [side, count])).toEqual([
      ['primary', 3],
      ['candidate', 1],
    ])
  })

  describe('who calls', () => {
    const expired = new GatewayError('unauthenticated', { reason: 'expired' })
    const disabled = new GatewayError('forbidden', { reason: 'client-disabled' })

    test('a client is counted by its authentication method, and a rejected one by the reason', () => {
      const { accepted, reasons } = of('market.insights', [
        { identity, attemptedAuth: 'apiKey' },
        { attemptedAuth: 'jwt', status: 401, failure: expired },
        { attemptedAuth: 'jwt', status: 401, failure: expired },
        { identity, attemptedAuth: 'apiKey', status: 403, failure: disabled },
      ])

      expect(accepted).toEqual([{ method: 'apiKey', count: 1 }])
      expect(reasons).toEqual([
        { failure: 'unauthenticated', reason: 'expired', method: 'jwt', side: 'primary', count: 2 },
        { failure: 'forbidden', reason: 'client-disabled', method: 'apiKey', side: 'primary', count: 1 },
      ])
    })

    test('a client is counted by name only if that is configured', () => {
      const calls = [{ identity }, { identity, status: 500 }, {}]

      expect(counted(calls).clients).toEqual([])
      expect(counted(calls, true).clients).toEqual([
        { client: 'acme', statusClass: 2, count: 1 },
        { client: 'acme', statusClass: 5, count: 1 },
      ])
    })
  })

  test('the counts of several processes add up, and an exited process has nothing in flight', () => {
    const [one, other] = [counted([{}, { identity }], true), counted([{ status: 500 }, { identity }], true)]
    const busy = { ...one.operations, 'market.insights': { ...one.operations['market.insights'], inFlight: 4 } }

    const added = mergeRequestMetrics([withoutGauges({ ...one, operations: busy }), other])

    expect(added?.operations['market.insights']).toMatchObject({
      inFlight: 0,
      bytesIn: 12,
      requests: [
        { statusClass: 2, failure: null, count: 3 },
        { statusClass: 5, failure: null, count: 1 },
      ],
    })
    expect(added?.clients).toEqual([{ client: 'acme', statusClass: 2, count: 2 }])
  })
})
