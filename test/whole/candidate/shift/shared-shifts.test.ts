/** Shifts that are kept in a real Redis: over restarts, by several gateways, and while Redis is away. */
import { createClient } from '@redis/client'
import { afterAll, beforeAll, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest'
import type { Config } from '../../../../src/core/config/config.ts'
import { now } from '../../../../src/core/lib/clock.ts'
import { SharedShifts } from '../../../../src/features/candidate/shift/shared-shifts.ts'
import type { ShiftCommand } from '../../../../src/features/candidate/shift/shift-record.ts'
import { Shifts } from '../../../../src/features/candidate/shift/shifts.ts'
import { sandbox, validConfig } from '../../../core/config/helper.ts'
import { ask as askSide, keyedClients, keyOf, sideUpstreams, withCandidate } from '../../../helpers/candidate.ts'
import { freePort } from '../../../helpers/free-port.ts'
import { bootLiveGateway, fetchAdmin, type LiveGateway } from '../../../helpers/live-gateway.ts'
import { needProgram } from '../../../helpers/program.ts'
import { type Redis, startRedis } from '../../../helpers/redis.ts'

const program = await needProgram('redis-server')
const words = { by: '10.0.0.9', reason: 'CHG-4711' }
const hour = 3_600_000

describe.skipIf(program.missing)('shifts that are kept in Redis', () => {
  let redis: Redis
  let prefix = 0
  beforeAll(async () => {
    redis = await startRedis(program.path ?? '')
  })
  beforeEach(() => void prefix++)
  afterAll(() => redis.kill())

  const withRisk = (candidate: string) =>
    sandbox.replace('risk: sandbox', `risk: { endpoints: [http://a.internal], candidate: ${candidate} }`)
  const configOf = (candidate: string, use = 'limits', keys = '', place = `p${prefix}`): Config => {
    const kept = `{ url: "${redis.url}", prefix: "${place}", timeout: 1s }`
    return validConfig(`${withRisk(candidate)}\n${use}: { redis: ${kept}${keys} }\n`)
  }
  const shared = '{ endpoints: [http://b.internal], share: 5% }'
  const stepped = '{ endpoints: [http://b.internal], steps: { shares: [1%, 5%, 25%, 100%], every: 1h } }'

  /** Starts what a gateway has of it; `stop` ends it as a crash would. */
  const start = async (config: Config) => {
    const [news, events]: readonly [string[], string[]] = [[], []]
    const shifts = new Shifts((group, what, { share, reason }) => news.push(`${group} ${what} ${share} ${reason}`))
    const keeper = new SharedShifts(shifts, (_, event) => void events.push(event))
    const apply = async (next: Config, isRollback = false): Promise<void> =>
      (await keeper.prepare(next, isRollback)).commit()
    const stop = (): void => {
      keeper.close()
      shifts.clear()
    }
    onTestFinished(stop)
    await apply(config)
    const command = (what: ShiftCommand) => shifts.command('risk', what, words).confirm()
    return { shifts, keeper, news, events, apply, stop, command, risk: () => shifts.get('risk') }
  }
  type Started = Awaited<ReturnType<typeof start>>

  const until = ({ risk }: Started, expected: object) =>
    vi.waitFor(() => expect(risk()).toMatchObject(expected), { timeout: 20_000, interval: 20 })

  /** Waits until a gateway that starts now would know it. */
  const untilKept = (config: Config, expected: object) =>
    vi.waitFor(
      async () => {
        const probe = await start(config)
        const found = probe.risk()
        probe.stop()
        expect(found).toMatchObject(expected)
      },
      { timeout: 20_000 },
    )

  test('edits leave no connection to Redis behind', async () => {
    const client = await createClient({ url: redis.url }).connect()
    onTestFinished(() => client.destroy())
    const connections = async () => /connected_clients:(\d+)/.exec(await client.info('clients'))?.[1]
    const { apply, stop } = await start(configOf(shared))

    for (const keys of [', concurrency: 9', '']) await apply(configOf(shared, 'limits', keys))
    const meanwhile = await connections()
    stop()

    expect(Number(meanwhile)).toBeGreaterThanOrEqual(2)
    await vi.waitFor(async () => expect(await connections()).toBe('1'), { timeout: 20_000 })
  })

  test('a takeback survives a restart, with its reason and time', async () => {
    const config = configOf(shared)
    const first = await start(config)
    first.shifts.takeBack('risk', 'it fails')
    const before = first.risk()
    await untilKept(config, { share: 0, cause: 'guard', isStopped: true, reason: 'it fails' })
    first.stop()

    expect((await start(config)).risk()).toEqual(before)
  })

  test('an override and a pause survive a restart', async () => {
    const config = configOf(stepped)
    const first = await start(config)
    first.command({ kind: 'pause', ttlMs: null })
    first.command({ kind: 'to', share: 0.25, ttlMs: hour })
    await untilKept(config, { share: 0.25, cause: 'operator', ...words, paused: words })
    const before = first.risk()
    first.stop()

    expect((await start(config)).risk()).toMatchObject({ ...before, until: expect.any(Number) })
  })

  test('a shift takes effect at other gateways within a second or so, and is logged there', async () => {
    const config = configOf(shared, 'idempotency', `, encryptionKeys: ["${Buffer.alloc(32).toString('base64')}"]`)
    const [a, b] = [await start(config), await start(config)]

    a.shifts.takeBack('risk', 'it fails')
    await until(b, { isStopped: true, reason: 'it fails' })
    b.command({ kind: 'resume' })
    await until(a, { isStopped: false, share: 0.05 })

    expect(b.news).toEqual(['risk taken up 0 it fails'])
    expect(a.news.at(-1)).toBe('risk taken up 0.05 null')
  })

  test('a gateway that starts later takes up the step and its remaining time', async () => {
    const config = configOf(stepped)
    const first = await start(config)
    first.command({ kind: 'to', share: 0.05, ttlMs: 1 })
    await until(first, { step: { reached: 2 } })
    await untilKept(config, { step: { reached: 2 } })

    const second = await start(config)

    expect(second.risk()?.step?.reached).toBe(2)
    expect(Math.abs((second.risk()?.step?.nextAt ?? 0) - (first.risk()?.step?.nextAt ?? 0))).toBeLessThan(60_000)
  })

  test('another candidate begins its own shift, and the first one resumes as it was left', async () => {
    const gateway = await start(configOf(shared))
    gateway.command({ kind: 'abort' })
    await untilKept(configOf(shared), { isStopped: true })

    await gateway.apply(configOf('{ endpoints: [http://c.internal], share: 9% }'))
    const other = gateway.risk()
    await gateway.apply(configOf(shared))

    expect(other).toMatchObject({ share: 0.09, isStopped: false })
    expect(gateway.risk()).toMatchObject({ share: 0, isStopped: true, ...words })
  })

  test('a stop survives an edit to a Redis with an older record, and is written there', async () => {
    const [there, elsewhere] = [configOf(shared), configOf(shared, 'limits', '', `q${prefix}`)]
    const gateway = await start(there)
    await untilKept(there, { share: 0.05 })
    gateway.command({ kind: 'to', share: 0.1, ttlMs: hour })
    await untilKept(there, { share: 0.1 })
    await gateway.apply(elsewhere)
    gateway.shifts.takeBack('risk', 'it fails')
    await untilKept(elsewhere, { isStopped: true })

    await gateway.apply(there)

    await untilKept(there, { isStopped: true, reason: 'it fails' })
    expect(gateway.risk()).toMatchObject({ share: 0, isStopped: true, reason: 'it fails' })
  })

  test('shifts are written again to a Redis that has lost them', async () => {
    const config = configOf(shared)
    const gateway = await start(config)
    gateway.command({ kind: 'abort' })
    await untilKept(config, { isStopped: true })

    await redis.kill()
    await redis.restart()

    await untilKept(config, { isStopped: true, ...words })
    expect(gateway.events).toContain('shifts cannot be kept in Redis')
  })

  test('a gateway that starts without Redis sends nothing to the candidate until Redis is back', async () => {
    const config = configOf(shared)
    const first = await start(config)
    first.shifts.takeBack('risk', 'it fails')
    await untilKept(config, { isStopped: true })
    first.stop()
    redis.freeze()
    onTestFinished(() => redis.thaw())

    const second = await start(config)
    const held = second.risk()
    redis.thaw()
    await until(second, { share: 0, isStopped: true, cause: 'guard', reason: 'it fails' })

    expect(held).toMatchObject({ share: 0, isStopped: true, cause: 'redis', by: null })
    expect(second.events).toContain('shift held')
  })

  test('an edit to another Redis that is down waits for that Redis', async () => {
    const gateway = await start(configOf(shared))
    await redis.kill()
    await vi.waitFor(() => expect(gateway.events).toContain('shifts cannot be kept in Redis'), { timeout: 20_000 })
    const { limits, ...config } = configOf('{ endpoints: [http://c.internal], share: 9% }')
    const elsewhere = limits.redis && { ...limits.redis, url: `redis://127.0.0.1:${await freePort()}` }
    const begun = now()

    const applied = gateway.apply({ ...config, limits: { ...limits, redis: elsewhere } })
    await redis.restart()
    await applied

    expect(now() - begun).toBeGreaterThanOrEqual(1000)
  })

  describe('that stand in Redis', () => {
    let client: Awaited<ReturnType<typeof open>>
    const open = () => createClient({ url: redis.url, RESP: 2 }).connect()
    beforeEach(async () => {
      client = await open()
      onTestFinished(() => client.destroy())
    })

    const key = async (): Promise<string> => (await client.keys(`p${prefix}:shift:risk:*`))[0] ?? ''
    const read = async (): Promise<string> => (await client.get(await key())) ?? ''
    const untilWritten = (part: string) => vi.waitFor(async () => expect(await read()).toContain(part), 20_000)
    /** Ends a gateway once this is written, and has ten hours pass. */
    const leaveAlone = async ({ stop }: Started, written: string): Promise<void> => {
      await untilWritten(written)
      stop()
      await client.set(await key(), (await read()).replace(/ \d+ /, ` ${Date.now() - 10 * hour} `))
    }

    test('an old record in Redis advances by one step, and its expired override ends', async () => {
      const config = configOf(stepped)
      await leaveAlone(await start(config), '"step":0')
      const second = await start(config)
      const stepsMadeUp = second.risk()
      second.command({ kind: 'to', share: 0.06, ttlMs: hour })
      await leaveAlone(second, '0.06')

      const third = await start(config)

      expect(stepsMadeUp).toMatchObject({ share: 0.05, step: { reached: 2 } })
      expect(third.risk()).toMatchObject({ share: 0.25, step: { reached: 3 }, until: null })
    })

    test('an invalid record in Redis is replaced', async () => {
      const config = configOf(shared)
      const first = await start(config)
      await untilWritten('"step":-1')
      first.stop()
      await client.set(await key(), '1-x 1 {"step":"many"}')

      const second = await start(config)
      await untilWritten('"step":-1')

      expect(second.risk()).toMatchObject({ share: 0.05 })
      expect(second.events).toContain('shift not understood')
    })

    test('Redis expires a record that no gateway has had for two weeks', async () => {
      await start(configOf(shared))
      await untilWritten('"step":-1')

      const days = (await client.pTTL(await key())) / (24 * hour)

      expect(days).toBeGreaterThan(13.9)
      expect(days).toBeLessThanOrEqual(14)
    })
  })

  test('an abort holds at other gateways, and after a restart', async () => {
    const { primary, candidate } = await sideUpstreams()
    const settings = {
      ...withCandidate(primary.url, candidate.url, { share: '100%' }),
      ...keyedClients('bank-a'),
      limits: { redis: { url: redis.url, prefix: 'abort', timeout: '1s' } },
    }
    const ask = ({ gateway }: LiveGateway) => askSide(gateway.address.port, { fields: keyOf('bank-a') })
    const [a, b] = [await bootLiveGateway(settings), await bootLiveGateway(settings)]
    const before = [await ask(a), await ask(b)]

    const body = JSON.stringify({ group: 'market', abort: true, reason: 'CHG-4711' })
    await fetchAdmin(`${a.admin}/shift`, 'POST', { headers: { 'Content-Type': 'application/json' }, body })
    await vi.waitFor(async () => expect(await ask(b)).toBe('200 primary'), { timeout: 20_000 })
    await b.gateway.close()
    const again = await bootLiveGateway(settings)

    expect(before).toEqual(['200 candidate', '200 candidate'])
    expect([await ask(a), await ask(again)]).toEqual(['200 primary', '200 primary'])
    expect(await b.line(({ msg }) => msg === 'shift taken up')).toMatchObject({ group: 'market', reason: 'CHG-4711' })
    expect(await again.line(({ msg }) => msg === 'shift taken up')).toMatchObject({ cause: 'operator', share: '0%' })
  })

  test('without Redis or a candidate no connection is opened', async () => {
    const none = await start(validConfig(withRisk(shared)))
    const idle = await start(validConfig(`${sandbox}\nlimits: { redis: { url: "${redis.url}" } }\n`))

    none.command({ kind: 'abort' })

    expect([none.events, idle.events]).toEqual([[], []])
  })
})
