/** Gateways that share stored responses in a real Redis, and their behavior without it. */
import { once } from 'node:events'
import { type IncomingMessage, request } from 'node:http'
import { text } from 'node:stream/consumers'
import { createClient } from '@redis/client'
import { afterEach, beforeEach, describe, expect, onTestFinished } from 'vitest'
import { startClosedLoop } from '../../../helpers/closed-loop-load.ts'
import type { LogLine, Settings } from '../../../helpers/gateway.ts'
import { bootLiveGateway, fetchAdmin, type LiveGateway } from '../../../helpers/live-gateway.ts'
import { type Redis, startRedis } from '../../../helpers/redis.ts'
import { slowLink } from '../../../helpers/slow-link.ts'
import { drill, test } from '../../../helpers/speed.ts'
import { httpUpstream, type TestUpstream } from '../../../helpers/upstream.ts'
import { redisForAll, redisProgram } from '../../redis/redis-for-all.ts'

const isShared = ({ msg }: LogLine): boolean => msg === 'cache is shared'
const isLocal = ({ msg }: LogLine): boolean => msg === 'cache is not shared'

interface Got {
  readonly status: number | undefined
  readonly fields: IncomingMessage['headers']
  readonly body: string
}

/** Asks by the name that all gateways have: a load balancer stands before them. */
const get = async ({ url }: LiveGateway, target: string, headers: Record<string, string> = {}): Promise<Got> => {
  const sent = request(url + target, { headers: { host: 'gateway.example', ...headers } }).end()
  const [result] = (await once(sent, 'response')) as [IncomingMessage]
  result.setEncoding('latin1')
  return { status: result.statusCode, fields: result.headers, body: await text(result) }
}

describe.skipIf(redisProgram.missing)('with Redis', () => {
  const redis = redisForAll()
  let upstream: TestUpstream
  let nth = 0

  const open = async (): Promise<Redis> => {
    const own = await startRedis(redisProgram.path ?? '')
    onTestFinished(() => own.kill())
    onTestFinished(() => own.thaw())
    return own
  }

  beforeEach(async () => {
    nth++
    upstream = await httpUpstream((arrived, response) => {
      const { method, url } = arrived
      if (method === 'POST') response.writeHead(201, { Location: `/market/insights${url.slice(url.indexOf('?'))}` })
      else response.setHeader('Cache-Control', 'max-age=60')
      response.end(Buffer.from(`response ${upstream.requests.length}\0\xff\xfe\r\n`, 'latin1'))
    })
  })
  afterEach(() => redis.client.flushDb())

  const settings = (
    { operations, cache, ...more }: Settings = {},
    { url }: { readonly url: string } = redis,
  ): Settings => ({
    upstream: upstream.url,
    operations: { 'market.insights': { cache: true }, 'leads.pipeline': { cache: true }, ...operations },
    // On a busy machine a response may take long; where that is not the subject, it is waited for.
    cache: { redis: { url, prefix: `test-${nth}`, timeout: '1s', ...cache } },
    ...more,
  })

  const boot = async (...args: Parameters<typeof settings>): Promise<LiveGateway> => {
    const booted = await bootLiveGateway(settings(...args))
    await booted.line(isShared)
    return booted
  }

  /** Waits until so many responses are in Redis: they are written in the background. */
  const written = (responses: number): Promise<void> =>
    expect
      .poll(async () => {
        const keys = await redis.client.keys(`test-${nth}:cache:*`)
        const held = await Promise.all(
          keys.map(async (key) => (await redis.client.type(key)) === 'hash' && redis.client.hExists(key, 'h')),
        )
        return held.filter(Boolean).length
      })
      .toBe(responses)

  test('what one gateway has fetched, another has not to, until it is removed', async () => {
    const [one, other] = [await boot(), await boot()]
    const first = await get(one, '/market/insights?a=1')
    await written(1)

    const second = await get(other, '/market/insights?a=1')
    const { body: status } = await fetchAdmin(`${other.admin}/status`)
    await fetchAdmin(`${one.admin}/cache?operation=leads.pipeline`, 'DELETE')
    const third = await boot()
    const kept = await get(third, '/market/insights?a=1')
    const { body } = await fetchAdmin(`${one.admin}/cache`, 'DELETE')
    await get(await boot(), '/market/insights?a=1')

    expect([second.status, second.body, kept.body]).toEqual([200, 'response 1\0\xff\xfe\r\n', first.body])
    expect(second.fields).toMatchObject({ 'cache-status': expect.stringContaining('hit'), date: first.fields.date })
    expect(status.cache).toMatchObject({ redis: { state: 'shared', where: null, found: 1, rejected: 0, dropped: 0 } })
    expect([body.removed, upstream.requests.length]).toEqual([1, 2])
  })

  // Redis hears of the POST long after the upstream's response has come.
  drill.each([
    [10, {}],
    [3, { workers: 2 }],
  ])(
    'after the response to a POST, another gateway does not find what it named: Redis is %i ms away, %j',
    async (delayMs, more) => {
      const link = await slowLink({ to: redis.port, delayMs })
      onTestFinished(() => link.close())
      const listen = { publicUrl: 'http://gateway.example' }
      const far = await bootLiveGateway(settings({ listen, ...more }, { url: `redis://127.0.0.1:${link.port}` }))
      const readCache = async () => (await fetchAdmin(`${far.admin}/status`)).body.cache
      await expect.poll(readCache).toMatchObject({ redis: { state: 'shared', where: null } })
      const other = await boot({ listen })
      const headers = { 'content-type': 'application/json' }

      for (let n = 1; n <= 20; n++) {
        const before = await get(far, `/market/insights?n=${n}`)
        await written(n)
        await (await fetch(`${far.url}/valuation/score?n=${n}`, { method: 'POST', body: '{}', headers })).text()
        expect((await get(other, `/market/insights?n=${n}`)).body).not.toBe(before.body)
      }
    },
  )

  test('killed under load, every request gets a response; back again, it is used again', async () => {
    const own = await open()
    // Within 20 ms, say, a machine under load may never have three replies in a row.
    const gateway = await boot({}, own)
    let n = 0
    const load = startClosedLoop(async (lane) => (await get(gateway, `/market/insights?lane=${lane}&n=${n++}`)).status)

    await load.more(50)
    await own.kill()
    await gateway.line(isLocal)
    await load.more(100)
    const before = gateway.lines.filter(isShared).length
    await own.restart()
    await expect.poll(() => gateway.lines.filter(isShared).length).toBeGreaterThan(before)
    await load.more(50)
    await load.stop()

    expect(new Set(load.responses)).toEqual(new Set([200]))
  })

  test('frozen, it delays no request for long, and soon none at all', async () => {
    const own = await open()
    const gateway = await boot({ cache: { timeout: '20ms' } }, own)
    own.freeze()

    for (let n = 0; n < 6; n++) expect(await get(gateway, `/market/insights?n=${n}`)).toMatchObject({ status: 200 })

    await gateway.line(isLocal)
    const { body: status } = await fetchAdmin(`${gateway.admin}/status`)
    const reason = expect.stringMatching(/^no reply within/)
    expect(status.cache).toMatchObject({ redis: { state: 'local', reason } })
  })

  test('a purge that does not reach Redis is reported as such, and is done when it is back', async () => {
    const own = await open()
    const [one, other] = [await boot({}, own), await boot({}, own)]
    await get(one, '/market/insights')
    const watching = await createClient({ url: own.url, RESP: 2 })
      .on('error', () => {})
      .connect()
    onTestFinished(() => watching.destroy())
    await expect.poll(async () => (await watching.keys('*:cache:*')).length).toBe(4)
    const [generationKey = ''] = await watching.keys('*:cache:of:market.insights')
    const generation = await watching.get(generationKey)
    own.freeze()

    const { status, body } = await fetchAdmin(`${one.admin}/cache`, 'DELETE')
    own.thaw()
    // Before that, the other gateway may find the old response, and keep it.
    await expect.poll(async () => await watching.get(generationKey)).not.toBe(generation)
    await expect.poll(async () => (await get(one, '/market/insights')).body).toContain('response')
    await expect.poll(async () => (await get(other, `/market/insights`)).body).not.toBe('response 1\0\xff\xfe\r\n')

    expect({ status, code: body.code }).toEqual({ status: 503, code: 'redis-not-replying' })
  })

  drill('with several workers a key is fetched once for all, and what is removed is gone for all', async () => {
    const live = await bootLiveGateway(settings({ workers: 2 }))
    const readCacheStatus = async () => (await fetchAdmin(`${live.admin}/status`)).body.cache
    await expect.poll(readCacheStatus).toMatchObject({ redis: { state: 'shared', where: null } })
    // Each connection goes to the next worker.
    const ask = () => get(live, '/market/insights', { connection: 'close' })
    await ask()
    await written(1)

    for (let n = 0; n < 4; n++) await ask()
    const cache = await readCacheStatus()
    const fetched = upstream.requests.length
    const { body } = await fetchAdmin(`${live.admin}/cache`, 'DELETE')
    await ask()
    await expect.poll(async () => ((await ask()).fields['cache-status'] ?? '').includes('hit')).toBe(true)

    expect(fetched).toBe(1)
    expect(cache).toMatchObject({ redis: { state: 'shared', where: null, found: 1 } })
    expect(body.removed).toBe(2)
    expect(upstream.requests.length).toBeGreaterThan(1)
  })

  test('turned off, the connection is closed', async () => {
    const live = await boot()
    const connections = async (): Promise<number> =>
      Number(/connected_clients:(\d+)/.exec(await redis.client.info('clients'))?.[1])
    await get(live, '/market/insights')
    const before = await connections()

    live.edit({ ...settings(), cache: {} })
    await live.gateway.reload('request')

    await expect.poll(connections).toBeLessThan(before)
    await get(live, '/market/insights')
    expect(upstream.requests).toHaveLength(1)
    const { body: status } = await fetchAdmin(`${live.admin}/status`)
    expect(status.cache).toMatchObject({ redis: null })
  })
})
