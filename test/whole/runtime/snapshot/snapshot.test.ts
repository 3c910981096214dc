import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { describe, expect, onTestFinished, test } from 'vitest'
import type { EndpointConfig, UpstreamConfig } from '../../../../src/core/config/config.ts'
import { now } from '../../../../src/core/lib/clock.ts'
import { Overrides } from '../../../../src/core/runtime/overrides.ts'
import { createProcessTelemetry } from '../../../../src/core/runtime/pipeline/observers.ts'
import { buildSnapshot, type SharedResources } from '../../../../src/core/runtime/snapshot/data-plane.ts'
import { CurrentSnapshot, createSnapshot, type Snapshot } from '../../../../src/core/runtime/snapshot/snapshot.ts'
import { EndpointRegistry } from '../../../../src/core/upstream/endpoints/endpoint-registry.ts'
import type { EndpointHealth } from '../../../../src/core/upstream/health/endpoint-health.ts'
import type { RetryConfig } from '../../../../src/features/retry/config.ts'
import { allOperations, groups } from '../../../../src/operations.ts'
import { fakeExchange } from '../../../helpers/exchange.ts'
import { testConfig } from '../../../helpers/gateway.ts'
import { openTestParts, toInput } from '../../../helpers/parts.ts'

/** Creates a snapshot that records when it releases its resources. */
const fakeSnapshot = () => {
  const events: string[] = []
  const release = async (): Promise<void> => void events.push('released')
  const parts = {
    config: testConfig(),
    parts: {} as Snapshot['parts'],
    handlers: {} as Snapshot['handlers'],
    upstreams: {} as Snapshot['upstreams'],
    others: {} as Snapshot['others'],
    telemetry: createProcessTelemetry(null, 'gateway'),
    observers: [],
  }
  const snapshot = createSnapshot(parts, release)
  return { events, snapshot }
}

describe('a snapshot that is retired', () => {
  test('releases its resources at once when it is idle', async () => {
    const { snapshot, events } = fakeSnapshot()

    await snapshot.retire()

    expect(events).toEqual(['released'])
  })

  test('waits for what is in flight, all of it', async () => {
    const { snapshot, events } = fakeSnapshot()
    snapshot.acquire()
    snapshot.acquire()

    const retired = snapshot.retire()
    snapshot.release()
    await Promise.resolve()
    const early = [...events]
    snapshot.release()
    await retired

    expect(early).toEqual([])
    expect(events).toEqual(['released'])
  })
})

describe('the current snapshot', () => {
  test('decides how many copies may be under way: one that was only prepared does not', async () => {
    const configOf = (concurrency: number) =>
      testConfig({
        upstream,
        upstreams: {
          market: {
            endpoints: ['http://a'],
            candidate: { endpoints: ['http://b'], shadow: { sample: '1%', concurrency } },
          },
        },
      })
    const shared = sharedResources(new EndpointRegistry())
    const take = (count: number) => {
      const { market } = first.parts.candidate.copies
      const copies = Array.from({ length: count }, () => ({ slot: -1, isRepeat: false, stop: () => {} }))
      const taken = copies.filter((copy) => market.begin(copy) === null).length
      for (const copy of copies) market.end(copy)
      return taken
    }
    const first = buildSnapshot(toInput(configOf(2)), null, shared)
    const current = new CurrentSnapshot(first)

    const second = buildSnapshot(toInput(configOf(3)), first, shared)
    const before = take(5)
    current.swap(second)

    expect([before, take(5)]).toEqual([2, 3])
    await current.close()
  })

  test('is the one that was swapped in last, and each before it is retired when its requests have ended', async () => {
    const [first, second, third] = [fakeSnapshot(), fakeSnapshot(), fakeSnapshot()]
    const current = new CurrentSnapshot(first.snapshot)
    first.snapshot.acquire()

    current.swap(second.snapshot)
    current.swap(third.snapshot)
    await Promise.resolve()
    const early = [current.value, first.events.length, second.events.length]
    first.snapshot.release()
    await current.close()

    expect(early).toEqual([third.snapshot, 0, 1])
    expect([first, second, third].map(({ events }) => events)).toEqual([['released'], ['released'], ['released']])
    expect(current.retiring).toBe(0)
  })
})

const upstream = 'http://upstream.invalid'

const sharedResources = (endpoints: EndpointRegistry): SharedResources => ({
  endpoints,
  telemetry: createProcessTelemetry(null, 'gateway'),
  parts: openTestParts(),
})

describe('a configuration', () => {
  test('becomes nine handlers and eight upstreams', async () => {
    const endpoints = new EndpointRegistry()

    const snapshot = buildSnapshot(toInput(testConfig({ upstream })), null, sharedResources(endpoints))

    expect(Object.keys(snapshot.handlers)).toEqual(allOperations.map(({ id }) => id))
    expect(Object.keys(snapshot.upstreams)).toEqual(groups)
    expect(endpoints.size).toBe(8)
    await snapshot.retire()
    expect(endpoints.size).toBe(0)
  })

  test('with everything off has the send of the single endpoint itself as its handler', async () => {
    const endpoints = new EndpointRegistry()
    const defaults = { deadline: 'none', maxBody: 'none', outlier: 'none' }

    const limits = { concurrency: 'none' }
    const listen = { getContent: 'forward' }
    const { handlers, upstreams } = buildSnapshot(
      toInput({ ...testConfig({ upstream, defaults, limits, listen }), metrics: null }),
      null,
      sharedResources(endpoints),
    )

    for (const { id, group } of allOperations) expect(handlers[id]).toBe(upstreams[group].members[0]?.send)
    await endpoints.destroy(new Error('the test is over'))
  })

  test('keeps what is known of an endpoint, and a breaker whose settings are the same', async () => {
    const endpoints = new EndpointRegistry()
    const settings = (weight: number, openFor = '5s') =>
      testConfig({
        upstream,
        defaults: { tls: { minVersion: weight === 100 ? 'TLSv1.2' : 'TLSv1.3' } }, // which it does not speak
        upstreams: {
          market: { endpoints: [{ url: upstream, weight }, 'http://b.invalid'], circuitBreaker: { openFor } },
        },
      })
    const before = buildSnapshot(toInput(settings(100)), null, sharedResources(endpoints))
    const { health } = before.upstreams.market.members[0] ?? {}
    health?.recordOutcome('failure', 503)

    const after = buildSnapshot(toInput(settings(7)), before, sharedResources(endpoints))
    const other = buildSnapshot(toInput(settings(7, '9s')), after, sharedResources(endpoints))

    expect(after.upstreams.market.members[0]?.health).toBe(health)
    expect(after.upstreams.market.breaker).toBe(before.upstreams.market.breaker)
    expect(other.upstreams.market.breaker).not.toBe(before.upstreams.market.breaker)
    await endpoints.destroy(new Error('the test is over'))
  })

  test.each<[string, readonly unknown[], boolean]>([
    ['one more', ['http://a.invalid', 'http://b.invalid'], true],
    ['others', ['http://b.invalid', 'http://c.invalid'], false],
    ['others, the first without weight', [{ url: 'http://a.invalid', weight: 0 }, 'http://b.invalid'], false],
  ])('keeps a breaker while one of its endpoints receives traffic: %s', async (_, next, kept) => {
    const endpoints = new EndpointRegistry()
    const around = (market: readonly unknown[], previous: Snapshot | null) => {
      const config = testConfig({ upstream, upstreams: { market: { endpoints: market, circuitBreaker: {} } } })
      return buildSnapshot(toInput(config), previous, sharedResources(endpoints))
    }
    const before = around(['http://a.invalid'], null)

    const after = around(next, before)

    expect(after.upstreams.market.breaker === before.upstreams.market.breaker).toBe(kept)
    await endpoints.destroy(new Error('the test is over'))
  })

  test('keeps the endpoints that it does not change, and closes the others when the previous snapshot has ended', async () => {
    const endpoints = new EndpointRegistry()
    const before = buildSnapshot(toInput(testConfig({ upstream })), null, sharedResources(endpoints))
    const reroute = {
      upstream,
      upstreams: { market: 'http://other.invalid', risk: { endpoints: [{ url: upstream, weight: 7 }] } },
    }

    const after = buildSnapshot(toInput(testConfig(reroute)), before, sharedResources(endpoints))
    const both = endpoints.size
    await before.retire()

    const endpointOf = ({ upstreams }: Snapshot, group: 'market' | 'risk') => upstreams[group].members[0]?.endpoint
    expect(both).toBe(9)
    expect(endpoints.size).toBe(8)
    expect(endpointOf(after, 'risk')).toBe(endpointOf(before, 'risk'))
    expect(endpointOf(after, 'market')).not.toBe(endpointOf(before, 'market'))
    expect(after.upstreams.risk.members[0]?.weight).toBe(7)
    await after.retire()
  })

  test.each([
    ['connect timeout', { timeouts: { connect: '1s' } }],
    ['time of keeping idle connections', { keepAlive: '1s' }],
    ['number of connections', { maxConnections: 1 }],
  ])('opens an endpoint anew when its %s is another', async (_, defaults) => {
    const endpoints = new EndpointRegistry()
    const before = buildSnapshot(toInput(testConfig({ upstream })), null, sharedResources(endpoints))

    const after = buildSnapshot(toInput(testConfig({ upstream, defaults })), before, sharedResources(endpoints))

    expect(endpoints.size).toBe(16)
    await Promise.all([before.retire(), after.retire()])
  })

  describe('with retries', () => {
    const retry: RetryConfig = {
      attempts: 3,
      on: ['connect-failed', 503],
      backoff: { base: 25, max: 250 },
      budget: { share: 0.1, floor: 3 },
    }

    /**
     * Builds one snapshot after the other, each with these retries for one group, and returns the budgets of that
     * group.
     */
    const budgetsOf = (...retries: readonly (RetryConfig | null)[]) => {
      const endpoints = new EndpointRegistry()
      let previous: Snapshot | null = null
      return retries.map((each) => {
        const config = testConfig({ upstream })
        const risk = { ...config.upstreams.risk, retry: each }
        const changed = { ...config, upstreams: { ...config.upstreams, risk } }
        previous = buildSnapshot(toInput(changed), previous, sharedResources(endpoints))
        onTestFinished(previous.retire.bind(previous))
        return previous.parts.retry.budgets.risk
      })
    }

    test('has a budget for each group that retries', () => {
      expect(budgetsOf(null, retry)).toEqual([null, expect.objectContaining({ settings: retry.budget })])
    })

    test('goes on with the budget that is the same, whatever else of them is not', () => {
      const [before, after] = budgetsOf(retry, { ...retry, attempts: 5, backoff: { base: 1, max: 1 } })

      expect(after).toBe(before)
    })

    test.each<[string, RetryConfig['budget']]>([
      ['share', { share: 0.2, floor: 3 }],
      ['floor', { share: 0.1, floor: 4 }],
    ])('starts another one when its %s is another', (_, budget) => {
      const [before, after] = budgetsOf(retry, { ...retry, budget })

      expect(after?.settings).toEqual(budget)
      expect(after).not.toBe(before)
    })

    test('starts another one when there was none for a while', () => {
      const [before, off, after] = budgetsOf(retry, null, retry)

      expect(off).toBeNull()
      expect(after).not.toBe(before)
    })
  })

  test('that cannot be built releases everything that it acquired', async () => {
    const endpoints = new EndpointRegistry()

    expect(() =>
      buildSnapshot(
        toInput(testConfig({ upstream, upstreams: { market: 'sandbox' } })),
        null,
        sharedResources(endpoints),
      ),
    ).toThrow()

    await expect.poll(() => endpoints.size).toBe(0)
  })

  test('is overridden, as long as the override holds', async () => {
    const endpoints = new EndpointRegistry()
    const overrides = new Overrides()
    overrides.operations.set('market.insights', 'refuse', 60_000, 'anna')

    const snapshot = buildSnapshot(
      { ...toInput(testConfig({ upstream })), overrides: overrides },
      null,
      sharedResources(endpoints),
    )

    await expect(snapshot.handlers['market.insights'](fakeExchange())).rejects.toMatchObject({
      kind: 'refused-by-operator',
    })
    overrides.clear()
    await snapshot.retire()
  })
})

describe('what is known of an endpoint is kept', () => {
  const healthCheck = { path: '/health', interval: '1h' }
  const base = { endpoints: [{ url: `${upstream}/v1` }, 'http://b.invalid'], healthCheck }

  // Each setting of an upstream but `endpoints`, with an edit of it.
  const edits: Readonly<Record<string, object>> = {
    host: { host: 'other.invalid' },
    request: { request: { set: { 'X-A': 'b' } } },
    response: { response: { remove: ['Server'] } },
    timeouts: { timeouts: { connect: '1s', headers: '1s', body: '1s' } },
    keepAlive: { keepAlive: '1s' },
    maxConnections: { maxConnections: 7 },
    maxPending: { maxPending: 7 },
    concurrency: { concurrency: 7 },
    resolve: { resolve: '7s' },
    tls: { tls: { minVersion: 'TLSv1.3', serverName: 'other.invalid' } },
    balance: { balance: 'round-robin' },
    slowStart: { slowStart: '1s' },
    healthCheck: { healthCheck: { ...healthCheck, interval: '30m', timeout: '1s', expect: '204', healthyAfter: 7 } },
    outlier: { outlier: { consecutiveFailures: 7 } },
    circuitBreaker: { circuitBreaker: {} },
    retry: { retry: {} },
    deadline: { deadline: '7s' },
    maxBody: { maxBody: '7MiB' },
    candidate: { candidate: 'http://c.invalid' },
    'the weight of an endpoint': { endpoints: [{ url: `${upstream}/v1`, weight: 7 }, 'http://b.invalid'] },
    'the other endpoints': { endpoints: [{ url: `${upstream}/v1` }, 'http://c.invalid', 'http://d.invalid'] },
    'health check, its path': { healthCheck: { ...healthCheck, path: '/other' } },
  }

  test('over an edit of every setting', () => {
    const keys = Object.keys(testConfig({ upstream }).upstreams.market)

    expect(keys.filter((key) => key !== 'endpoints' && edits[key] === undefined)).toEqual([])
  })

  /** Puts configurations into effect, one after the other. `learn` is called with the health under the first. */
  const passThrough = (markets: readonly object[], learn: (health: EndpointHealth) => void) => {
    const endpoints = new EndpointRegistry()
    onTestFinished(() => endpoints.destroy(new Error('the test is over')))
    const secured = (market: object) => JSON.parse(JSON.stringify(market).replaceAll('http:', 'https:'))
    const shared = sharedResources(endpoints)
    const build = (market: object, previous: Snapshot | null) =>
      buildSnapshot(toInput(testConfig({ upstream, upstreams: { market: secured(market) } })), previous, shared)
    const healthIn = ({ upstreams }: Snapshot): EndpointHealth => {
      const { health } = upstreams.market.members[0] ?? {}
      if (health === undefined) throw new Error('it has an endpoint')
      return health
    }
    const [first = {}, ...others] = markets
    const current = new CurrentSnapshot(build(first, null))
    onTestFinished(() => current.close())
    learn(healthIn(current.value))
    for (const market of others) current.swap(build(market, current.value))
    return { health: healthIn(current.value), endpoints }
  }

  const down = { since: 1, reason: 'answered 500', wellAt: null }
  const ejection = { since: 1, reason: '5 failures in a row', startedAt: now(), until: now() + 3_600_000 }
  const learnOutage = (health: EndpointHealth): void => {
    health.markDown(down)
    Object.assign(health, { ejection, ejectionsInARow: 3, onProbation: true, returnedAt: 7 })
    health.recordOutcome('failure', 500)
  }
  const outage = { down, ejection, ejectionsInARow: 3, onProbation: true, returnedAt: 7 }

  test.each(Object.entries(edits))('when %s is edited, and after the rollback', (_, edit) => {
    for (const markets of [
      [base, { ...base, ...edit }],
      [base, { ...base, ...edit }, base],
    ]) {
      const { health } = passThrough(markets, learnOutage)

      expect(health).toMatchObject({ ...outage, counts: { requests: 1, failures: 1 }, failuresInARow: 1 })
    }
  })

  test('in every process, by what another one has found, over new connections', () => {
    const registry = new EndpointRegistry(undefined, null)
    onTestFinished(() => registry.destroy(new Error('the test is over')))
    const [config, edited] = [{}, { keepAlive: '1s' }].map(
      (defaults) => testConfig({ upstream, defaults }).upstreams.market,
    ) as [UpstreamConfig, UpstreamConfig]
    const [endpoint] = config.endpoints as [EndpointConfig]
    const before = registry.acquire('market', 'primary', endpoint, config, '')
    const identity = JSON.stringify(['market', 'primary', upstream])

    registry.applyVerdict([identity, down])
    const after = registry.acquire('market', 'primary', endpoint, edited, '')
    const outages = [before, after].map(({ health }) => health.down)
    void registry.release(before)
    const kept = registry.verdicts
    registry.applyVerdict([identity, null])

    expect(outages).toEqual([down, down])
    expect(kept).toEqual([[identity, down]])
    expect(after.health.down).toBeNull()
  })

  test('but an outage ends where probes end, since none would ever contradict it', () => {
    const { health } = passThrough([base, { ...base, healthCheck: 'none', keepAlive: '1s' }], learnOutage)

    expect(health).toMatchObject({ down: null, ejection })
  })

  test('but not by an endpoint elsewhere', () => {
    const { health } = passThrough([base, { ...base, endpoints: [`${upstream}/v2`, 'http://b.invalid'] }], learnOutage)

    expect(health).toMatchObject({ down: null, ejection: null, counts: { requests: 0 } })
  })
})

test('a snapshot keeps none of those before it in memory', async () => {
  setFlagsFromString('--expose-gc')
  const collect = runInNewContext('gc') as () => void
  const config = testConfig({ defaults: { retry: {}, circuitBreaker: {} } })
  const shared = sharedResources(new EndpointRegistry())
  const next = (previous: Snapshot | null) =>
    buildSnapshot({ ...toInput(config), sandboxOrigin: 'http://127.0.0.1:1' }, previous, shared)
  const first = new WeakRef(next(null))

  const second = next(first.deref() ?? null)
  onTestFinished(() => second.retire())
  await first.deref()?.retire()
  await new Promise(setImmediate) // the target of a WeakRef stays until the end of the job
  collect()

  expect(first.deref()).toBeUndefined()
})
