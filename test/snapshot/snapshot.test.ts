import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { describe, expect, onTestFinished, test } from 'vitest'
import { catalog, groups } from '../../src/catalog.ts'
import type { Config, RetryConfig } from '../../src/config/config.ts'
import { RetryBudget } from '../../src/layers/retry/retry.ts'
import { noAuditor } from '../../src/observe/audit/line.ts'
import { Limiters } from '../../src/shared/limiter/limiters.ts'
import type { State } from '../../src/snapshot/build.ts'
import { build, type Shared } from '../../src/snapshot/build.ts'
import { Caches, noCaches } from '../../src/snapshot/caches.ts'
import { noGuard } from '../../src/snapshot/guard.ts'
import { Live } from '../../src/snapshot/live.ts'
import { Overrides } from '../../src/snapshot/overrides.ts'
import { noPressure } from '../../src/snapshot/pressure.ts'
import { openObservation } from '../../src/snapshot/recorders.ts'
import { openSnapshot, type Snapshot } from '../../src/snapshot/snapshot.ts'
import { TokenSources } from '../../src/snapshot/token-sources.ts'
import { Endpoints } from '../../src/upstream/endpoints.ts'
import { fakeExchange } from '../helpers/exchange.ts'
import { testConfig } from '../helpers/gateway.ts'
import { noClientLimits } from '../helpers/no-client-limits.ts'

/** Makes a snapshot that records when it gives back what it stands on. */
const snapshotOf = () => {
  const seen: string[] = []
  const release = async (): Promise<void> => void seen.push('released')
  const parts = {
    config: {} as Config,
    handles: {} as Snapshot['handles'],
    upstreams: {} as Snapshot['upstreams'],
    budgets: {} as Snapshot['budgets'],
    pressure: noPressure(),
    rates: { address: null, clients: noClientLimits },
    guard: noGuard,
    caches: noCaches(testConfig()),
    auditor: noAuditor,
    observation: openObservation(null, 'gateway'),
    recorders: [],
  }
  const snapshot = openSnapshot(parts, release)
  return { seen, snapshot }
}

describe('a snapshot that is retired', () => {
  test('gives back what it stands on at once when it is idle', async () => {
    const { snapshot, seen } = snapshotOf()

    await snapshot.retire()

    expect(seen).toEqual(['released'])
  })

  test('waits for what is in flight, all of it', async () => {
    const { snapshot, seen } = snapshotOf()
    snapshot.enter()
    snapshot.enter()

    const retired = snapshot.retire()
    snapshot.leave()
    await Promise.resolve()
    const early = [...seen]
    snapshot.leave()
    await retired

    expect(early).toEqual([])
    expect(seen).toEqual(['released'])
  })
})

describe('the live one', () => {
  test('is the one that was swapped in last, and each before it is retired when its requests have ended', async () => {
    const [first, second, third] = [snapshotOf(), snapshotOf(), snapshotOf()]
    const live = new Live(first.snapshot)
    first.snapshot.enter()

    live.swap(second.snapshot)
    live.swap(third.snapshot)
    await Promise.resolve()
    const early = [live.current, first.seen.length, second.seen.length]
    first.snapshot.leave()
    await live.close()

    expect(early).toEqual([third.snapshot, 0, 1])
    expect([first, second, third].map(({ seen }) => seen)).toEqual([['released'], ['released'], ['released']])
    expect(live.retiring).toBe(0)
  })
})

const upstream = 'http://upstream.invalid'

const stateOf = (config: Config): State => ({ config, said: new Overrides(), sandboxOrigin: null })

const sharedAmong = (endpoints: Endpoints): Shared => ({
  endpoints,
  limiters: new Limiters({ is: 'alone' }, () => {}),
  sources: new TokenSources(() => {}),
  caches: new Caches(() => {}),
  observation: openObservation(null, 'gateway'),
  tracings: null,
  auditor: noAuditor,
  tell: () => {},
})

describe('a configuration', () => {
  test('becomes nine handles and eight upstreams', async () => {
    const endpoints = new Endpoints()

    const snapshot = build(stateOf(testConfig({ upstream })), null, sharedAmong(endpoints))

    expect(Object.keys(snapshot.handles)).toEqual(catalog.map(({ id }) => id))
    expect(Object.keys(snapshot.upstreams)).toEqual(groups)
    expect(endpoints.size).toBe(8)
    await snapshot.retire()
    expect(endpoints.size).toBe(0)
  })

  test('with everything off has the send of the single endpoint itself as its handle', async () => {
    const endpoints = new Endpoints()
    const defaults = { deadline: 'none', maxBody: 'none', outlier: 'none' }

    const limits = { concurrency: 'none' }
    const { handles, upstreams } = build(
      stateOf({ ...testConfig({ upstream, defaults, limits }), metrics: null }),
      null,
      sharedAmong(endpoints),
    )

    for (const { id, group } of catalog) expect(handles[id]).toBe(upstreams[group].members[0]?.send)
    await endpoints.destroy(new Error('the test is over'))
  })

  test('keeps what is known of an endpoint, and a breaker whose settings are the same', async () => {
    const endpoints = new Endpoints()
    const settings = (weight: number, openFor = '5s') =>
      testConfig({
        upstream,
        defaults: { tls: { minVersion: weight === 100 ? 'TLSv1.2' : 'TLSv1.3' } }, // which it does not speak
        upstreams: {
          market: { endpoints: [{ url: upstream, weight }, 'http://b.invalid'], circuitBreaker: { openFor } },
        },
      })
    const before = build(stateOf(settings(100)), null, sharedAmong(endpoints))
    const { standing } = before.upstreams.market.members[0] ?? {}
    standing?.count('failure', 503)

    const after = build(stateOf(settings(7)), before, sharedAmong(endpoints))
    const other = build(stateOf(settings(7, '9s')), after, sharedAmong(endpoints))

    expect(after.upstreams.market.members[0]?.standing).toBe(standing)
    expect(after.upstreams.market.breaker).toBe(before.upstreams.market.breaker)
    expect(other.upstreams.market.breaker).not.toBe(before.upstreams.market.breaker)
    await endpoints.destroy(new Error('the test is over'))
  })

  test.each<[string, readonly unknown[], boolean]>([
    ['one more', ['http://a.invalid', 'http://b.invalid'], true],
    ['others', ['http://b.invalid', 'http://c.invalid'], false],
    ['others, the first without a share', [{ url: 'http://a.invalid', weight: 0 }, 'http://b.invalid'], false],
  ])('keeps a breaker while one of those it is about takes work: %s', async (_, next, kept) => {
    const endpoints = new Endpoints()
    const around = (market: readonly unknown[], previous: Snapshot | null) => {
      const config = testConfig({ upstream, upstreams: { market: { endpoints: market, circuitBreaker: {} } } })
      return build(stateOf(config), previous, sharedAmong(endpoints))
    }
    const before = around(['http://a.invalid'], null)

    const after = around(next, before)

    expect(after.upstreams.market.breaker === before.upstreams.market.breaker).toBe(kept)
    await endpoints.destroy(new Error('the test is over'))
  })

  test('keeps the endpoints that it does not change, and closes the others when the one before has ended', async () => {
    const endpoints = new Endpoints()
    const before = build(stateOf(testConfig({ upstream })), null, sharedAmong(endpoints))
    const reroute = {
      upstream,
      upstreams: { market: 'http://other.invalid', risk: { endpoints: [{ url: upstream, weight: 7 }] } },
    }

    const after = build(stateOf(testConfig(reroute)), before, sharedAmong(endpoints))
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
    const endpoints = new Endpoints()
    const before = build(stateOf(testConfig({ upstream })), null, sharedAmong(endpoints))

    const after = build(stateOf(testConfig({ upstream, defaults })), before, sharedAmong(endpoints))

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

    /** Builds one after the other, each with these retries for one group, and tells the budgets of that group. */
    const budgetsOf = (...retries: readonly (RetryConfig | null)[]) => {
      const endpoints = new Endpoints()
      let previous: Snapshot | null = null
      return retries.map((each) => {
        const config = testConfig({ upstream })
        const risk = { ...config.upstreams.risk, retry: each }
        const changed = { ...config, upstreams: { ...config.upstreams, risk } }
        previous = build(stateOf(changed), previous, sharedAmong(endpoints))
        onTestFinished(previous.retire.bind(previous))
        return previous.budgets.risk
      })
    }

    test('has a budget for each group that retries', () => {
      expect(budgetsOf(null, retry)).toEqual([null, expect.any(RetryBudget)])
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

      expect(after).toBeInstanceOf(RetryBudget)
      expect(after).not.toBe(before)
    })

    test('starts another one when there was none for a while', () => {
      const [before, off, after] = budgetsOf(retry, null, retry)

      expect(off).toBeNull()
      expect(after).not.toBe(before)
    })
  })

  test('that cannot be built gives back whatever it took', async () => {
    const endpoints = new Endpoints()

    expect(() =>
      build(stateOf(testConfig({ upstream, upstreams: { market: 'sandbox' } })), null, sharedAmong(endpoints)),
    ).toThrow()

    await expect.poll(() => endpoints.size).toBe(0)
  })

  test('is overridden, for as long as that lasts', async () => {
    const endpoints = new Endpoints()
    const held = new Overrides()
    held.operations.set('market.insights', 'refuse', 60_000)

    const snapshot = build({ ...stateOf(testConfig({ upstream })), said: held }, null, sharedAmong(endpoints))

    await expect(snapshot.handles['market.insights'](fakeExchange())).rejects.toMatchObject({
      kind: 'refused-by-operator',
    })
    held.clear()
    await snapshot.retire()
  })
})

test('a snapshot keeps none of those before it in memory', async () => {
  setFlagsFromString('--expose-gc')
  const collect = runInNewContext('gc') as () => void
  const config = testConfig({ defaults: { retry: {}, circuitBreaker: {} } })
  const shared = sharedAmong(new Endpoints())
  const next = (previous: Snapshot | null) =>
    build({ ...stateOf(config), sandboxOrigin: 'http://127.0.0.1:1' }, previous, shared)
  const first = new WeakRef(next(null))

  const second = next(first.deref() ?? null)
  onTestFinished(() => second.retire())
  await first.deref()?.retire()
  await new Promise(setImmediate) // what a WeakRef tells stays until the end of the job
  collect()

  expect(first.deref()).toBeUndefined()
})
