import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { EndpointReport } from '../../../../src/core/runtime/status/endpoint.ts'
import { mergeReports } from '../../../../src/core/runtime/status/report.ts'
import type { StatusReport } from '../../../../src/core/runtime/status/status-part.ts'
import type { UpstreamReport } from '../../../../src/core/runtime/status/upstreams.ts'
import { createShadowCounts, type ShadowReport } from '../../../../src/features/candidate/layers/shadow-copies.ts'
import type { IdempotencyReport } from '../../../../src/features/idempotency/status.ts'
import { groups } from '../../../../src/operations.ts'

const up = { name: 'up', since: null, reason: null } as const
const failed = '5 failures in a row'

const endpoint = (more: Partial<EndpointReport> = {}): EndpointReport => ({
  url: 'http://a',
  weight: 100,
  inFlight: 0,
  pending: 0,
  state: up,
  lastProbe: null,
  ...{ requests: 0, failures: 0, ejections: 0 },
  countedSince: 1,
  lastFailure: null,
  succeededAt: null,
  failingSince: null,
  failuresInARow: 0,
  onProbation: false,
  outdated: null,
  certificates: [],
  ejectedForMs: null,
  latencyMs: null,
  recentResponses: { requests: 0, clientErrors: 0 },
  ...more,
})

const upstream = (more: Partial<UpstreamReport> = {}): UpstreamReport => ({
  balance: 'p2c',
  breaker: null,
  retryBudget: null,
  candidate: null,
  endpoints: [endpoint()],
  ...more,
})

const shadow = (more: Partial<ShadowReport> = {}): ShadowReport => ({
  ...createShadowCounts(),
  underWay: 0,
  repeated: 0,
  ...more,
})

const withShadow = (counts: ShadowReport | null): Partial<UpstreamReport> => ({
  candidate: { balance: 'p2c', breaker: null, endpoints: [], shadow: counts, comparison: null },
})

const report = (market: UpstreamReport, retiring = 0): StatusReport => ({
  upstreams: {
    ...(Object.fromEntries(groups.map((group) => [group, upstream()])) as StatusReport['upstreams']),
    market,
  },
  limits: { rate: null, concurrency: [], eventLoop: null },
  tokens: { jwt: null, introspection: null, proofs: null },
  cache: null,
  idempotency: null,
  drift: null,
  clients: null,
  requestMetrics: null,
  recentErrors: { last: [], causes: [], total: 0 },
  runtimes: [],
  rejectedConnections: [],
  spans: null,
  retiring,
})

const merge = (primary: Partial<UpstreamReport>, ...workers: readonly Partial<UpstreamReport>[]): UpstreamReport =>
  mergeReports(
    report(upstream(primary)),
    workers.map((worker) => report(upstream(worker))),
  ).upstreams.market

/** Merges one endpoint. */
const mergeOne = (primary: Partial<EndpointReport>, ...workers: readonly Partial<EndpointReport>[]) =>
  merge({ endpoints: [endpoint(primary)] }, ...workers.map((worker) => ({ endpoints: [endpoint(worker)] })))
    .endpoints[0] as EndpointReport

const anyCount = fc.nat(10_000)
const anyState = fc.oneof(
  fc.constant(up),
  fc.record({
    name: fc.constantFrom('down', 'ejected', 'draining'),
    since: fc.nat(3),
    reason: fc.constantFrom('connection refused', failed),
  }),
)
const anyWorker: fc.Arbitrary<StatusReport> = fc
  .record({
    endpoint: fc.record({
      inFlight: anyCount,
      state: anyState,
      ...{ requests: anyCount, failures: anyCount, ejections: anyCount },
      recentResponses: fc.record({ requests: anyCount, clientErrors: anyCount }),
      ejectedForMs: fc.option(anyCount),
      latencyMs: fc.option(anyCount),
    }),
    breaker: fc.option(
      fc.record({
        state: fc.constantFrom('open', 'half-open', 'closed'),
        since: anyCount,
        where: fc.constant(null),
        outageSince: fc.constant(null),
        lastFailure: fc.constant(null),
        openForMs: fc.option(anyCount),
      }),
    ),
    retryBudget: fc.option(fc.record({ left: anyCount })),
    retiring: anyCount,
  })
  .map(({ endpoint: fields, retiring, ...market }) =>
    report(upstream({ ...market, endpoints: [endpoint(fields), endpoint({ url: 'http://b' })] }), retiring),
  )

const primary = report(
  upstream({
    breaker: { state: 'closed', since: 1, where: null, outageSince: null, lastFailure: null, openForMs: null },
    retryBudget: { left: 3 },
    endpoints: [endpoint(), endpoint({ url: 'http://b' })],
  }),
)

describe('a candidate', () => {
  const side = (more: Partial<EndpointReport>) =>
    ({ balance: 'p2c', breaker: null, shadow: null, comparison: null, endpoints: [endpoint(more)] }) as const
  const counts = (requests: number) => ({ requests, failures: 0, ejections: 0 })

  test('is merged as an upstream is, apart from that of its group', () => {
    const outage = { name: 'down', since: 1, reason: 'answered 503' } as const

    const merged = merge(
      { candidate: side({ state: outage }) },
      { candidate: side(counts(3)), endpoints: [endpoint(counts(100))] },
      { candidate: side(counts(4)), endpoints: [endpoint(counts(100))] },
    )

    expect(merged.candidate?.endpoints).toMatchObject([{ state: outage, requests: 7 }])
    expect(merged.endpoints).toMatchObject([{ state: { name: 'up' }, requests: 200 }])
  })

  test('that some workers do not know yet belongs to a reload that is under way', () => {
    expect(merge({ candidate: side({}) }, { candidate: side({}) }, {}).candidate).toBeNull()
    expect(merge({}, { candidate: side({}) }).candidate).toBeNull()
  })
})

describe('an endpoint of which requests fail', () => {
  const last = (at: number) =>
    ({ at, endpoint: 'http://a', kind: 'connect-failed', reason: 'refused', status: null }) as const
  const failing = (succeededAt: number | null, since: number, failuresInARow: number) => ({
    ...{ succeededAt, failingSince: since, failuresInARow },
    lastFailure: last(since + 10),
  })

  test('fails when all workers together have seen enough, since the first failure of any of them', () => {
    expect(mergeOne({}, failing(100, 120, 3), failing(90, 121, 2))).toMatchObject({
      state: {
        name: 'failing',
        since: 120,
        reason: 'no success since 5 failures, the last: the endpoint refuses connections (ECONNREFUSED)',
      },
      ...{ succeededAt: 100, failingSince: 120, failuresInARow: 5 },
    })
    expect(mergeOne({}, failing(100, 120, 2), failing(90, 121, 2)).state.name).toBe('up')
  })

  test('does not fail when a worker had a success after that', () => {
    expect(mergeOne({}, failing(100, 120, 9), { succeededAt: 131 })).toMatchObject({
      state: { name: 'up' },
      ...{ succeededAt: 131, failingSince: null, failuresInARow: 0 },
    })
  })

  test('is ejected or down rather than failing', () => {
    const state = { name: 'ejected', since: 1, reason: 'it failed' } as const

    expect(mergeOne({}, { ...failing(100, 120, 9), state }, failing(100, 120, 9)).state.name).toBe('ejected')
  })
})

test('the last failure of an endpoint is the last of all workers, and its name is gone when it is for one of them', () => {
  const failure = (at: number) =>
    ({ at, endpoint: 'http://a', kind: 'connect-failed', reason: 'refused', status: null }) as const
  const outdated = { since: 5, reason: 'ENOTFOUND' }

  expect(mergeOne({}, { lastFailure: failure(1) }, { lastFailure: failure(2), outdated })).toMatchObject({
    lastFailure: failure(2),
    outdated,
  })
})

test('a certificate is the one that an address showed last, whichever process saw it', () => {
  const seen = (address: string, notAfter: number, seenAt: number) => ({ address, notAfter, warnFrom: 0, seenAt })
  const before = seen('192.0.2.1', 10, 1)
  const [renewed, other] = [seen('192.0.2.1', 99, 3), seen('192.0.2.2', 50, 2)]

  const certificates = mergeOne(
    { certificates: [before] },
    { certificates: [renewed] },
    { certificates: [other, before] },
  )?.certificates

  expect(certificates).toHaveLength(2)
  expect(certificates).toEqual(expect.arrayContaining([renewed, other]))
})

test('rejected connections are those of all processes, the primary among them', () => {
  const rejected = (lastMinute: number, firstAt: number) =>
    [{ setting: 'maxConnections', lastMinute, last15Min: lastMinute, firstAt }] as const
  const of = (...rejectedConnections: readonly ReturnType<typeof rejected>[number][]) => ({
    ...report(upstream()),
    rejectedConnections,
  })

  const merged = mergeReports(of(...rejected(2, 9)), [of(...rejected(3, 7)), of()])

  expect(merged.rejectedConnections).toEqual(rejected(5, 7).map((each) => ({ ...each, last15Min: 5 })))
})

test('the order of the workers says nothing', () => {
  fc.assert(
    fc.property(fc.array(anyWorker, { maxLength: 5 }), (workers) => {
      expect(mergeReports(primary, workers.toReversed())).toEqual(mergeReports(primary, workers))
    }),
    { numRuns: 50 },
  )
})

test('what is counted is counted over all workers, and never the primary', () => {
  const counts = ['requests', 'failures', 'ejections'] as const
  const total = (of: readonly StatusReport[], read: (endpoint: EndpointReport) => number): number =>
    of.reduce((sum, { upstreams }) => sum + read(upstreams.market.endpoints[0] as EndpointReport), 0)
  const inFlight = (endpoint: EndpointReport): number => endpoint.inFlight
  fc.assert(
    fc.property(anyWorker, fc.array(anyWorker, { minLength: 1, maxLength: 5 }), (busy, workers) => {
      const merged = mergeReports(busy, workers)

      expect(total([merged], inFlight)).toBe(total(workers, inFlight))
      for (const count of counts) {
        const read = (endpoint: EndpointReport): number => endpoint[count]
        expect(total([merged], read)).toBe(total(workers, read))
      }
    }),
    { numRuns: 50 },
  )
})

test('an earlier configuration that several workers finish is one', () => {
  const finishing = [2, 0, 1].map((retiring) => report(upstream({}), retiring))

  expect(mergeReports(primary, finishing).retiring).toBe(2)
})

test('without a worker that replies, what the primary knows is all there is', () => {
  expect(mergeReports(primary, [])).toBe(primary)
})

test('what the file says, and what probes found, comes from the primary', () => {
  const lastProbe = { at: 7, latencyMs: 1, status: 200, reason: null }

  expect(
    merge(
      { balance: 'round-robin', endpoints: [endpoint({ weight: 7, lastProbe })] },
      { balance: 'p2c', endpoints: [endpoint({ weight: 9, lastProbe: { ...lastProbe, at: 1 } })] },
    ),
  ).toMatchObject({ balance: 'round-robin', endpoints: [{ weight: 7, lastProbe }] })
})

describe('the state of an endpoint:', () => {
  const down = { name: 'down', since: 5, reason: 'connection refused' } as const
  const draining = { name: 'draining', since: null, reason: null } as const
  const ejected = (since: number, reason = failed) => ({ state: { name: 'ejected', since, reason } as const })

  test.each<[string, Partial<EndpointReport>, readonly Partial<EndpointReport>[], object]>([
    ['up in all', {}, [{}, {}], up],
    ['probes find it down, which a worker does not know yet', { state: down }, [{ state: down }, {}], down],
    ['it drains, whatever a worker thinks of it', { state: draining }, [ejected(1), {}], draining],
    [
      'its name resolves for all but one',
      {},
      [{}, { state: down }, {}],
      { ...down, reason: 'connection refused (in 1 of 3 workers)' },
    ],
    ['its name resolves for no worker', {}, [{ state: down }, { state: { ...down, since: 3 } }], { ...down, since: 3 }],
    [
      'all have ejected it: since the first of them',
      {},
      [ejected(9, 'later'), ejected(4)],
      { name: 'ejected', since: 4, reason: failed },
    ],
    ['one has', {}, [{}, ejected(4)], { name: 'ejected', since: 4, reason: `${failed} (in 1 of 2 workers)` }],
    [
      'one has, and for another its name does not resolve, which is worse',
      {},
      [ejected(4), { state: down }],
      { ...down, reason: 'connection refused (in 1 of 2 workers)' },
    ],
  ])('%s', (_, ofPrimary, workers, expected) => {
    expect(mergeOne(ofPrimary, ...workers)?.state).toEqual(expected)
  })

  test('it is ejected for as long as it is in any worker', () => {
    const left = (...each: readonly (number | null)[]) =>
      mergeOne({}, ...each.map((ejectedForMs) => ({ ejectedForMs })))?.ejectedForMs

    expect([left(10, 900, null), left(null, null)]).toEqual([900, null])
  })
})

const served = (requests: number, latencyMs: number): Partial<EndpointReport> => ({
  ...{ requests, failures: 0, ejections: 0 },
  latencyMs,
})

test.each<[string, readonly Partial<EndpointReport>[], number | null]>([
  ['no worker has seen a request', [{}, {}], null],
  ['one has', [{}, served(1, 8)], 8],
  ['each counts by what it has seen', [served(1, 40), served(3, 20)], 25],
])('the latency of an endpoint: %s', (_, workers, expected) => {
  expect(mergeOne({ latencyMs: 1000 }, ...workers)?.latencyMs).toBe(expected)
})

test('the recent responses are the sums of all workers', () => {
  const [one, other] = [
    { requests: 30, clientErrors: 2 },
    { requests: 12, clientErrors: 1 },
  ]

  expect(mergeOne({}, { recentResponses: one }, { recentResponses: other })?.recentResponses).toEqual({
    requests: 42,
    clientErrors: 3,
  })
})

describe('of a group', () => {
  const breaker = (state: 'open' | 'half-open' | 'closed', since: number, outageSince: number | null = null) => ({
    ...{ state, since, where: null, outageSince },
    lastFailure: state === 'closed' ? null : failure,
    openForMs: state === 'open' ? since * 100 : null,
  })
  const failure = { at: 1, endpoint: 'http://a', kind: 'connect-failed', reason: 'refused', status: null } as const

  test.each([
    ['closed in all', [breaker('closed', 3), breaker('closed', 2)], breaker('closed', 2)],
    ['open in all', [breaker('open', 3), breaker('open', 9)], breaker('open', 3)], // the first tries again first
    [
      'open in one',
      [breaker('closed', 1), breaker('open', 9), breaker('half-open', 2)],
      { ...breaker('open', 9), where: 'in 1 of 3 workers' },
    ],
    [
      'half-open in one',
      [breaker('closed', 1), breaker('half-open', 2)],
      { ...breaker('half-open', 2), where: 'in 1 of 2 workers' },
    ],
  ])('the worst state of the breaker is reported: %s', (_, workers, expected) => {
    const merged = merge({ breaker: breaker('closed', 1) }, ...workers.map((each) => ({ breaker: each })))

    expect(merged.breaker).toEqual(expected)
  })

  test('the retries that are left are all workers’', () => {
    const merged = merge({ retryBudget: { left: 3 } }, { retryBudget: { left: 2 } }, { retryBudget: { left: 5 } })

    expect(merged.retryBudget).toEqual({ left: 7 })
  })

  test('what is off is off', () => {
    expect(merge({}, {})).toMatchObject({ breaker: null, retryBudget: null })
  })
})

describe('while a reload is under way', () => {
  const urls = (...endpoints: readonly string[]) => ({
    endpoints: endpoints.map((url) => endpoint({ url, inFlight: 1 })),
  })

  test.each([
    ['an endpoint that not all know is left out', ['a', 'b', 'c'], ['a', 'c'], ['a', 2], ['c', 2]],
    ['one that moves keeps its counts', ['a', 'b'], ['b', 'a'], ['a', 2], ['b', 2]],
    ['one that is there twice is two', ['a', 'a'], ['a', 'b', 'a'], ['a', 2], ['a', 2]],
    ['and one of the two goes', ['a', 'a'], ['a'], ['a', 2]],
    ['nothing is common', ['a'], ['b']],
  ])('%s', (_, before, after, ...expected) => {
    const { endpoints } = merge(urls(...before), urls(...before), urls(...after))

    expect(endpoints.map(({ url, inFlight }) => [url, inFlight])).toEqual(expected)
  })
})

describe('idempotency', () => {
  const remembered = (more: Partial<IdempotencyReport> = {}): IdempotencyReport => ({
    ...{ store: 'memory', state: 'local', since: 1000, reason: null, where: null },
    ...{ entries: 3, maxEntries: 100, bytes: 10, maxBytes: 1000, inProgress: 1, unknown: 1, oldestUnknown: 2000 },
    ...{ dropped: 1, refused: 2 },
    ...more,
  })
  const mergeOf = (primary: IdempotencyReport | null, ...workers: readonly (IdempotencyReport | null)[]) =>
    mergeReports(
      { ...report(upstream()), idempotency: primary },
      workers.map((idempotency) => ({ ...report(upstream()), idempotency })),
    ).idempotency

  test('in memory is what the primary remembers for all workers', () => {
    expect(mergeOf(remembered(), null, null)).toEqual(remembered())
  })

  test('in Redis is as bad as in the worst worker', () => {
    const shared = remembered({ store: 'redis', state: 'shared' })
    const gone = remembered({ store: 'redis', state: 'unavailable', since: 5000, reason: 'refused' })

    expect(mergeOf(null, shared, gone)).toEqual({ ...gone, where: 'in 1 of 2 workers', dropped: 2, refused: 4 })
    expect(mergeOf(null, shared, shared)).toMatchObject({ state: 'shared', where: null })
  })
})

test('copies are those of all workers, and none where the file asks for none', () => {
  const counts = (sent: number, full: number) =>
    shadow({ sent, underWay: 1, dropped: { ...createShadowCounts().dropped, full } })

  const merged = merge(withShadow(shadow()), withShadow(counts(3, 1)), withShadow(counts(4, 0)))
  const off = merge(withShadow(null), withShadow(null))

  expect(merged.candidate?.shadow).toEqual({ ...counts(7, 1), underWay: 2 })
  expect(off.candidate?.shadow).toBeNull()
})
