import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import type { Handler } from '../../../../src/core/exchange/exchange.ts'
import { GatewayError } from '../../../../src/core/exchange/failures/errors.ts'
import { RequestMetrics } from '../../../../src/core/log/metrics/request-metrics.ts'
import {
  composeLayers,
  type LayerStackOptions,
  layerTable,
} from '../../../../src/core/runtime/pipeline/compose-layers.ts'
import { prepareParts } from '../../../../src/core/runtime/runtime-parts.ts'
import type { GroupEndpoint } from '../../../../src/core/upstream/endpoints/group-endpoint.ts'
import type { Upstream } from '../../../../src/core/upstream/upstream.ts'
import { findCandidateUse } from '../../../../src/features/candidate/candidate-clients.ts'
import { createSend } from '../../../../src/features/candidate/layers/split-send.ts'
import { allOperations, type OperationId } from '../../../../src/operations.ts'
import { folderWith } from '../../../core/config/helper.ts'
import { fakeBody, fakeExchange, fakeNext, fakeResponse, untilAborted } from '../../../helpers/exchange.ts'
import { type Settings, testConfig } from '../../../helpers/gateway.ts'
import { acquireTestParts, openTestParts, toInput } from '../../../helpers/parts.ts'

const otlp = 'http://localhost:4318/v1/traces'
const retry = { attempts: 3, on: ['connect-failed', 503], budget: { share: '10%', floor: 3 } }
const oncePerHour = { rate: '1/min', burst: 1 }
const auth = { methods: ['apiKey'], identityField: 'X-Client-Id' }
const clients = [
  { id: 'bank-a', operations: 'all', rate: '1/s', concurrency: 4 },
  { id: 'bank-b', operations: 'all', rate: '1/s' },
]

await prepareParts(toInput(testConfig({ tracing: { otlp } })))

/** Makes the options of the stack of an operation, with everything off but the given settings. */
const stackOptions = (
  { limits, defaults, listen, ...more }: Settings = {},
  id: OperationId = 'market.insights',
  process = openTestParts(),
): LayerStackOptions => {
  const config = testConfig({
    limits: { concurrency: 'none', eventLoopDelay: 'none', ...limits },
    defaults: { deadline: 'none', maxBody: 'none', ...defaults },
    listen: { getContent: 'forward', ...listen },
    metrics: 'none',
    ...more,
  })
  const parts = acquireTestParts(config, process)
  parts.idempotency?.activate?.()
  return {
    operation: allOperations.find((each) => each.id === id) ?? allOperations[0],
    config,
    features: Object.values(parts),
    requestMetrics: new RequestMetrics(),
  }
}

/** Prints the rows of a table, and whether each has a layer. */
const print = (options: LayerStackOptions): readonly string[] =>
  layerTable(options).map(({ name, key, setting, layer }) => `${layer ? '+' : '-'} ${name}: ${key}: ${setting}`)

const risk = (more: object) => ({ upstreams: { risk: { endpoints: ['http://a'], ...more } } })

const activate = (): void => {}
const fakeUpstream = (): Upstream => ({ send: fakeNext(), members: [], balance: 'p2c', breaker: null, activate })

test('with everything off the handler is the send of the upstream itself, with a candidate that gets nothing too', () => {
  const options = stackOptions({ upstreams: { market: { endpoints: ['http://a'], candidate: 'http://b' } } })
  const { candidate } = options.config.upstreams.market
  if (candidate === null) throw new Error('there is no candidate')
  const primary = fakeUpstream()

  const send = createSend(primary, fakeUpstream(), candidate, findCandidateUse(candidate, null))

  expect(send).toBe(primary.send)
  for (const each of [stackOptions(), options]) expect(composeLayers(each, send)).toBe(send)
})

test('a candidate that operators have drained since is not up: its clients go to the primary', async () => {
  const health = { isDown: false, isEjected: () => false }
  const drained = { receivesTraffic: true, takesRequests: false, health } as unknown as GroupEndpoint
  const next = fakeNext()
  const { candidate } = testConfig(risk({ candidate: 'http://b' })).upstreams.risk
  if (candidate === null) throw new Error('there is no candidate')
  const other = { ...fakeUpstream(), send: next, members: [drained] }
  const exchange = Object.assign(fakeExchange(), { side: 'candidate' as const })

  await createSend(fakeUpstream(), other, candidate, { share: 1, clients: [] })(exchange)

  expect([exchange.attempts.fellBack, next.calls]).toEqual([true, 0])
})

test('an operation out of service is rejected, whatever else is on, and counts nowhere', async () => {
  const next = fakeNext()
  const process = openTestParts()
  const operations = { 'market.insights': { state: 'reject', concurrency: 1 } }
  const settings = { operations, limits: { concurrency: 1 }, defaults: { deadline: '1s', maxBody: '1B', retry } }
  const handle = composeLayers(stackOptions(settings, 'market.insights', process), next)

  await expect(handle(fakeExchange({ body: fakeBody(100) }))).rejects.toMatchObject({ kind: 'rejected-by-operator' })
  expect(next.calls).toBe(0)
  expect(process.limits.counts).toEqual(openTestParts().limits.counts)
})

test.each([
  ['serve', 'reject'],
  ['reject', 'serve'],
] as const)('an operation of state %s behaves as %s when an operator overrides it', async (state, override) => {
  const next = fakeNext()
  const options = stackOptions({ operations: { 'market.insights': { state } } })
  const times = { since: 0, until: 0, endsAt: 0 }

  const handle = composeLayers(options, next, { state: override, by: 'anna', reason: null, ...times })

  if (override === 'serve') return expect(handle).toBe(next)
  await expect(handle(fakeExchange())).rejects.toMatchObject({ kind: 'rejected-by-operator' })
})

describe('the table', () => {
  test('names each layer, the outermost first, with its key and setting', () => {
    const own = 'operations.risk.asset-valuation'
    const key = `file:${folderWith({ key: 'k'.repeat(32) })}/key`
    const options = stackOptions(
      {
        ...{ auth, clients, metrics: { clients: true } },
        ...risk({
          concurrency: 50,
          candidate: { endpoints: ['http://b'], share: '5%', clients: ['bank-a', 'bank-b'] },
        }),
        limits: { address: { rate: '100/s', burst: 200 }, concurrency: 10_000, eventLoopDelay: '250ms' },
        operations: { 'risk.asset-valuation': { concurrency: 20 } },
        defaults: { deadline: '2s', maxBody: '64KiB', retry },
        audit: { file: '/var/log/audit.log', key, digests: 'both', onFailure: 'reject' },
        tracing: { otlp, sample: '1%', serverTiming: true },
      },
      'risk.asset-valuation',
    )

    expect(print(options)).toEqual([
      '+ tracing: tracing.otlp: http://localhost:4318/v1/traces, sample: 1%',
      '+ server-timing: tracing.serverTiming: true',
      '+ metrics: metrics: clients: true',
      '+ audit: audit.onFailure: onFailure: reject, digests: both',
      '+ load-shedding: limits.eventLoopDelay: 250ms',
      '+ concurrency: limits.concurrency: 10000',
      '+ upstream-concurrency: upstreams.risk.concurrency: 50',
      `+ operation-concurrency: ${own}.concurrency: 20`,
      '+ address-limit: limits.address: rate: 100/s, burst: 200',
      '+ identity-field: auth.identityField: X-Client-Id',
      `+ auth: ${own}.auth: apiKey`,
      '+ client-concurrency: clients.concurrency: of 1 client',
      '+ client-limit: clients.rate: of 2 clients',
      `+ body-limit: ${own}.maxBody: 64KiB`,
      '+ side: upstreams.risk.candidate.share: 5%, clients: bank-a, bank-b',
      `- request-contract: ${own}.contract.request: off`,
      `- idempotency: ${own}.idempotency: false`,
      `+ deadline: ${own}.deadline: 2s`,
      `- response-contract: ${own}.contract.response: off`,
      '- cache-invalidation: cache: none',
      '- contract-learning: contract.learn: false',
      '+ retry: upstreams.risk.retry: attempts: 3',
      '+ guard: upstreams.risk.candidate.guard: errors: 2x, latency: 1.5x, minRequests: 50, window: 1m',
    ])
  })

  test('lists what is off, without a layer', () => {
    const rows = layerTable(stackOptions())
    const settings = Object.fromEntries(rows.map(({ name, setting }) => [name, setting]))

    expect(rows.filter(({ layer }) => layer !== null)).toEqual([])
    expect(Object.keys(settings).join(' ')).toBe(
      'tracing server-timing metrics audit load-shedding concurrency upstream-concurrency operation-concurrency ' +
        'address-limit identity-field auth client-concurrency client-limit get-content body-limit request-contract ' +
        'cache deadline response-contract contract-learning retry',
    )
    expect(Object.entries(settings).filter(([, setting]) => setting !== 'none')).toEqual([
      ['server-timing', 'false'],
      ['get-content', 'forward'],
      ['request-contract', 'off'],
      ['response-contract', 'off'],
      ['contract-learning', 'false'],
    ])
  })

  test('limits no client where there is no authentication', () => {
    const options = stackOptions()
    const config = { ...options.config, clients: testConfig({ auth, clients }).clients }

    const rows = layerTable({ ...options, config, features: Object.values(acquireTestParts(config)) })

    expect(rows.filter(({ layer }) => layer !== null)).toEqual([])
  })

  const shadow = { sample: '5%', posts: true, sideEffects: 'none' }
  const [retries, invalidation] = ['+ retry: upstreams.risk.retry: attempts: 3', '- cache-invalidation: cache: none']
  const learning = '- contract-learning: contract.learn: false'
  const marker = '+ shadow-marker: upstreams.risk.candidate.shadow.marker: X-Shadow'
  const [copies, none] = ['+', '-'].map((sign) => `${sign} shadow: upstreams.risk.candidate.shadow:`)

  test.each([
    ['above the retries', shadow, [marker, `${copies} sample: 5%, compared`, retries]],
    ['of none', { ...shadow, sample: '0%' }, [marker, `${none} none`, retries]],
    ['of no POST', { sample: '5%' }, [marker, `${none} none`, retries]],
    ['that the file does not ask for', 'none', [invalidation, learning, retries]],
  ])('has copies for a candidate: %s', (_, shadow, rows) => {
    const options = stackOptions(
      risk({ retry, candidate: { endpoints: ['http://b'], shadow } }),
      'risk.asset-valuation',
    )

    expect(print(options).slice(-4, -1)).toEqual(rows)
    if (rows[0] !== marker) return

    const marked = fakeExchange({ fields: ['X-A', '1', 'x_shadow', '1'] })
    void layerTable(options).at(-4)?.layer?.(untilAborted)(marked)
    expect(marked.fields).toEqual(['X-A', '1']) // what a client must not send is removed, with copies or without
  })

  test('has no guard while the candidate has no clients', () => {
    const row = print(stackOptions(risk({ candidate: 'http://b' }), 'risk.asset-valuation')).at(-1)

    expect(row).toMatch(/^- guard: upstreams.risk.candidate.guard: errors: 2x/)
  })

  test.each<[OperationId, boolean, string]>([
    ['market.insights', true, '+ cache: operations.market.insights.cache: on'],
    ['leads.pipeline', true, '- cache: operations.leads.pipeline.cache: none'],
    ['valuation.score', true, '+ cache-invalidation: cache: of the URLs in Location and Content-Location'],
    ['valuation.score', false, '- cache-invalidation: cache: none'],
  ])('has the cache of a GET, and has every POST invalidate it: %s: %s', (id, cache, row) => {
    const rows = print(stackOptions({ operations: { 'market.insights': { cache } } }, id))

    expect(rows.filter((each) => each.includes(' cache'))).toEqual([row])
  })
})

describe('the order of the list', () => {
  const deadline = { deadline: '1ms', maxBody: '1B' }

  test('the address is counted before the body is looked at, and after the concurrency is', async () => {
    const settings = { limits: { concurrency: 1, address: oncePerHour }, defaults: { maxBody: '1B' } }
    const handle = composeLayers(stackOptions(settings), fakeNext())
    const [first, other] = [fakeExchange(), fakeExchange({ client: '192.0.2.1', body: fakeBody(2) })]
    await handle(first)

    await expect(handle(other)).rejects.toMatchObject({ kind: 'overloaded' })
    first.finish()
    await expect(handle(fakeExchange({ body: fakeBody(2) }))).rejects.toMatchObject({ kind: 'rate-limited' })
  })

  test('the content of a GET is rejected after the address is counted, whatever maxBody is', async () => {
    const settings = { limits: { address: oncePerHour }, defaults: { maxBody: '1B' }, listen: { getContent: 'reject' } }
    const handle = composeLayers(stackOptions(settings), fakeNext())
    const exchange = () => fakeExchange({ body: fakeBody(2), client: '192.0.2.1' })

    await expect(handle(exchange())).rejects.toMatchObject({ reason: 'get-content' })
    await expect(handle(exchange())).rejects.toMatchObject({ kind: 'rate-limited' })
  })

  test('a body over its limit is rejected before the deadline has begun', async () => {
    const next = fakeNext()
    const body = fakeBody(2)

    const handled = composeLayers(stackOptions({ defaults: deadline }), next)(fakeExchange({ body }))

    await expect(handled).rejects.toMatchObject({ kind: 'content-too-large' })
    expect([body.onReceived, next.calls]).toEqual([null, 0])
  })

  test('the limit of a body is set before anything is sent, and the deadline ends what the upstream does not', async () => {
    const body = fakeBody(null)
    const seen: number[] = []
    const next = fakeNext((exchange) => {
      seen.push(exchange.body.maxBytes)
      return untilAborted(exchange)
    })

    const handled = composeLayers(stackOptions({ defaults: deadline }), next)(fakeExchange({ body }))

    await expect(handled).rejects.toMatchObject({ kind: 'deadline-exceeded' })
    expect(seen).toEqual([1])
  })
})

describe('concurrency limits', () => {
  const overloaded = { kind: 'overloaded', fields: ['Retry-After', '1'] }

  test('all apply: none overrides another, and what one rejects counts no longer when it has finished', async () => {
    const process = openTestParts()
    const settings = {
      limits: { concurrency: 3 },
      upstreams: { valuation: { endpoints: ['http://a'], concurrency: 2 } },
      operations: { 'valuation.score': { concurrency: 1 } },
    }
    const [score, forecast, insights] = (['valuation.score', 'valuation.forecast', 'market.insights'] as const).map(
      (id) => composeLayers(stackOptions(settings, id, process), fakeNext()),
    )

    await score?.(fakeExchange())
    const second = fakeExchange()
    await expect(score?.(second)).rejects.toMatchObject(overloaded) // by its own
    second.finish()
    await forecast?.(fakeExchange())
    const third = fakeExchange()
    await expect(forecast?.(third)).rejects.toMatchObject(overloaded) // by that of its upstream, which both share
    third.finish()
    await insights?.(fakeExchange())
    expect(process.limits.counts.all.inFlight).toBe(3)
    await expect(insights?.(fakeExchange())).rejects.toMatchObject(overloaded) // by that of all
  })
})

describe('retries', () => {
  beforeEach(() => vi.useFakeTimers())
  afterEach(() => vi.useRealTimers())

  /** Responds with 503 the first time. */
  const failingOnce = () => {
    let status = 503
    return fakeNext(() => {
      const response = fakeResponse(status)
      status = 200
      return Promise.resolve(response)
    })
  }

  /** Sends a request, and returns the status or the kind of failure that it has after a second. */
  const outcomeOf = async (handle: Handler, exchange = fakeExchange()): Promise<number | string> => {
    let outcome: number | string = 'none'
    void handle(exchange).then(
      ({ status }) => (outcome = status),
      (error) => (outcome = GatewayError.from(error).kind),
    )
    await vi.advanceTimersByTimeAsync(1000)
    return outcome
  }

  test('share one deadline', async () => {
    const responses = [() => Promise.resolve(fakeResponse(503)), untilAborted]
    const next = fakeNext((exchange) => (responses.shift() ?? untilAborted)(exchange))

    const outcome = await outcomeOf(composeLayers(stackOptions({ defaults: { deadline: '1s', retry } }), next))

    expect([outcome, next.calls]).toEqual(['deadline-exceeded', 2])
  })

  test('share the budget of their upstream', async () => {
    const options = stackOptions({ defaults: { retry: { ...retry, budget: { share: '1%', floor: 1 } } } })

    const outcomes = [
      await outcomeOf(composeLayers(options, failingOnce())),
      await outcomeOf(composeLayers(options, failingOnce())),
    ]

    expect(outcomes).toEqual([200, 503])
  })

  const idempotency = { onUnknown: 'forward' }

  test.each<[string, object, object, number]>([
    ['of an operation that is not idempotent', {}, {}, 503],
    ['of one that is', { idempotency }, {}, 200],
    ['whose key is removed on its way', { idempotency }, { remove: ['idempotency_key'] }, 503],
    ['whose key is replaced', { idempotency }, { set: { 'Idempotency-Key': 'b' } }, 503],
    ['whose other fields are edited', { idempotency }, { set: { 'X-Key': 'b' }, remove: ['Y'] }, 200],
  ])('follow a POST with a key, %s', async (_, operation, request, status) => {
    const settings = {
      operations: { 'valuation.score': operation },
      upstreams: { valuation: { endpoints: ['http://a'], request, retry } },
    }
    const exchange = fakeExchange({ operation: 'valuation.score', fields: ['Idempotency-Key', 'a'] })

    const outcome = await outcomeOf(composeLayers(stackOptions(settings, 'valuation.score'), failingOnce()), exchange)

    expect(outcome).toBe(status)
  })
})
