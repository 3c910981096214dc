import { describe, expect, test } from 'vitest'
import type { EndpointReport } from '../../../../src/core/runtime/status/endpoint.ts'
import { mergeReports } from '../../../../src/core/runtime/status/report.ts'
import type { StatusReport } from '../../../../src/core/runtime/status/status-part.ts'
import type { UpstreamReport } from '../../../../src/core/runtime/status/upstreams.ts'
import { createShadowCounts } from '../../../../src/features/candidate/layers/shadow-copies.ts'
import type { IdempotencyReport } from '../../../../src/features/idempotency/status.ts'
import { groups } from '../../../../src/operations.ts'

const up = { name: 'up', since: null, reason: null } as const

const endpoint = (more: Partial<EndpointReport> = {}): EndpointReport => ({
  ...{ url: 'http://a', weight: 100, state: up, lastProbe: null, countedSince: 1, certificates: [] },
  onProbation: false,
  ...{ inFlight: 0, pending: 0, requests: 0, failures: 0, ejections: 0, ejectedForMs: null, latencyMs: null },
  ...{ lastFailure: null, succeededAt: null, failingSince: null, failuresInARow: 0, outdated: null },
  recentResponses: { requests: 0, clientErrors: 0 },
  ...more,
})

const upstream = (more: Partial<UpstreamReport> = {}): UpstreamReport => ({
  ...{ balance: 'p2c', breaker: null, retryBudget: null, candidate: null, endpoints: [endpoint()] },
  ...more,
})

const report = (market: Partial<UpstreamReport> = {}, more: Partial<StatusReport> = {}): StatusReport => ({
  upstreams: {
    ...(Object.fromEntries(groups.map((group) => [group, upstream()])) as StatusReport['upstreams']),
    market: upstream(market),
  },
  limits: { rate: null, concurrency: [], eventLoop: null },
  tokens: { jwt: null, introspection: null, proofs: null },
  ...{ cache: null, idempotency: null, drift: null, clients: null, requestMetrics: null, spans: null, retiring: 0 },
  recentErrors: { last: [], causes: [], total: 0 },
  ...{ runtimes: [], rejectedConnections: [] },
  ...more,
})

/** Merges the reports of one group: the order of the workers says nothing. */
const merge = (primary: Partial<UpstreamReport>, ...workers: readonly Partial<UpstreamReport>[]): UpstreamReport => {
  const reports = workers.map((worker) => report(worker))
  const merged = mergeReports(report(primary), reports)
  expect(mergeReports(report(primary), reports.toReversed())).toEqual(merged)
  return merged.upstreams.market
}

const mergeOne = (primary: Partial<EndpointReport>, ...workers: readonly Partial<EndpointReport>[]) =>
  merge({ endpoints: [endpoint(primary)] }, ...workers.map((worker) => ({ endpoints: [endpoint(worker)] })))
    .endpoints[0] as EndpointReport

const failureAt = (at: number) =>
  ({ at, endpoint: 'http://a', kind: 'connect-failed', reason: 'refused', status: null }) as const
const counts = (requests: number, failures = 0, ejections = 0) => ({ requests, failures, ejections })

describe('a candidate', () => {
  const side = (...endpoints: readonly Partial<EndpointReport>[]) =>
    ({ balance: 'p2c', breaker: null, shadow: null, comparison: null, endpoints: endpoints.map(endpoint) }) as const

  test('is merged as an upstream is, apart from that of its group', () => {
    const outage = { name: 'down', since: 1, reason: 'responded with 503' } as const

    const merged = merge(
      { candidate: side({ state: outage }) },
      { candidate: side(counts(3)), endpoints: [endpoint(counts(100))] },
      { candidate: side(counts(4)), endpoints: [endpoint(counts(100))] },
    )

    expect(merged.candidate?.endpoints).toMatchObject([{ state: outage, requests: 7 }])
    expect(merged.endpoints).toMatchObject([{ state: { name: 'up' }, requests: 200 }])
  })

  test('that some workers do not know yet belongs to a reload that is under way', () => {
    const known = { candidate: side({}) }

    expect([merge(known, known, {}).candidate, merge({}, known).candidate]).toEqual([null, null])
  })

  test('has the copies of all workers, and none where the file asks for none', () => {
    const none = { ...createShadowCounts(), underWay: 0, repeated: 0 }
    const copied = (sent: number, underWay: number, full: number) => ({
      ...{ ...none, sent, underWay },
      dropped: { ...none.dropped, full },
    })
    const [primary, one, other] = [none, copied(3, 1, 1), copied(4, 1, 0)].map((shadow) => ({
      candidate: { ...side(), shadow },
    }))

    expect(merge(primary ?? {}, one ?? {}, other ?? {}).candidate?.shadow).toEqual(copied(7, 2, 1))
    expect(merge({ candidate: side() }, { candidate: side() }).candidate?.shadow).toBeNull()
  })
})

describe('an endpoint of which requests fail', () => {
  const failing = (succeededAt: number | null, since: number, failuresInARow: number) => ({
    ...{ succeededAt, failingSince: since, failuresInARow },
    lastFailure: failureAt(since + 10),
  })

  test('fails when all workers together have seen enough, since the first failure of any of them', () => {
    const reason = '5 failures in a row, the last: the endpoint refuses connections (ECONNREFUSED)'

    expect(mergeOne({}, failing(100, 120, 3), failing(90, 121, 2))).toMatchObject({
      state: { name: 'failing', since: 120, reason },
      ...{ succeededAt: 100, failingSince: 120, failuresInARow: 5 },
    })
    expect(mergeOne({}, failing(100, 120, 2), failing(90, 121, 2)).state.name).toBe('up')
  })

  test('does not fail when a worker had a success after that, and is ejected or down rather than failing', () => {
    const state = { name: 'ejected', since: 1, reason: 'it failed' } as const

    const wellAgain = { state: { name: 'up' }, succeededAt: 131, failingSince: null, failuresInARow: 0 }
    expect(mergeOne({}, failing(100, 120, 9), { succeededAt: 131 })).toMatchObject(wellAgain)
    expect(mergeOne({}, { ...failing(100, 120, 9), state }, failing(100, 120, 9)).state.name).toBe('ejected')
  })
})

describe('of an endpoint', () => {
  test('the last failure is the last of all workers, and its name is gone when it is for one of them', () => {
    const last = { lastFailure: failureAt(2), outdated: { since: 5, reason: 'ENOTFOUND' } }

    expect(mergeOne({}, { lastFailure: failureAt(1) }, last)).toMatchObject(last)
  })

  test('a certificate is the one that an address showed last, whichever process saw it', () => {
    const seen = (address: string, notAfter: number, seenAt: number) => ({ address, notAfter, warnFrom: 0, seenAt })
    const before = seen('192.0.2.1', 10, 1)
    const [renewed, other] = [seen('192.0.2.1', 99, 3), seen('192.0.2.2', 50, 2)]
    const showing = (...certificates: (typeof before)[]) => report({ endpoints: [endpoint({ certificates })] })

    const merged = mergeReports(showing(before), [showing(renewed), showing(other, before)]).upstreams.market

    const byAddress = merged.endpoints[0]?.certificates.toSorted((a, b) => a.address.localeCompare(b.address))
    expect(byAddress).toEqual([renewed, other])
  })

  test('what is counted is counted over all workers, and never the primary', () => {
    const [busy, one, other] = [counts(90, 80, 70), counts(30, 3, 1), counts(12, 2, 4)]
    const recent = (requests: number, clientErrors: number) => ({ recentResponses: { requests, clientErrors } })

    const workers = [
      { ...one, ...recent(30, 2), inFlight: 1 },
      { ...other, ...recent(12, 1), inFlight: 2 },
    ]

    const all = { ...counts(42, 5, 5), ...recent(42, 3), inFlight: 3 }
    expect(mergeOne({ ...busy, inFlight: 9 }, ...workers)).toMatchObject(all)
  })

  const served = (requests: number, latencyMs: number): Partial<EndpointReport> => ({ ...counts(requests), latencyMs })

  test.each<[string, readonly Partial<EndpointReport>[], number | null]>([
    ['no worker has seen a request', [{}, {}], null],
    ['one has', [{}, served(1, 8)], 8],
    ['each counts by what it has seen', [served(1, 40), served(3, 20)], 25],
  ])('the latency is the mean: %s', (_, workers, expected) => {
    expect(mergeOne({ latencyMs: 1000 }, ...workers).latencyMs).toBe(expected)
  })

  const failed = '5 failures in a row'
  const down = { name: 'down', since: 5, reason: 'connection refused' } as const
  const draining = { name: 'draining', since: null, reason: null } as const
  const ejected = (since: number, reason = failed) => ({ name: 'ejected', since, reason }) as const
  const inOne = (of: number) => ({ ...down, reason: `connection refused (in 1 of ${of} workers)` })

  test.each<[string, EndpointReport['state'], readonly EndpointReport['state'][], object]>([
    ['up in all', up, [up, up], up],
    ['probes find it down, which a worker does not know yet', down, [down, up], down],
    ['it drains, whatever a worker thinks of it', draining, [ejected(1), up], draining],
    ['its name does not resolve for one', up, [up, down, up], inOne(3)],
    ['its name resolves for no worker', up, [down, { ...down, since: 3 }], { ...down, since: 3 }],
    ['all have ejected it: since the first of them', up, [ejected(9, 'later'), ejected(4)], ejected(4)],
    ['one has', up, [up, ejected(4)], ejected(4, `${failed} (in 1 of 2 workers)`)],
    ['one has, and for another it is down', up, [ejected(4), down], inOne(2)],
  ])('the state is the worst: %s', (_, ofPrimary, workers, expected) => {
    expect(mergeOne({ state: ofPrimary }, ...workers.map((state) => ({ state }))).state).toEqual(expected)
  })

  test('an ejection lasts for as long as it does in any worker', () => {
    const left = (...each: readonly (number | null)[]) =>
      mergeOne({}, ...each.map((ejectedForMs) => ({ ejectedForMs }))).ejectedForMs

    expect([left(10, 900, null), left(null, null)]).toEqual([900, null])
  })

  test('what the file says, and what probes found, comes from the primary', () => {
    const lastProbe = { at: 7, latencyMs: 1, status: 200, reason: null }
    const [known, other] = [lastProbe, { ...lastProbe, at: 1 }].map((lastProbe) => ({
      weight: lastProbe.at,
      lastProbe,
    }))

    const merged = merge(
      { balance: 'round-robin', endpoints: [endpoint(known)] },
      { balance: 'p2c', endpoints: [endpoint(other)] },
    )

    expect(merged).toMatchObject({ balance: 'round-robin', endpoints: [known] })
  })
})

describe('of a process', () => {
  test('rejected connections are those of all processes, the primary among them', () => {
    const rejected = (lastMinute: number, firstAt: number) =>
      ({ rejectedConnections: [{ setting: 'maxConnections', lastMinute, last15Min: lastMinute, firstAt }] }) as const

    const merged = mergeReports(report({}, rejected(2, 9)), [report({}, rejected(3, 7)), report()])

    expect(merged.rejectedConnections).toEqual(rejected(5, 7).rejectedConnections)
  })

  test('an earlier configuration that several workers finish is one; without workers the primary knows all', () => {
    const [primary, finishing] = [report(), [2, 0, 1].map((retiring) => report({}, { retiring }))]

    expect(mergeReports(primary, finishing).retiring).toBe(2)
    expect(mergeReports(primary, [])).toBe(primary)
  })

  const remembered = (more: Partial<IdempotencyReport> = {}): IdempotencyReport => ({
    ...{ store: 'memory', state: 'local', since: 1000, reason: null, where: null },
    ...{ entries: 3, maxEntries: 100, bytes: 10, maxBytes: 1000, inProgress: 1, unknown: 1, oldestUnknown: 2000 },
    ...{ dropped: 1, rejected: 2 },
    ...more,
  })
  const mergeIdempotency = (...[primary, ...workers]: readonly (IdempotencyReport | null)[]) =>
    mergeReports(
      report({}, { idempotency: primary ?? null }),
      workers.map((idempotency) => report({}, { idempotency })),
    ).idempotency

  test('idempotency in memory is what the primary remembers, and in Redis as bad as in the worst worker', () => {
    const shared = remembered({ store: 'redis', state: 'shared' })
    const gone = remembered({ store: 'redis', state: 'unavailable', since: 5000, reason: 'refused' })

    const inOne = { ...gone, where: 'in 1 of 2 workers', dropped: 2, rejected: 4 }
    expect(mergeIdempotency(remembered(), null, null)).toEqual(remembered())
    expect(mergeIdempotency(null, shared, gone)).toEqual(inOne)
    expect(mergeIdempotency(null, shared, shared)).toMatchObject({ state: 'shared', where: null })
  })
})

describe('of a group', () => {
  const breaker = (state: 'open' | 'half-open' | 'closed', since: number, where: string | null = null) => ({
    ...{ state, since, where, outageSince: null },
    lastFailure: state === 'closed' ? null : failureAt(1),
    openForMs: state === 'open' ? since * 100 : null,
  })
  const [closed, open, halfOpen] = [breaker('closed', 1), breaker('open', 9), breaker('half-open', 2)]

  test.each([
    ['closed in all', [breaker('closed', 3), closed], closed],
    ['open in all, and the first tries again first', [breaker('open', 3), open], breaker('open', 3)],
    ['open in one', [closed, open, halfOpen], breaker('open', 9, 'in 1 of 3 workers')],
    ['half-open in one', [closed, halfOpen], breaker('half-open', 2, 'in 1 of 2 workers')],
  ])('the worst state of the breaker is reported: %s', (_, workers, expected) => {
    const merged = merge({ breaker: closed }, ...workers.map((each) => ({ breaker: each })))

    expect(merged.breaker).toEqual(expected)
  })

  test('the retries that are left are all workers’, and what is off is off', () => {
    const [primary, ...workers] = [3, 2, 5].map((left) => ({ retryBudget: { left } }))

    expect(merge(primary ?? {}, ...workers).retryBudget).toEqual({ left: 7 })
    expect(merge({}, {})).toMatchObject({ breaker: null, retryBudget: null })
  })

  const urls = (...endpoints: readonly string[]) => ({
    endpoints: endpoints.map((url) => endpoint({ url, inFlight: 1 })),
  })

  test.each([
    ['an endpoint that not all know is left out', ['a', 'b', 'c'], ['a', 'c'], ['a', 2], ['c', 2]],
    ['one that moves keeps its counts', ['a', 'b'], ['b', 'a'], ['a', 2], ['b', 2]],
    ['one that is there twice is two', ['a', 'a'], ['a', 'b', 'a'], ['a', 2], ['a', 2]],
    ['and one of the two goes', ['a', 'a'], ['a'], ['a', 2]],
    ['nothing is common', ['a'], ['b']],
  ])('while a reload is under way: %s', (_, before, after, ...expected) => {
    const { endpoints } = merge(urls(...before), urls(...before), urls(...after))

    expect(endpoints.map(({ url, inFlight }) => [url, inFlight])).toEqual(expected)
  })
})
