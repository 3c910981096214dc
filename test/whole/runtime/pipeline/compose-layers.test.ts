import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import type {
  Config,
  HeaderMutationConfig,
  OperationConfig,
  UpstreamConfig,
} from '../../../../src/core/config/config.ts'
import { GatewayError } from '../../../../src/core/exchange/failures/errors.ts'
import { RequestMetrics } from '../../../../src/core/log/metrics/request-metrics.ts'
import {
  composeLayers,
  type LayerStackOptions,
  layerTable,
} from '../../../../src/core/runtime/pipeline/compose-layers.ts'
import type { ProcessParts } from '../../../../src/core/runtime/runtime-part.ts'
import { prepareParts } from '../../../../src/core/runtime/runtime-parts.ts'
import type { GroupEndpoint } from '../../../../src/core/upstream/endpoints/group-endpoint.ts'
import type { Upstream } from '../../../../src/core/upstream/upstream.ts'
import type { AuditConfig } from '../../../../src/features/audit/config.ts'
import type { AuthConfig } from '../../../../src/features/auth/config.ts'
import { type CandidateUse, findCandidateUse } from '../../../../src/features/candidate/candidate-clients.ts'
import type { CandidateConfig } from '../../../../src/features/candidate/config/candidate.ts'
import { createSend } from '../../../../src/features/candidate/layers/split-send.ts'
import type { LimitsConfig } from '../../../../src/features/limits/config.ts'
import type { RetryConfig } from '../../../../src/features/retry/config.ts'
import type { TracingConfig } from '../../../../src/features/tracing/config.ts'
import { allOperations, byGroup, byOperation, type OperationId } from '../../../../src/operations.ts'
import { fakeBody, fakeExchange, fakeNext, fakeResponse, untilAborted } from '../../../helpers/exchange.ts'
import { testConfig } from '../../../helpers/gateway.ts'
import { acquireTestParts, openTestParts } from '../../../helpers/parts.ts'

const retry: RetryConfig = {
  attempts: 3,
  on: ['connect-failed', 503],
  backoff: { base: 25, max: 250 },
  budget: { share: 0.1, floor: 3 },
}

const auditConfig: AuditConfig = {
  file: '/var/log/audit.log',
  key: 'k'.repeat(32),
  digests: 'both',
  onFailure: 'refuse',
  rotate: null,
}

const tracingConfig: TracingConfig = {
  otlp: 'http://localhost:4318/v1/traces',
  headers: [],
  sample: 0.01,
  serviceName: 'lender-gateway',
  serverTiming: false,
}

const address = { rate: { count: 100, perMs: 1000 }, burst: 200, ipv6Prefix: 64 }

const client = { disabled: false, apiKeys: [], claims: {}, certificates: [], operations: null, addresses: [] } as const

const limitedClients: Config['clients'] = [
  { ...client, id: 'bank-a', rate: { count: 1, perMs: 1000 }, burst: null, concurrency: 4 },
  { ...client, id: 'bank-b', rate: { count: 1, perMs: 1000 }, burst: null, concurrency: null },
]

await prepareParts({ ...testConfig(), tracing: tracingConfig })

interface Settings extends Partial<OperationConfig> {
  readonly limits?: Partial<LimitsConfig>
  readonly allAuth?: AuthConfig | null
  readonly upstreamConcurrency?: number
  readonly process?: ProcessParts
  readonly id?: OperationId
  readonly clients?: Config['clients']
  readonly retry?: RetryConfig | null
  readonly request?: HeaderMutationConfig
  readonly audit?: AuditConfig | null
  readonly tracing?: Config['tracing']
  readonly metrics?: Config['metrics']
  readonly candidateUse?: CandidateUse | null
  readonly getContent?: Config['listen']['getContent']
}

const allAuth: AuthConfig = {
  methods: ['apiKey'],
  apiKey: { field: 'X-Api-Key' },
  jwt: null,
  introspection: null,
  mtls: { from: 'connection', ca: null },
  bound: 'none',
  dpop: null,
  credentials: 'strip',
  identityField: 'X-Client-Id',
}

/** Creates the options of a stack with everything off but the given settings. */
const stackOptions = ({
  id = 'market.insights',
  limits,
  allAuth: auth = null,
  upstreamConcurrency,
  process = openTestParts(),
  clients = [],
  retry = null,
  request,
  tracing = null,
  metrics = null,
  audit = null,
  candidateUse = null,
  getContent = 'forward',
  ...own
}: Settings = {}): LayerStackOptions => {
  const config = testConfig()
  const operation = {
    state: 'serve' as const,
    deadline: null,
    maxBody: null,
    concurrency: null,
    auth: null,
    idempotency: null,
    cache: null,
    contract: { request: 'off' as const, response: 'off' as const, unchecked: 'pass' as const },
    ...own,
  }
  const upstream = { request: request ?? { set: [], remove: [] }, retry, concurrency: upstreamConcurrency ?? null }
  const full = {
    ...config,
    clients,
    listen: { ...config.listen, getContent },
    limits: { address: null, redis: null, concurrency: null, eventLoopDelay: null, ...limits },
    operations: byOperation(() => operation),
    upstreams: byGroup((group) => ({
      ...config.upstreams[group],
      ...upstream,
      candidate: candidateUse && { ...toCandidate(config.upstreams[group]), ...candidateUse },
    })),
    auth,
    tracing,
    metrics,
    audit,
  }
  const parts = acquireTestParts(full, process)
  parts.idempotency.activate?.()
  return {
    operation: allOperations.find((each) => each.id === id) ?? allOperations[0],
    config: full,
    features: Object.values(parts),
    requestMetrics: new RequestMetrics(),
  }
}

const withConfig = (options: LayerStackOptions, config: Config): LayerStackOptions => ({
  ...options,
  config,
  features: Object.values(acquireTestParts(config)),
})

const fakeUpstream = (): Upstream => ({
  send: fakeNext(),
  members: [],
  balance: 'p2c',
  breaker: null,
  activate: () => {},
})

/** Makes the candidate of a group that is its upstream once more. */
const toCandidate = (upstream: UpstreamConfig): CandidateConfig => ({
  ...{
    upstream,
    digest: '',
    share: 0,
    clients: [],
    fallback: true,
    expose: null,
    steps: null,
    guard: null,
    shadow: null,
  },
})

test('with everything off the handler is the send of the upstream itself', () => {
  const send = fakeNext()

  expect(composeLayers(stackOptions(), send)).toBe(send)
})

test('with a candidate that gets no client and no copy it is that too, and nothing in front knows of it', () => {
  const options = stackOptions()
  const { config } = options
  const candidate = toCandidate(config.upstreams.market)
  const withCandidate = withConfig(options, {
    ...config,
    upstreams: { ...config.upstreams, market: { ...config.upstreams.market, candidate } },
  })
  const [primary, other] = [fakeUpstream(), fakeUpstream()]
  const send = createSend(primary, other, candidate, findCandidateUse(candidate, null))

  expect(send).toBe(primary.send)
  expect(composeLayers(withCandidate, send)).toBe(primary.send)
  expect(layerTable(withCandidate).filter(({ layer }) => layer !== null)).toEqual([])
})

test('a candidate that operators have drained since is not up: its clients go to the primary', async () => {
  const health = { isDown: false, isEjected: () => false }
  const drained = { receivesTraffic: true, takesRequests: false, health } as unknown as GroupEndpoint
  const next = fakeNext()
  const other = { ...fakeUpstream(), send: next, members: [drained] }
  const use = { share: 1, clients: [] }
  const send = createSend(fakeUpstream(), other, toCandidate(testConfig().upstreams.market), use)
  const exchange = Object.assign(fakeExchange(), { side: 'candidate' as const })

  await send(exchange)

  expect([exchange.attempts.fellBack, next.calls]).toEqual([true, 0])
})

test.each<[string, Settings]>([
  ['a deadline', { deadline: 1000 }],
  ['a limit for the body', { maxBody: 100 }],
  ['a retry', { retry }],
  ['a limit by address', { limits: { address } }],
  ['a concurrency limit for all exchanges', { limits: { concurrency: 1 } }],
  ['one for its upstream', { upstreamConcurrency: 1 }],
  ['one for its own', { concurrency: 1 }],
  ['auth', { auth: { methods: ['apiKey'], scopes: [], claims: {} } }],
  ['a field for upstreams', { allAuth }],
  ['a trace', { tracing: tracingConfig }],
  ['Server-Timing', { tracing: { ...tracingConfig, otlp: null, serverTiming: true } }],
  ['load shedding', { limits: { eventLoopDelay: 100 } }],
  ['a share of a candidate', { candidateUse: { share: 0.05, clients: [] } }],
])('%s stands in front of it', (_, settings) => {
  const send = fakeNext()

  expect(composeLayers(stackOptions(settings), send)).not.toBe(send)
})

test('an operation out of service is rejected, whatever else is on, and counts nowhere', async () => {
  const next = fakeNext()
  const process = openTestParts()
  const otherLimits = {
    limits: { concurrency: 1 },
    upstreamConcurrency: 1,
    concurrency: 1,
    deadline: 1000,
    maxBody: 0,
  }
  const handle = composeLayers(stackOptions({ state: 'refuse', ...otherLimits, retry, process }), next)

  await expect(handle(fakeExchange({ body: fakeBody(100) }))).rejects.toMatchObject({ kind: 'refused-by-operator' })
  expect(next.calls).toBe(0)
  expect(process.limits.counts).toEqual(openTestParts().limits.counts)
})

test.each([
  ['serve', 'refuse'],
  ['refuse', 'serve'],
] as const)('an operation of state %s behaves as %s when an operator overrides it', async (state, override) => {
  const next = fakeNext()

  const handle = composeLayers(stackOptions({ state }), next, {
    state: override,
    by: 'anna',
    reason: null,
    since: 0,
    until: 0,
    endsAt: 0,
  })

  if (override === 'serve') return expect(handle).toBe(next)
  await expect(handle(fakeExchange())).rejects.toMatchObject({ kind: 'refused-by-operator' })
})

describe('the table', () => {
  test('names each layer, the outermost first, with its key and setting', () => {
    const limits = { address, concurrency: 10_000, eventLoopDelay: 250 }
    const otherLimits = { upstreamConcurrency: 50, concurrency: 20, deadline: 2000, maxBody: 65_536 }
    const auth = { methods: ['apiKey'] as const, scopes: [], claims: {} }
    const options = stackOptions({
      id: 'risk.asset-valuation',
      clients: limitedClients,
      limits,
      allAuth,
      auth,
      ...otherLimits,
      retry,
      audit: auditConfig,
      metrics: { clients: true },
      tracing: { ...tracingConfig, serverTiming: true },
      candidateUse: { share: 0.05, clients: ['bank-a', 'bank-b'] },
    })
    const own = 'operations.risk.asset-valuation'

    const rows = layerTable(options)

    expect(rows).toEqual([
      {
        name: 'tracing',
        key: 'tracing.otlp',
        setting: 'http://localhost:4318/v1/traces, sample: 1%',
        layer: expect.any(Function),
      },
      { name: 'server-timing', key: 'tracing.serverTiming', setting: 'true', layer: expect.any(Function) },
      { name: 'metrics', key: 'metrics', setting: 'clients: true', layer: expect.any(Function) },
      {
        name: 'audit',
        key: 'audit.onFailure',
        setting: 'onFailure: refuse, digests: both',
        layer: expect.any(Function),
      },
      { name: 'load-shedding', key: 'limits.eventLoopDelay', setting: '250ms', layer: expect.any(Function) },
      { name: 'concurrency', key: 'limits.concurrency', setting: '10000', layer: expect.any(Function) },
      {
        name: 'upstream-concurrency',
        key: 'upstreams.risk.concurrency',
        setting: '50',
        layer: expect.any(Function),
      },
      { name: 'operation-concurrency', key: `${own}.concurrency`, setting: '20', layer: expect.any(Function) },
      {
        name: 'address-limit',
        key: 'limits.address',
        setting: 'rate: 100/s, burst: 200',
        layer: expect.any(Function),
      },
      { name: 'identity-field', key: 'auth.identityField', setting: 'X-Client-Id', layer: expect.any(Function) },
      { name: 'auth', key: `${own}.auth`, setting: 'apiKey', layer: expect.any(Function) },
      { name: 'client-concurrency', key: 'clients.concurrency', setting: 'of 1 client', layer: expect.any(Function) },
      { name: 'client-limit', key: 'clients.rate', setting: 'of 2 clients', layer: expect.any(Function) },
      { name: 'body-limit', key: `${own}.maxBody`, setting: '64KiB', layer: expect.any(Function) },
      {
        name: 'side',
        key: 'upstreams.risk.candidate.share',
        setting: '5%, clients: bank-a, bank-b',
        layer: expect.any(Function),
      },
      { name: 'request-contract', key: `${own}.contract.request`, setting: 'off', layer: null },
      { name: 'idempotency', key: `${own}.idempotency`, setting: 'false', layer: null },
      { name: 'deadline', key: `${own}.deadline`, setting: '2s', layer: expect.any(Function) },
      { name: 'response-contract', key: `${own}.contract.response`, setting: 'off', layer: null },
      { name: 'cache-invalidation', key: 'cache', setting: 'none', layer: null },
      { name: 'contract-learning', key: 'contract.learn', setting: 'false', layer: null },
      { name: 'retry', key: 'upstreams.risk.retry', setting: 'attempts: 3', layer: expect.any(Function) },
      { name: 'guard', key: 'upstreams.risk.candidate.guard', setting: 'none', layer: null },
    ])
  })

  test('has copies for a candidate above the retries, where the file asks for them', () => {
    const options = stackOptions({ id: 'risk.asset-valuation', retry })
    const { candidate } = testConfig({
      upstreams: {
        risk: {
          endpoints: ['http://a'],
          candidate: { endpoints: ['http://b'], shadow: { sample: '5%', posts: true, sideEffects: 'none' } },
        },
      },
    }).upstreams.risk
    const rowsWith = (shadow: object | null) => {
      const risk = {
        ...options.config.upstreams.risk,
        candidate: candidate && {
          ...candidate,
          shadow: shadow && candidate.shadow && { ...candidate.shadow, ...shadow },
        },
      }
      const config = { ...options.config, upstreams: { ...options.config.upstreams, risk } }
      return layerTable(withConfig(options, config)).slice(-4, -1)
    }
    const key = 'upstreams.risk.candidate.shadow'
    const marker = { name: 'shadow-marker', key: `${key}.marker`, setting: 'X-Shadow', layer: expect.any(Function) }
    const retryRow = expect.objectContaining({ name: 'retry' })
    const on = { name: 'shadow', key, setting: 'sample: 5%, compared', layer: expect.any(Function) }
    expect(rowsWith({})).toEqual([marker, on, retryRow])
    for (const off of [{ sample: 0 }, { posts: false }, { sideEffects: null }]) {
      const marked = fakeExchange({ fields: ['X-A', '1', 'x_shadow', '1'] })
      void rowsWith(off)[0]?.layer?.(untilAborted)(marked)

      // What a client must not send is removed all the same.
      expect([rowsWith(off), marked.fields]).toEqual([
        [marker, { name: 'shadow', key, setting: 'none', layer: null }, retryRow],
        ['X-A', '1'],
      ])
    }
    expect(rowsWith(null).map(({ name }) => name)).toEqual(['cache-invalidation', 'contract-learning', 'retry'])
  })

  test('has the guard below the retries, while the candidate has clients', () => {
    const options = stackOptions({ id: 'risk.asset-valuation' })
    const { candidate } = testConfig({
      upstreams: { risk: { endpoints: ['http://a'], candidate: 'http://b' } },
    }).upstreams.risk
    const rowWith = (share: number) => {
      const risk = { ...options.config.upstreams.risk, candidate: candidate && { ...candidate, share } }
      const config = { ...options.config, upstreams: { ...options.config.upstreams, risk } }
      return layerTable(withConfig(options, config)).at(-1)
    }
    const row = {
      name: 'guard',
      key: 'upstreams.risk.candidate.guard',
      setting: 'errors: 2x, latency: 1.5x, minRequests: 50, window: 1m',
    }

    expect(rowWith(0.05)).toEqual({ ...row, layer: expect.any(Function) })
    expect(rowWith(0)).toEqual({ ...row, layer: null })
  })

  test('has the cache of a GET, and has every POST invalidate it', () => {
    const config = testConfig({ operations: { 'market.insights': { cache: { staleIfError: '10m' } } } })
    const { cache } = config.operations['market.insights']
    const rowsOf = (more: Settings) => layerTable(stackOptions(more)).filter(({ name }) => name.startsWith('cache'))

    expect(rowsOf({ cache })).toEqual([
      {
        name: 'cache',
        key: 'operations.market.insights.cache',
        setting: 'on',
        layer: expect.any(Function),
      },
    ])
    expect(rowsOf({ id: 'leads.pipeline' })).toMatchObject([{ name: 'cache', setting: 'none', layer: null }])
    expect(rowsOf({ id: 'valuation.score', cache })).toMatchObject([
      { name: 'cache-invalidation', key: 'cache', setting: 'of what its answers name', layer: expect.any(Function) },
    ])
  })

  test('limits no client where there is no authentication', () => {
    const rows = layerTable(stackOptions({ clients: limitedClients }))

    expect(rows.filter(({ layer }) => layer !== null)).toEqual([])
  })

  test('lists what is off, without a layer', () => {
    expect(layerTable(stackOptions())).toMatchObject([
      { name: 'tracing', setting: 'none', layer: null },
      { name: 'server-timing', setting: 'false', layer: null },
      { name: 'metrics', setting: 'none', layer: null },
      { name: 'audit', setting: 'none', layer: null },
      { name: 'load-shedding', setting: 'none', layer: null },
      { name: 'concurrency', setting: 'none', layer: null },
      { name: 'upstream-concurrency', setting: 'none', layer: null },
      { name: 'operation-concurrency', setting: 'none', layer: null },
      { name: 'address-limit', setting: 'none', layer: null },
      { name: 'identity-field', setting: 'none', layer: null },
      { name: 'auth', setting: 'none', layer: null },
      { name: 'client-concurrency', setting: 'none', layer: null },
      { name: 'client-limit', setting: 'none', layer: null },
      { name: 'get-content', setting: 'forward', layer: null },
      { name: 'body-limit', setting: 'none', layer: null },
      { name: 'request-contract', setting: 'off', layer: null },
      { name: 'cache', setting: 'none', layer: null },
      { name: 'deadline', setting: 'none', layer: null },
      { name: 'response-contract', setting: 'off', layer: null },
      { name: 'contract-learning', setting: 'false', layer: null },
      { name: 'retry', setting: 'none', layer: null },
    ])
  })
})

describe('the order of the list', () => {
  test('a request over the concurrency limit is rejected before its body is looked at', async () => {
    const next = fakeNext()
    const handle = composeLayers(stackOptions({ limits: { concurrency: 1 }, deadline: 1000, maxBody: 1 }), next)
    void handle(fakeExchange())

    await expect(handle(fakeExchange({ body: fakeBody(2) }))).rejects.toMatchObject({ kind: 'overloaded' })
  })

  test('the address is counted before the body is looked at, and after the concurrency is', async () => {
    const limits = { concurrency: 1, address: { ...address, rate: { count: 1, perMs: 3_600_000 }, burst: 1 } }
    const handle = composeLayers(stackOptions({ limits, maxBody: 1 }), fakeNext())
    const first = fakeExchange()
    await handle(first)

    await expect(handle(fakeExchange({ client: '192.0.2.1' }))).rejects.toMatchObject({ kind: 'overloaded' })
    first.finish()
    const body = fakeBody(2)
    await expect(handle(fakeExchange({ body }))).rejects.toMatchObject({ kind: 'rate-limited' })
  })

  test('the content of a GET is rejected after the address is counted, whatever maxBody is', async () => {
    const limits = { address: { ...address, rate: { count: 1, perMs: 3_600_000 }, burst: 1 } }
    const handle = composeLayers(stackOptions({ limits, maxBody: 1, getContent: 'reject' }), fakeNext())
    const exchange = () => fakeExchange({ body: fakeBody(2), client: '192.0.2.1' })

    await expect(handle(exchange())).rejects.toMatchObject({ reason: 'get-content' })
    await expect(handle(exchange())).rejects.toMatchObject({ kind: 'rate-limited' })
  })

  test('a body over its limit is rejected before the deadline has begun', async () => {
    const next = fakeNext()
    const handle = composeLayers(stackOptions({ deadline: 1, maxBody: 1 }), next)
    const body = fakeBody(2)

    await expect(handle(fakeExchange({ body }))).rejects.toMatchObject({ kind: 'content-too-large' })

    expect(body.onReceived).toBeNull()
    expect(next.calls).toBe(0)
  })

  test('the limit is set before anything is sent', async () => {
    const seen: number[] = []
    const next = fakeNext((exchange) => {
      seen.push(exchange.body.maxBytes)
      return Promise.reject(new GatewayError('connect-failed'))
    })
    const handle = composeLayers(stackOptions({ deadline: 1000, maxBody: 7 }), next)

    await expect(handle(fakeExchange({ body: fakeBody(null) }))).rejects.toMatchObject({ kind: 'connect-failed' })

    expect(seen).toEqual([7])
  })

  test('the deadline ends what the upstream does not', async () => {
    const handle = composeLayers(stackOptions({ deadline: 1, maxBody: 7 }), untilAborted)

    await expect(handle(fakeExchange())).rejects.toMatchObject({ kind: 'deadline-exceeded' })
  })
})

describe('concurrency limits', () => {
  const overloaded = { kind: 'overloaded', fields: ['Retry-After', '1'] }

  test('all apply: none overrides another', async () => {
    const process = openTestParts()
    const otherLimits = { limits: { concurrency: 3 }, upstreamConcurrency: 2, process }
    const score = composeLayers(stackOptions({ id: 'valuation.score', ...otherLimits, concurrency: 1 }), fakeNext())
    const forecast = composeLayers(stackOptions({ id: 'valuation.forecast', ...otherLimits }), fakeNext())
    const insights = composeLayers(
      stackOptions({ id: 'market.insights', limits: { concurrency: 3 }, process }),
      fakeNext(),
    )

    await score(fakeExchange())
    const second = fakeExchange()
    await expect(score(second)).rejects.toMatchObject(overloaded) // by its own
    second.finish()
    await forecast(fakeExchange())
    const third = fakeExchange()
    await expect(forecast(third)).rejects.toMatchObject(overloaded) // by that of its upstream, which both share
    third.finish()
    await insights(fakeExchange())
    await expect(insights(fakeExchange())).rejects.toMatchObject(overloaded) // by that of all
  })

  test('a request that one rejects no longer counts at the others when it has finished', async () => {
    const process = openTestParts()
    const handle = composeLayers(stackOptions({ limits: { concurrency: 9 }, concurrency: 1, process }), fakeNext())
    const [served, rejected] = [fakeExchange(), fakeExchange()]

    await handle(served)
    await expect(handle(rejected)).rejects.toMatchObject(overloaded)
    rejected.finish()

    expect(process.limits.counts.all.inFlight).toBe(1)
  })
})

describe('retries', () => {
  beforeEach(() => vi.useFakeTimers())
  afterEach(() => vi.useRealTimers())

  /** Responds with 503 the first so many times. */
  const failing = (times: number) => {
    let left = times
    return fakeNext(() => Promise.resolve(fakeResponse(left-- > 0 ? 503 : 200)))
  }

  const idempotency = { ...testConfig().idempotency, onUnknown: 'forward' } as const

  const keyed = { operation: 'valuation.score', fields: ['Idempotency-Key', 'a'] } as const

  /** Sends a request, and returns the status or the kind of failure. */
  const outcomeOf = async (
    handle: ReturnType<typeof composeLayers>,
    exchange = fakeExchange(),
  ): Promise<number | string> => {
    const ended = handle(exchange).then(
      ({ status }) => status,
      (error) => GatewayError.from(error).kind,
    )
    await vi.runAllTimersAsync()
    return ended
  }

  test('share one deadline', async () => {
    let attempts = 0
    const next = fakeNext((exchange) =>
      ++attempts === 1 ? Promise.resolve(fakeResponse(503)) : untilAborted(exchange),
    )
    const startedAt = performance.now()

    const outcome = await outcomeOf(composeLayers(stackOptions({ deadline: 1000, retry }), next))

    expect(outcome).toBe('deadline-exceeded')
    expect(next.calls).toBe(2)
    expect(Math.round(performance.now() - startedAt)).toBe(1000)
  })

  test('share the budget of their upstream', async () => {
    const options = stackOptions({ retry: { ...retry, budget: { share: 0, floor: 1 } } })
    const [first, second] = [failing(1), failing(1)]

    const outcomes = [
      await outcomeOf(composeLayers(options, first)),
      await composeLayers(options, second)(fakeExchange()).then(({ status }) => status),
    ]

    expect(outcomes).toEqual([200, 503])
  })

  test('follow a GET', async () => {
    const next = failing(1)

    expect(await outcomeOf(composeLayers(stackOptions({ retry }), next))).toBe(200)
  })

  test.each<[string, Settings, number]>([
    ['of an operation that is not idempotent', {}, 503],
    ['of one that does', { idempotency }, 200],
    ['whose key is removed on its way', { idempotency, request: { set: [], remove: ['idempotency_key'] } }, 503],
    [
      'whose key is replaced',
      {
        idempotency,
        request: { set: [{ name: 'Idempotency-Key', value: 'b', secret: false, hidden: true }], remove: [] },
      },
      503,
    ],
    [
      'whose other fields are edited',
      { idempotency, request: { set: [{ name: 'X-Key', value: 'b', secret: false, hidden: true }], remove: ['Y'] } },
      200,
    ],
  ])('and a POST with a key, %s', async (_, settings, status) => {
    const handle = composeLayers(stackOptions({ id: 'valuation.score', retry, ...settings }), failing(1))

    expect(await outcomeOf(handle, fakeExchange(keyed))).toBe(status)
  })
})
