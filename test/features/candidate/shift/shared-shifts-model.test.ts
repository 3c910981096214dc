/** Any history of gateways that share a Redis, which may be cut off, emptied or set back: what holds in the end. */
import * as fc from 'fast-check'
import { afterEach, beforeEach, expect, vi } from 'vitest'
import type { Config } from '../../../../src/core/config/config.ts'
import { SharedShifts } from '../../../../src/features/candidate/shift/shared-shifts.ts'
import { Shifts } from '../../../../src/features/candidate/shift/shifts.ts'
import type { ManagedRedis } from '../../../../src/features/redis/managed-redis.ts'
import { RedisRegistry } from '../../../../src/features/redis/redis-registry.ts'
import type { ScriptArgs } from '../../../../src/features/redis/redis-server.ts'
import { sandbox, validConfig } from '../../../core/config/helper.ts'
import { runs, testAndDrill } from '../../../helpers/speed.ts'

interface Stored {
  readonly version: string
  readonly at: number
  readonly record: string
}

/** The Redis of a history. It does what the script does; shared-shifts.test.ts shows that at a real one. */
const redis = { stored: new Map<string, Stored>(), versions: [] as (Stored & { readonly key: string })[] }

const runScript = ({ keys, args }: ScriptArgs): string => {
  const [known, written, , record] = args.map(String)
  const key = String(keys[0])
  const stored = redis.stored.get(key)
  if ((stored?.version ?? '') !== known)
    return stored === undefined ? 'gone' : `${stored.version} ${Date.now() - stored.at} ${stored.record}`
  if (written === '' || written === undefined) return 'same'
  const kept = { key, version: written, at: Date.now(), record: record ?? '' }
  redis.stored.set(key, kept)
  redis.versions.push(kept)
  return 'kept'
}

interface Cut {
  isCut: boolean
}

const openLink = (cut: Cut) => ({
  reason: 'it is away',
  get isShared() {
    return !cut.isCut
  },
  // A reply comes later than the call, as over a network.
  run: async (_: unknown, args: ScriptArgs) => {
    if (cut.isCut) return null
    await Promise.resolve()
    const reply = runScript(args)
    await Promise.resolve()
    return cut.isCut ? null : Buffer.from(reply)
  },
})

/** What the gateway that was started last is cut off by: it opens its first link at once. */
let startedCut: Cut = { isCut: false }

const minute = 60_000
const words = { by: '10.0.0.9', reason: 'rehearsal' }
/** Two files, each with a candidate of its own. */
const configs = ['b', 'c'].map((host) => {
  const candidate = `{ endpoints: [http://${host}.internal], steps: { shares: [1%, 5%, 25%, 100%], every: 15m } }`
  return validConfig(
    `${sandbox.replace('risk: sandbox', `risk: { endpoints: [http://a.internal], candidate: ${candidate} }`)}
limits: { redis: { url: "redis://redis.internal" } }
`,
  )
}) as [Config, Config]

beforeEach(() => {
  vi.useFakeTimers({ now: 1_700_000_000_000 })
  const cutOf = new WeakMap<RedisRegistry, Cut>()
  vi.spyOn(RedisRegistry.prototype, 'acquire').mockImplementation(function (this: RedisRegistry) {
    const cut = cutOf.get(this) ?? startedCut
    cutOf.set(this, cut)
    return { link: openLink(cut) as unknown as ManagedRedis, replicated: null, release: () => {} }
  })
})
afterEach(() => {
  vi.restoreAllMocks()
  vi.useRealTimers()
})

/** A gateway, which can be started again and cut off. */
class FakeGateway {
  shifts = new Shifts()
  cut: Cut = { isCut: false }
  #keeper: SharedShifts | null = null
  #config = configs[0]

  async start(): Promise<void> {
    this.stop()
    this.shifts = new Shifts()
    this.#keeper = new SharedShifts(this.shifts, () => {})
    this.cut = { ...this.cut }
    startedCut = this.cut
    await this.edit(this.#config)
  }

  /** Puts a file into effect. By default the other one. */
  async edit(config = configs[this.#config === configs[0] ? 1 : 0], isRollback = false): Promise<void> {
    this.#config = config
    const preparing = this.#keeper?.prepare(config, isRollback)
    await vi.advanceTimersByTimeAsync(1000)
    ;(await preparing)?.commit()
  }

  stop(): void {
    this.#keeper?.close()
    this.shifts.clear()
  }

  get effect() {
    const state = this.shifts.get('risk')
    if (state === null) throw new Error('risk has a candidate')
    const { share, cause, isStopped, by, reason, paused, step } = state
    return { share, cause, isStopped, by, reason, isPaused: paused !== null, reached: step?.reached }
  }
}

const events: Readonly<Record<string, (gateway: FakeGateway, ms: number) => unknown>> = {
  wait: (_, ms) => vi.advanceTimersByTimeAsync(ms % 3 === 0 ? ms % 1500 : ms),
  back: ({ shifts }) => shifts.takeBack('risk', 'it fails'),
  to: ({ shifts }, ms) => shifts.command('risk', { kind: 'to', share: (ms % 100) / 100, ttlMs: ms }, words).confirm(),
  pause: ({ shifts }) => shifts.command('risk', { kind: 'pause', ttlMs: null }, words).confirm(),
  abort: ({ shifts }) => shifts.command('risk', { kind: 'abort' }, words).confirm(),
  resume: ({ shifts }) => shifts.command('risk', { kind: 'resume' }, words).confirm(),
  cut: ({ cut }) => Object.assign(cut, { isCut: true }),
  join: ({ cut }) => Object.assign(cut, { isCut: false }),
  start: (gateway) => gateway.start(),
  edit: (gateway) => gateway.edit(),
  rollback: (gateway) => gateway.edit(undefined, true),
  empty: () => redis.stored.clear(),
}

type Event = { readonly name: string; readonly at: number; readonly ms?: number }

const anyEvent: fc.Arbitrary<Event> = fc.record({
  name: fc.constantFrom('wait', 'wait', ...Object.keys(events)),
  at: fc.nat(2),
  ms: fc.integer({ min: 1, max: 20 * minute }),
})

const happen = async (gateways: readonly FakeGateway[], { name, at, ms = 1 }: Event): Promise<void> => {
  if (name === 'set back') setBack()
  else await events[name]?.(gateways[at % gateways.length] as FakeGateway, ms)
}

/** Takes the last version from Redis, as a failover may. */
const setBack = (): void => {
  const last = redis.versions.at(-1)
  const before = redis.versions.findLast((each) => each !== last && each.key === last?.key)
  if (before !== undefined) redis.stored.set(before.key, before)
}

const startAll = async (): Promise<readonly FakeGateway[]> => {
  Object.assign(redis, { stored: new Map(), versions: [] })
  const gateways = [new FakeGateway(), new FakeGateway(), new FakeGateway()]
  for (const gateway of gateways) await gateway.start()
  return gateways
}

/** Lets all reach Redis again, with the first of the files, and ask it. */
const settle = async (gateways: readonly FakeGateway[]): Promise<void> => {
  for (const gateway of gateways) await gateway.edit(configs[0])
  for (const { cut } of gateways) cut.isCut = false
  await vi.advanceTimersByTimeAsync(5000)
}

testAndDrill('in the end all gateways say the same, and Redis is asked no oftener than each second', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(anyEvent, { maxLength: 20 }), async (events) => {
      const gateways = await startAll()
      for (const event of events) await happen(gateways, event)
      await settle(gateways)
      const [first, ...others] = gateways.map(({ effect }) => effect)
      const written = redis.versions.length
      const timers = vi.getTimerCount()
      await vi.advanceTimersByTimeAsync(1500)
      for (const each of gateways) each.stop()

      for (const other of others) expect(other).toEqual(first)
      expect(redis.versions.length - written).toBeLessThanOrEqual(1)
      expect(timers).toBeLessThanOrEqual(6)
    }),
    { numRuns: runs(50) },
  )
})

testAndDrill('a takeback holds at all of them, whatever comes after it but an operator’s word', async () => {
  const later = anyEvent.filter(({ name }) => !['to', 'resume', 'abort', 'empty'].includes(name))
  // A record that Redis loses is lost if each gateway that knew it restarts or has another candidate.
  const lossy = fc.oneof(
    { weight: 9, arbitrary: later.filter(({ name }) => !['start', 'edit', 'rollback'].includes(name)) },
    { weight: 1, arbitrary: fc.constant<Event>({ name: 'set back', at: 0 }) },
  )
  let count = 0
  await fc.assert(
    fc.asyncProperty(
      fc.array(anyEvent, { maxLength: 8 }),
      fc.nat(2),
      fc.oneof(fc.array(later, { maxLength: 12 }), fc.array(lossy, { maxLength: 12 })),
      async (before, at, after) => {
        const gateways = await startAll()
        for (const event of before) await happen(gateways, event)
        // That gateway knows what the others have told Redis, and tells its own word before anything else happens.
        await happen(gateways, { name: 'join', at })
        await gateways[at]?.edit(configs[0])
        await vi.advanceTimersByTimeAsync(1400)
        const isNews = gateways[at]?.shifts.takeBack('risk', 'it fails')
        await vi.advanceTimersByTimeAsync(1400)
        for (const event of after) await happen(gateways, event)
        await settle(gateways)
        const effects = gateways.map(({ effect }) => effect)
        for (const each of gateways) each.stop()

        if (isNews !== true) return
        count++
        for (const effect of effects) expect(effect).toMatchObject({ isStopped: true, share: 0 })
      },
    ),
    { numRuns: runs(50) },
  )
  expect(count).toBeGreaterThan(runs(12))
})
