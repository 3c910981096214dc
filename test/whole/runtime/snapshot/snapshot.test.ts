import { describe, expect, onTestFinished, test } from 'vitest'
import type { EndpointConfig, UpstreamConfig } from '../../../../src/core/config/config.ts'
import { now } from '../../../../src/core/lib/clock.ts'
import { Overrides } from '../../../../src/core/runtime/overrides.ts'
import { createProcessTelemetry } from '../../../../src/core/runtime/pipeline/observers.ts'
import { buildSnapshot, type SharedResources } from '../../../../src/core/runtime/snapshot/data-plane.ts'
import { CurrentSnapshot, createSnapshot, type Snapshot } from '../../../../src/core/runtime/snapshot/snapshot.ts'
import { EndpointRegistry } from '../../../../src/core/upstream/endpoints/endpoint-registry.ts'
import type { EndpointHealth } from '../../../../src/core/upstream/health/endpoint-health.ts'
import { allOperations, groups } from '../../../../src/operations.ts'
import { collectGarbage } from '../../../helpers/collect-garbage.ts'
import { fakeExchange } from '../../../helpers/exchange.ts'
import { type Settings, testConfig } from '../../../helpers/gateway.ts'
import { openTestParts, toInput } from '../../../helpers/parts.ts'

/** Creates a snapshot that records when it releases its resources. */
const fakeSnapshot = () => {
  const events: string[] = []
  const parts = { config: testConfig(), telemetry: createProcessTelemetry(null, 'gateway'), observers: [] }
  const none = { parts: {}, handlers: {}, upstreams: {}, others: {} } as unknown as Omit<
    SnapshotMembers,
    keyof typeof parts
  >
  const release = async (): Promise<void> => void events.push('released')
  return { events, snapshot: createSnapshot({ ...parts, ...none }, release) }
}

type SnapshotMembers = Parameters<typeof createSnapshot>[0]

const upstream = 'http://upstream.invalid'

/** Makes what snapshots share; its endpoints are closed when the test has finished. */
const sharedResources = (): SharedResources => {
  const endpoints = new EndpointRegistry()
  onTestFinished(() => endpoints.destroy(new Error('the test is over')))
  return { endpoints, telemetry: createProcessTelemetry(null, 'gateway'), parts: openTestParts() }
}

/** Builds the snapshot of a configuration. */
const build = (settings: Settings, previous: Snapshot | null, shared: SharedResources): Snapshot =>
  buildSnapshot(toInput(testConfig({ upstream, ...settings })), previous, shared)

test('a snapshot that is retired releases its resources at once when it is idle, and waits for all that is in flight', async () => {
  const [idle, busy] = [fakeSnapshot(), fakeSnapshot()]
  busy.snapshot.acquire()
  busy.snapshot.acquire()

  const retired = [idle.snapshot.retire(), busy.snapshot.retire()]
  busy.snapshot.release()
  await retired[0]
  const early = [[...idle.events], [...busy.events]]
  busy.snapshot.release()
  await Promise.all(retired)

  expect(early).toEqual([['released'], []])
  expect(busy.events).toEqual(['released'])
})

describe('the current snapshot', () => {
  test('decides how many copies may be under way: one that was only prepared does not', async () => {
    const candidateWith = (concurrency: number) => ({ endpoints: ['http://b'], shadow: { sample: '1%', concurrency } })
    const settingsOf = (concurrency: number) => ({
      upstreams: { market: { endpoints: ['http://a'], candidate: candidateWith(concurrency) } },
    })
    const shared = sharedResources()
    const first = build(settingsOf(2), null, shared)
    const take = (count: number) => {
      const market = first.parts.candidate?.copies.market
      if (market === undefined) throw new TypeError('it has no candidate')
      const copies = Array.from({ length: count }, () => ({ slot: -1, isRepeat: false, stop: () => {} }))
      const taken = copies.filter((copy) => market.begin(copy) === null).length
      for (const copy of copies) market.end(copy)
      return taken
    }
    const current = new CurrentSnapshot(first)

    const second = build(settingsOf(3), first, shared)
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

describe('a configuration', () => {
  test('becomes nine handlers and eight upstreams', async () => {
    const shared = sharedResources()

    const snapshot = build({}, null, shared)

    expect(Object.keys(snapshot.handlers)).toEqual(allOperations.map(({ id }) => id))
    expect(Object.keys(snapshot.upstreams)).toEqual(groups)
    expect(shared.endpoints.size).toBe(8)
    await snapshot.retire()
    expect(shared.endpoints.size).toBe(0)
  })

  test('with everything off has the send of the single endpoint itself as its handler', () => {
    const { handlers, upstreams } = build(
      {
        defaults: { deadline: 'none', maxBody: 'none', outlier: 'none' },
        limits: { concurrency: 'none' },
        listen: { getContent: 'forward' },
        metrics: 'none',
      },
      null,
      sharedResources(),
    )

    for (const { id, group } of allOperations) expect(handlers[id]).toBe(upstreams[group].members[0]?.send)
  })

  test('keeps what is known of an endpoint, and a breaker whose settings are the same', () => {
    const shared = sharedResources()
    const settings = (weight: number, openFor = '5s') => ({
      defaults: { tls: { minVersion: weight === 100 ? 'TLSv1.2' : 'TLSv1.3' } }, // which it does not speak
      upstreams: {
        market: { endpoints: [{ url: upstream, weight }, 'http://b.invalid'], circuitBreaker: { openFor } },
      },
    })
    const before = build(settings(100), null, shared)
    const { health } = before.upstreams.market.members[0] ?? {}
    health?.recordOutcome('failure', 503)

    const after = build(settings(7), before, shared)
    const other = build(settings(7, '9s'), after, shared)

    expect(after.upstreams.market.members[0]?.health).toBe(health)
    expect(after.upstreams.market.breaker).toBe(before.upstreams.market.breaker)
    expect(other.upstreams.market.breaker).not.toBe(before.upstreams.market.breaker)
  })

  test.each<[string, readonly unknown[], boolean]>([
    ['one more', ['http://a.invalid', 'http://b.invalid'], true],
    ['others', ['http://b.invalid', 'http://c.invalid'], false],
    ['others, the first without weight', [{ url: 'http://a.invalid', weight: 0 }, 'http://b.invalid'], false],
  ])('keeps a breaker while one of its endpoints receives traffic: %s', (_, next, kept) => {
    const shared = sharedResources()
    const around = (endpoints: readonly unknown[]) => ({ upstreams: { market: { endpoints, circuitBreaker: {} } } })
    const before = build(around(['http://a.invalid']), null, shared)

    const after = build(around(next), before, shared)

    expect(after.upstreams.market.breaker === before.upstreams.market.breaker).toBe(kept)
  })

  test('keeps the endpoints that it does not change, and closes the others when the previous snapshot has ended', async () => {
    const shared = sharedResources()
    const before = build({}, null, shared)
    const upstreams = { market: 'http://other.invalid', risk: { endpoints: [{ url: upstream, weight: 7 }] } }

    const after = build({ upstreams }, before, shared)
    const both = shared.endpoints.size
    await before.retire()

    const endpointOf = ({ upstreams }: Snapshot, group: 'market' | 'risk') => upstreams[group].members[0]?.endpoint
    expect([both, shared.endpoints.size]).toEqual([9, 8])
    expect(endpointOf(after, 'risk')).toBe(endpointOf(before, 'risk'))
    expect(endpointOf(after, 'market')).not.toBe(endpointOf(before, 'market'))
    expect(after.upstreams.risk.members[0]?.weight).toBe(7)
  })

  test.each([
    ['connect timeout', { timeouts: { connect: '1s' } }],
    ['time of keeping idle connections', { keepAlive: '1s' }],
    ['number of connections', { maxConnections: 1 }],
  ])('opens an endpoint anew when its %s is another', (_, defaults) => {
    const shared = sharedResources()

    build({ defaults }, build({}, null, shared), shared)

    expect(shared.endpoints.size).toBe(16)
  })

  const budget = { share: '10%', floor: 3 }

  test.each<[string, readonly unknown[], readonly number[]]>([
    ['begins with the first retries', ['none', { budget }], [0, 1]],
    ['goes on, whatever else of them changes', [{ budget }, { budget, attempts: 5, backoff: { max: '50ms' } }], [1, 1]],
    ['is another one with another share', [{ budget }, { budget: { ...budget, share: '20%' } }], [1, 2]],
    ['is another one with another floor', [{ budget }, { budget: { ...budget, floor: 4 } }], [1, 2]],
    ['is another one when there was none for a while', [{ budget }, 'none', { budget }], [1, 0, 2]],
  ])('has a budget of retries, which %s', (_, retries, expected) => {
    const shared = sharedResources()
    const seen: unknown[] = [null]
    let previous: Snapshot | null = null

    const numbers = retries.map((retry) => {
      previous = build({ upstreams: { risk: { endpoints: ['http://a'], retry } } }, previous, shared)
      const budget = previous.parts.retry.budgets.risk
      if (!seen.includes(budget)) seen.push(budget)
      return seen.indexOf(budget)
    })

    expect(numbers).toEqual(expected)
  })

  test('that cannot be built releases everything that it acquired', async () => {
    const shared = sharedResources()

    expect(() => build({ upstreams: { market: 'sandbox' } }, null, shared)).toThrow()

    await expect.poll(() => shared.endpoints.size).toBe(0)
  })

  test('is overridden, as long as the override holds', async () => {
    const overrides = new Overrides()
    overrides.operations.set('market.insights', 'reject', 60_000, 'anna')
    onTestFinished(() => overrides.clear())

    const { handlers } = buildSnapshot({ ...toInput(testConfig({ upstream })), overrides }, null, sharedResources())

    await expect(handlers['market.insights'](fakeExchange())).rejects.toMatchObject({ kind: 'rejected-by-operator' })
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

  /** Puts configurations into effect, one after the other, and lists the health of an endpoint under each of them. */
  const passThrough = ([first, ...others]: readonly object[], learn: (health: EndpointHealth) => void) => {
    const shared = sharedResources()
    const secured = (market: object) => JSON.parse(JSON.stringify(market).replaceAll('http:', 'https:'))
    const current = new CurrentSnapshot(build({ upstreams: { market: secured(first ?? {}) } }, null, shared))
    onTestFinished(() => current.close())
    const healthNow = () => current.value.upstreams.market.members[0]?.health as EndpointHealth
    learn(healthNow())
    return others.map((market) => {
      current.swap(build({ upstreams: { market: secured(market) } }, current.value, shared))
      return healthNow()
    })
  }

  const down = { since: 1, reason: 'responded with 500', wellAt: null }
  const ejection = { since: 1, reason: '5 failures in a row', startedAt: now(), until: now() + 3_600_000 }
  const learnOutage = (health: EndpointHealth): void => {
    health.markDown(down)
    Object.assign(health, { ejection, ejectionsInARow: 3, onProbation: true, returnedAt: 7 })
    health.recordOutcome('failure', 500)
  }
  const outage = { down, ejection, ejectionsInARow: 3, onProbation: true, returnedAt: 7 }

  test('when each is edited, and after the rollback', () => {
    const known = { ...outage, counts: { requests: 1, failures: 1 }, failuresInARow: 1 }
    const steps = Object.entries(edits).flatMap(([name, edit]) => [
      [name, edit] as const,
      [`${name}, back`, {}] as const,
    ])

    const kept = passThrough([base, ...steps.map(([, edit]) => ({ ...base, ...edit }))], learnOutage)

    expect(steps.map(([name], nth) => [name, kept[nth]])).toMatchObject(steps.map(([name]) => [name, known]))
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

  test.each<[string, object, object]>([
    ['an outage where probes end: none would contradict it', { healthCheck: 'none', keepAlive: '1s' }, { ejection }],
    ['all of an endpoint elsewhere', { endpoints: [`${upstream}/v2`] }, { ejection: null, counts: { requests: 0 } }],
  ])('but not %s', (_, edit, expected) => {
    expect(passThrough([base, { ...base, ...edit }], learnOutage)).toMatchObject([{ down: null, ...expected }])
  })
})

test('a snapshot keeps none of those before it in memory', async () => {
  const config = testConfig({ defaults: { retry: {}, circuitBreaker: {} } })
  const shared = sharedResources()
  const next = (previous: Snapshot | null) =>
    buildSnapshot({ ...toInput(config), sandboxOrigin: 'http://127.0.0.1:1' }, previous, shared)
  const first = new WeakRef(next(null))

  const second = next(first.deref() ?? null)
  onTestFinished(() => second.retire())
  await first.deref()?.retire()
  await new Promise(setImmediate) // the target of a WeakRef stays until the end of the job
  collectGarbage()

  expect(first.deref()).toBeUndefined()
})
