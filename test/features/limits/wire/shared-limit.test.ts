/** Gateways that count together in a real Redis, and what they do without it. */
import { hash } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { startClosedLoop } from '../../../helpers/closed-loop-load.ts'
import { bootGateway, type LogLine, type Settings } from '../../../helpers/gateway.ts'
import { bootLiveGateway, fetchAdmin } from '../../../helpers/live-gateway.ts'
import { needProgram } from '../../../helpers/program.ts'
import { type Redis, startRedis } from '../../../helpers/redis.ts'
import { openHttpUpstream, type TestUpstream } from '../../../helpers/upstream.ts'

const program = await needProgram('redis-server')
const password = 'p4ss/w@rd'
const secret = 'a'.repeat(43)

// On a busy machine a response may take long; where that is not the subject, it is waited for.
const patient = { timeout: '1s' }

describe.skipIf(program.missing)('with Redis', () => {
  let redis: Redis
  let upstream: TestUpstream
  let nth = 0

  const start = (...args: readonly string[]): Promise<Redis> =>
    startRedis(
      program.path ?? '',
      args.length === 0 ? ['--requirepass', password] : args,
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

  const isShared = ({ msg }: LogLine): boolean => msg === 'limits are shared'
  const isLocal = ({ msg }: LogLine): boolean => msg === 'limits are not shared'

  const ask = async ({ url }: { readonly url: string }): Promise<number> => {
    const response = await fetch(`${url}/market/insights`)
    await response.arrayBuffer()
    return response.status
  }

  test('killed under load, no client gets a 5xx; back again, it is shared again', async () => {
    nth++
    const own = await start()
    onTestFinished(() => own.kill())
    const boot = () => bootGateway({ upstream: upstream.url, limits: limits(own, {}) })
    const [gateway, other] = [await boot(), await boot()]
    await Promise.all([gateway.line(isShared), other.line(isShared)])
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

  // A server that repeats its input does not put the password into the log either.
  test.each([
    ['a wrong password', 'WRONGPASS', [], '%41'],
    ['a server without passwords', 'unknown command', ['--rename-command', 'AUTH', ''], '%40'],
  ])('%s is no reason to reject a client, and the log does not have it', async (_, expected, args, at) => {
    const own = args.length === 0 ? redis : await start(...args)
    onTestFinished(() => (own === redis ? undefined : own.kill()))
    const reason = async (): Promise<unknown> => {
      const live = await bootLiveGateway({
        ...{ upstream: upstream.url, limits: limits({ ...own, url: own.url.replace('%40', at) }) },
      })
      expect(await ask(live)).toBe(200)
      const line = await live.line(isLocal)
      expect(JSON.stringify(line)).not.toContain(password)
      return line.reason
    }

    // Redis may not reply in time to the first gateway on a busy machine.
    await expect.poll(reason).toContain(expected)
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
  const settings = (more: readonly object[] = []): Settings => ({
    upstream: upstream.url,
    limits: { redis: { url: redis.url, prefix: 'clients', ...patient } },
    auth: { methods: ['apiKey'] },
    clients: [
      ...Object.entries({ 'bank-a': ['old', 'new'], 'bank-b': ['b'] }).map(([id, keys]) => ({
        ...{ id, operations: 'all', rate: '1/min', burst: 4 },
        apiKeys: keys.map((key) => ({ id: key, sha256: hash('sha256', secret) })),
      })),
      ...(more as { readonly id: string }[]),
    ],
  })

  test('a client has one rate at all gateways, by whichever of its keys, over a reload and for one that starts later', async () => {
    const one = await bootLiveGateway(settings())
    const other = await bootGateway(settings())
    await Promise.all([one.line(isShared), other.line(isShared)])
    const statuses: number[] = []
    const askAs = async (gateway: { readonly url: string }, key: string) => {
      const headers = { 'X-Api-Key': `${key}.${secret}` }
      statuses.push((await fetch(`${gateway.url}/market/insights`, { headers })).status)
    }

    for (const key of ['old', 'new', 'old', 'b']) {
      await askAs(one, key)
      await askAs(other, key)
    }
    one.edit(settings([{ id: 'bank-c', operations: 'all' }]))
    expect((await one.gateway.reload('request')).result).toBe('applied')
    const fresh = await bootGateway(settings())
    await fresh.line(isShared)
    await askAs(one, 'new')
    await askAs(fresh, 'old')

    expect(statuses).toEqual([200, 200, 200, 200, 429, 429, 200, 200, 429, 429])
  })
})
