import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { catalog, groups } from '../../src/catalog.ts'
import type { Config } from '../../src/config/config.ts'
import { Live } from '../../src/snapshot/live.ts'
import { build, Snapshot } from '../../src/snapshot/snapshot.ts'
import type { Upstream } from '../../src/upstream/upstream.ts'
import { fakeNext } from '../helpers/exchange.ts'
import { testConfig } from '../helpers/gateway.ts'

beforeEach(() => vi.useFakeTimers())
afterEach(() => vi.useRealTimers())

/** Makes a snapshot with one upstream behind every group, which records what becomes of it. */
const snapshotOf = (close: () => Promise<void> = () => Promise.resolve()) => {
  const seen: string[] = []
  const upstream: Upstream = {
    send: fakeNext(),
    endpoints: [],
    close: () => {
      seen.push('close')
      return close()
    },
    destroy: () => {
      seen.push('destroy')
      return Promise.resolve()
    },
  }
  const upstreams = { market: upstream } as unknown as Snapshot['upstreams']
  return { seen, snapshot: new Snapshot({} as Config, {} as Snapshot['handles'], upstreams) }
}

test('an idle one closes its connections at once', async () => {
  const { snapshot, seen } = snapshotOf()

  await snapshot.retire(1000)

  expect(seen).toEqual(['close'])
  expect(vi.getTimerCount()).toBe(0)
})

test('what is in flight is waited for, all of it, and only then are the connections closed', async () => {
  const { snapshot, seen } = snapshotOf()
  snapshot.enter()
  snapshot.enter()

  const retired = snapshot.retire(1000)
  snapshot.leave()
  await vi.advanceTimersByTimeAsync(500)
  const early = [...seen]
  snapshot.leave()
  await retired

  expect(early).toEqual([])
  expect(seen).toEqual(['close'])
  expect(vi.getTimerCount()).toBe(0)
})

test('after the deadline what is in flight is cut', async () => {
  const { snapshot, seen } = snapshotOf(() => new Promise(() => {}))
  snapshot.enter()

  const retired = snapshot.retire(1000)
  await vi.advanceTimersByTimeAsync(999)
  const early = [...seen]
  await vi.advanceTimersByTimeAsync(2)
  await retired

  expect(early).toEqual([])
  expect(seen).toEqual(['close', 'destroy'])
})

test('waiting and closing share one deadline', async () => {
  const { snapshot, seen } = snapshotOf(() => new Promise(() => {}))
  snapshot.enter()

  const retired = snapshot.retire(1000)
  await vi.advanceTimersByTimeAsync(700)
  snapshot.leave()
  await vi.advanceTimersByTimeAsync(299)
  const early = [...seen]
  await vi.advanceTimersByTimeAsync(1)
  await retired

  expect(early).toEqual(['close'])
  expect(seen).toEqual(['close', 'destroy'])
})

test('a configuration becomes nine handles and eight upstreams', async () => {
  vi.useRealTimers()

  const snapshot = build(testConfig({ upstream: 'http://upstream.invalid' }), null)

  expect(Object.keys(snapshot.handles)).toEqual(catalog.map(({ id }) => id))
  expect(Object.keys(snapshot.upstreams)).toEqual(groups)
  await snapshot.retire(0)
})

test('the live one is the one that it was given', () => {
  const { snapshot } = snapshotOf()

  expect(new Live(snapshot).current).toBe(snapshot)
})
