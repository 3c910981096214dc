/** Gateways that count together in a real Redis, and what they do without it. */
import { hash } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { startClosedLoop } from '../../../helpers/closed-loop-load.ts'
import { bootGateway, type Settings, type TestGateway } from '../../../helpers/gateway.ts'
import { bootLiveGateway, fetchAdmin } from '../../../helpers/live-gateway.ts'
import { needProgram } from '../../../helpers/program.ts'
import { type Redis, startRedis } from '../../../helpers/redis.ts'
import { openHttpUpstream, type TestUpstream } from '../../../helpers/upstream.ts'

const program = await needProgram('redis-server')
const password = 'p4ss/w@rd'
const secret = 'a'.repeat(43)
const sha256 = hash('sha256', secret)

// On a busy machine a response may take long; where that is not the subject, it is waited for.
const patient = { timeout: '1s' }

describe.skipIf(program.missing)('with Redis', () => {
  let redis: Redis
  let upstream: TestUpstream
  let nth = 0

  const start = (): Promise<Redis> =>
    startRedis(
      program.path ?? '',
      ['--requirepass', password],
      (port) => `redis://:${encodeURIComponent(password)}@127.0.0.1:${port}`,
    )

  beforeAll(async () => {
    redis = await start()
    upstream = await openHttpUpstream()
  })
  afterAll(async () => {
    await upstream.close()
    await redis.kill()
  })

  /** Limits by that Redis, and shares its counts with no other gateway. */
  const limits = ({ url } = redis, more: object = patient) => ({
    address: { rate: '1/min', burst: 20 },
    redis: { url, prefix: `test-${nth}`, ...more },
  })

  const boot = async (...args: Parameters<typeof limits>): Promise<TestGateway> => {
    const booted = await bootGateway({ upstream: upstream.url, limits: limits(...args) })
    await booted.line(isShared)
    return booted
  }

  const isShared = ({ msg }: { readonly msg: string }): boolean => msg === 'limits are shared'
  const isLocal = ({ msg }: { readonly msg: string }): boolean => msg === 'limits are not shared'

  const ask = async ({ url }: { readonly url: string }): Promise<number> => {
    const response = await fetch(`${url}/market/insights`)
    await response.arrayBuffer()
    return response.status
  }

  test('two gateways share one limit', async () => {
    nth++
    const gateways = [await boot(), await boot()]

    const statuses = await Promise.all(
      gateways.flatMap((gateway) =>
        Array.from({ length: 2 }, async () => {
          const got: number[] = []
          for (let n = 0; n < 12; n++) got.push(await ask(gateway))
          return got
        }),
      ),
    )

    const served = statuses.flat().filter((status) => status === 200).length
    expect(statuses.flat().filter((status) => status !== 200 && status !== 429)).toEqual([])
    expect(served).toBeGreaterThanOrEqual(20)
    expect(served).toBeLessThanOrEqual(22) // the rate gives one in a minute
  })

  test('killed under load, no client gets a 5xx; back again, it is shared again', async () => {
    nth++
    const own = await start()
    onTestFinished(() => own.kill())
    const [gateway, other] = [await boot(own, {}), await boot(own, {})]
    const load = startClosedLoop(() => ask(gateway))

    await load.more(10)
    await own.kill()
    await gateway.line(isLocal)
    await load.more(20)
    const sharedBefore = gateway.lines.filter(isShared).length
    await own.restart()
    await expect.poll(() => gateway.lines.filter(isShared).length).toBeGreaterThan(sharedBefore)
    await expect.poll(() => other.lines.filter(isShared).length).toBeGreaterThan(1)
    await load.more(40)
    await load.stop()

    expect(load.responses.filter((status) => status !== 200 && status !== 429)).toEqual([])
    // It has served no request yet: it knows by Redis, which may be late once on a busy machine.
    await expect.poll(() => ask(other)).toBe(429)
  })

  test('without Redis a gateway starts and serves, says so once, and names no password', async () => {
    const own = await start()
    await own.kill()
    const live = await bootLiveGateway({ upstream: upstream.url, limits: limits(own), log: { level: 'trace' } })
    const line = await live.line(isLocal)

    expect(await ask(live)).toBe(200)
    expect(line).toMatchObject({ level: 40, reason: expect.stringContaining('ECONNREFUSED') })
    const { body: status } = await fetchAdmin(`${live.admin}/status`)
    expect(status.limits).toMatchObject({
      rate: { store: 'redis', state: 'local', reason: expect.stringMatching(/closed|ECONN/) },
    })
    const { body: config } = await fetchAdmin(`${live.admin}/config`)
    for (const text of [live.lines, status, config])
      for (const each of [password, encodeURIComponent(password)]) expect(JSON.stringify(text)).not.toContain(each)
    expect(live.lines.filter(isLocal)).toHaveLength(1)
  })

  test('a wrong password is no reason to reject a client', async () => {
    const wrong = { ...redis, url: redis.url.replace('%40', '%41') }
    const reason = async (): Promise<unknown> => {
      const live = await bootLiveGateway({ upstream: upstream.url, limits: limits(wrong) })
      expect(await ask(live)).toBe(200)
      return (await live.line(isLocal)).reason
    }

    // Redis may not reply in time to the first gateway on a busy machine.
    await expect.poll(reason).toContain('WRONGPASS')
  })

  test('a server that repeats its input does not put the password into the log', async () => {
    const own = await startRedis(
      program.path ?? '',
      ['--rename-command', 'AUTH', ''],
      (port) => `redis://:${encodeURIComponent(password)}@127.0.0.1:${port}`,
    )
    onTestFinished(() => own.kill())
    const reason = async (): Promise<unknown> => {
      const live = await bootLiveGateway({ upstream: upstream.url, limits: limits(own) })
      const line = await live.line(isLocal)
      expect(JSON.stringify(line)).not.toContain(password)
      return line.reason
    }

    // As above, the first gateway may have had no reply in time.
    await expect.poll(reason).toContain('unknown command')
  })

  test('turned off, the connection is closed', async () => {
    nth++
    const live = await bootLiveGateway({ upstream: upstream.url, limits: limits() })
    await live.line(isShared)
    const { createClient } = await import('@redis/client')
    const client = await createClient({ url: redis.url, RESP: 2 }).connect()
    const connections = async (): Promise<number> =>
      Number(/connected_clients:(\d+)/.exec(await client.info('clients'))?.[1])
    const before = await connections()

    live.edit({ upstream: upstream.url })
    await live.gateway.reload('request')

    await expect.poll(connections).toBe(before - 1)
    expect((await fetch(`${live.url}/market/insights`)).headers.has('ratelimit')).toBe(false)
    client.destroy()
  })

  // Clients are counted by whichever of their credentials they show, at whichever gateway.
  const settings = (
    prefix: string,
    more: readonly { readonly id: string; readonly operations: string }[] = [],
  ): Settings => ({
    upstream: upstream.url,
    limits: { redis: { url: redis.url, prefix, timeout: '1s' } },
    auth: { methods: ['apiKey'] },
    clients: [
      {
        id: 'bank-a',
        operations: 'all',
        rate: '1/min',
        burst: 4,
        apiKeys: ['old', 'new'].map((id) => ({ id, sha256 })),
      },
      { id: 'bank-b', operations: 'all', rate: '1/min', burst: 4, apiKeys: [{ id: 'b', sha256 }] },
      ...more,
    ],
  })
  const shared = ({ line }: TestGateway) => line(isShared)
  const askAs = async ({ url }: { readonly url: string }, key: string): Promise<number> =>
    (await fetch(`${url}/market/insights`, { headers: { 'X-Api-Key': `${key}.${secret}` } })).status

  test('a client has one rate at all gateways, by whichever of its keys, and no other client shares it', async () => {
    const [one, other] = [await bootGateway(settings('keys')), await bootGateway(settings('keys'))]
    await Promise.all([shared(one), shared(other)])

    const statuses = []
    for (const [gateway, key] of [
      [one, 'old'],
      [other, 'new'],
      [one, 'new'],
      [other, 'old'],
      [one, 'old'],
      [other, 'new'],
    ] as const)
      statuses.push(await askAs(gateway, key))

    expect(statuses).toEqual([200, 200, 200, 200, 429, 429])
    expect([await askAs(one, 'b'), await askAs(other, 'b')]).toEqual([200, 200])
  })

  test('what it has used stays used over a reload, and for a gateway that has just started', async () => {
    const live = await bootLiveGateway(settings('reload'))
    await live.line(isShared)
    for (let n = 0; n < 4; n++) expect(await askAs(live, 'old')).toBe(200)

    live.edit(settings('reload', [{ id: 'bank-c', operations: 'all' }]))
    expect((await live.gateway.reload('request')).result).toBe('applied')
    const fresh = await bootGateway(settings('reload'))
    await shared(fresh)

    expect([await askAs(live, 'new'), await askAs(fresh, 'old')]).toEqual([429, 429])
  })
})
