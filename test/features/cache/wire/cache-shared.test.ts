/** Gateways that find in a real Redis what one of them has stored, and what they do without it. */
import { hash } from 'node:crypto'
import { once } from 'node:events'
import { type IncomingMessage, request, type ServerResponse } from 'node:http'
import { text } from 'node:stream/consumers'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, onTestFinished } from 'vitest'
import { startClosedLoop } from '../../../helpers/closed-loop-load.ts'
import type { LogLine, Settings } from '../../../helpers/gateway.ts'
import { bootLiveGateway, fetchAdmin, type LiveGateway } from '../../../helpers/live-gateway.ts'
import { needProgram } from '../../../helpers/program.ts'
import { type Redis, startRedis } from '../../../helpers/redis.ts'
import { receivedValues } from '../../../helpers/round-trip.ts'
import { describeTests, drill, test } from '../../../helpers/speed.ts'
import { httpUpstream, type TestUpstream } from '../../../helpers/upstream.ts'

const program = await needProgram('redis-server')
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
  const [answer] = (await once(sent, 'response')) as [IncomingMessage]
  answer.setEncoding('latin1')
  return { status: answer.statusCode, fields: answer.headers, body: await text(answer) }
}

describe.skipIf(program.missing)('with Redis', () => {
  let redis: Redis
  let client: Awaited<ReturnType<typeof connect>>
  let upstream: TestUpstream
  let nth = 0
  let said: Record<string, string>
  let code: number

  const connect = async (url: string) => {
    const { createClient } = await import('@redis/client')
    const made = createClient({ url, RESP: 2 })
    made.on('error', () => {})
    return made.connect()
  }

  beforeAll(async () => {
    redis = await startRedis(program.path ?? '')
    client = await connect(redis.url)
  })
  afterAll(async () => {
    client.destroy()
    await redis.kill()
  })
  beforeEach(async () => {
    nth++
    said = { 'Cache-Control': 'max-age=60' }
    code = 200
    upstream = await httpUpstream((arrived, response) => {
      const { method } = arrived
      if (method === 'POST') response.writeHead(201, { Location: '/market/insights?a=1' })
      else for (const [name, value] of Object.entries(said)) response.setHeader(name, value)
      if (receivedValues(arrived, 'if-none-match').includes(said.ETag ?? 'none')) return response.writeHead(304).end()
      response.statusCode = method === 'POST' ? 201 : code
      response.end(Buffer.from(`answer ${upstream.requests.length}\0\xff\xfe\r\n`, 'latin1'))
    })
  })
  afterEach(() => client.flushDb())

  const settings = ({ operations, cache, ...more }: Settings = {}, { url } = redis): Settings => ({
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
        const keys = await client.keys(`test-${nth}:cache:*`)
        const held = await Promise.all(
          keys.map(async (key) => (await client.type(key)) === 'hash' && client.hExists(key, 'h')),
        )
        return held.filter(Boolean).length
      })
      .toBe(responses)

  test('what one gateway has fetched, another has not to', async () => {
    const [one, other] = [await boot(), await boot()]

    const first = await get(one, '/market/insights?a=1')
    await written(1)
    const second = await get(other, '/market/insights?a=1')

    expect(upstream.requests).toHaveLength(1)
    expect(second.body).toBe('answer 1\0\xff\xfe\r\n')
    expect(second).toMatchObject({ status: 200, body: first.body })
    expect(second.fields['cache-status']).toContain('hit')
    expect(Number(second.fields.age)).toBeGreaterThanOrEqual(0)
    expect(second.fields.date).toBe(first.fields.date)
    const { body: status } = await fetchAdmin(`${other.admin}/status`)
    expect(status.cache).toMatchObject({ redis: { state: 'shared', where: null, found: 1, refused: 0, dropped: 0 } })
  })

  test('of many requests to another gateway at once, none goes upstream', async () => {
    const [one, other] = [await boot(), await boot()]
    await get(one, '/market/insights')
    await written(1)

    const responses = await Promise.all(Array.from({ length: 50 }, () => get(other, '/market/insights')))

    expect(new Set(responses.map(({ body }) => body))).toEqual(new Set(['answer 1\0\xff\xfe\r\n']))
    expect(upstream.requests).toHaveLength(1)
  })

  test('a slow response does not replace one of another gateway that was made later', async () => {
    const held: ServerResponse[] = []
    const holding = await httpUpstream((_, response) => held.push(response))
    const [one, other] = [await boot({ upstream: holding.url }), await boot({ upstream: holding.url })]
    const ask = async (gateway: LiveGateway, target: string) => {
      const asked = held.length
      const pending = get(gateway, target, { 'cache-control': 'no-cache' })
      await expect.poll(() => held.length).toBe(asked + 1)
      return async (body: string, ageMs: number): Promise<void> => {
        const date = new Date(Date.now() - ageMs).toUTCString()
        held[asked]?.writeHead(200, { 'Cache-Control': 'max-age=60', Date: date }).end(body)
        await pending
      }
    }
    await (await ask(one, '/market/insights'))('first', 0)
    await written(1)
    const [answerSlowly, answer] = [await ask(one, '/market/insights'), await ask(other, '/market/insights')]

    await answer('later', 0)
    await (await ask(other, '/leads/pipeline'))('written after it', 0)
    await written(2)
    await answerSlowly('earlier', 5_000)
    await (await ask(one, '/leads/pipeline?a=1'))('written after it', 0)
    await written(3)

    expect((await get(await boot({ upstream: holding.url }), '/market/insights')).body).toBe('later')
  })

  test('each variant is found by those for whom it is', async () => {
    said = { 'Cache-Control': 'max-age=60', Vary: 'Accept-Language' }
    const [one, other] = [await boot(), await boot()]
    const ask = (gateway: LiveGateway, language: string) =>
      get(gateway, '/market/insights', { 'accept-language': language })

    const [en, de] = [await ask(one, 'en'), await ask(one, 'de')]
    await written(2)

    expect((await ask(other, 'de')).body).toBe(de.body)
    expect((await ask(other, 'en')).body).toBe(en.body)
    expect(en.body).not.toBe(de.body)
    await ask(other, 'fr')
    expect(upstream.requests).toHaveLength(3)
  })

  test('what is stale there is validated, and the new response is there for the next', async () => {
    said = { 'Cache-Control': 'no-cache', ETag: '"1"' }
    const [one, other] = [await boot(), await boot()]
    await get(one, '/market/insights')
    await written(1)

    const second = await get(other, '/market/insights')

    expect(second).toMatchObject({ status: 200, body: 'answer 1\0\xff\xfe\r\n' })
    expect(receivedValues(upstream.requests[1], 'if-none-match')).toEqual(['"1"'])
  })

  test('what is there stands in for an upstream that is down', async () => {
    said = { 'Cache-Control': 'max-age=0' }
    const operations = { 'market.insights': { cache: { staleIfError: '10m' } } }
    const [one, other] = [await boot({ operations }), await boot({ operations })]
    await get(one, '/market/insights')
    await written(1)

    await upstream.close()

    expect(await get(other, '/market/insights')).toMatchObject({ status: 200, body: 'answer 1\0\xff\xfe\r\n' })
  })

  describeTests('of an upstream that answers 503 with a lifetime,', () => {
    const operations = { 'market.insights': { cache: { staleIfError: '10m' } } }
    const good = { status: 200, body: 'answer 1\0\xff\xfe\r\n' }

    test('the error leaves there what may stand in for it', async () => {
      said = { 'Cache-Control': 'max-age=0', Vary: 'Accept-Language' }
      const [one, other, third] = [await boot({ operations }), await boot({ operations }), await boot({ operations })]
      await get(one, '/market/insights', { 'accept-language': 'en' })
      await written(1)
      code = 503
      said = { 'Cache-Control': 'max-age=60' }

      const got = await get(other, '/market/insights', { 'accept-language': 'de' })
      await get(other, '/market/insights?written=later')
      await written(2)

      expect(got.status).toBe(503)
      expect(await get(third, '/market/insights', { 'accept-language': 'en' })).toMatchObject(good)
    })

    test('the error that is there does not take the place of what is in memory', async () => {
      const [one, other] = [await boot({ operations }), await boot({ operations })]
      await get(one, '/market/insights')
      await written(1)
      await client.flushDb()
      code = 503
      said = { 'Cache-Control': 'max-age=600' }
      await get(other, '/market/insights')
      await written(1)

      await get(one, '/market/insights', { 'cache-control': 'min-fresh=100' })

      expect(await get(one, '/market/insights')).toMatchObject(good)
    })

    test('what is there takes the place of the error in memory', async () => {
      said = { 'Cache-Control': 'max-age=0' }
      const [one, other] = [await boot({ operations }), await boot({ operations })]
      await get(one, '/market/insights')
      await written(1)
      const keys = await client.keys('*')
      for (const key of keys) await client.rename(key, `kept:${key}`)
      code = 503
      said = { 'Cache-Control': 'max-age=60' }
      await get(other, '/market/insights')
      await written(1)
      for (const key of keys) await client.rename(`kept:${key}`, key)

      await get(other, '/market/insights', { 'cache-control': 'min-fresh=100' })

      expect(await get(other, '/market/insights')).toMatchObject(good)
    })
  })

  test('no client gets the response of another, and each finds its own', async () => {
    const secret = 'a'.repeat(43)
    const clients = ['bank-a', 'bank-b'].map((id) => ({
      id,
      operations: 'all',
      apiKeys: [{ id, sha256: hash('sha256', secret) }],
    }))
    const known: Settings = { auth: { methods: ['apiKey'] }, clients }
    const [one, other] = [await boot(known), await boot(known)]
    const ask = (gateway: LiveGateway, id: string) =>
      get(gateway, '/leads/pipeline', { 'x-api-key': `${id}.${secret}` })
    const mine = await ask(one, 'bank-a')
    await written(1)

    const theirs = await ask(other, 'bank-b')

    expect(theirs.body).not.toBe(mine.body)
    expect((await ask(other, 'bank-a')).body).toBe(mine.body)
    expect(upstream.requests).toHaveLength(2)
  })

  test('gateways whose upstreams differ store apart', async () => {
    const [one, other] = [await boot(), await boot({ upstreams: { market: `${upstream.url}/v2` } })]
    await get(one, '/market/insights')
    await written(1)

    await get(other, '/market/insights')

    expect(upstream.requests).toHaveLength(2)
  })

  test.each([
    [
      'a POST that names it',
      (one: LiveGateway) => fetch(`${one.url}/valuation/score`, post),
      '/market/insights?a=1',
      3,
    ],
    ['DELETE /cache', (one: LiveGateway) => fetchAdmin(`${one.admin}/cache`, 'DELETE'), '/market/insights', 2],
    [
      'DELETE of the operation',
      (one: LiveGateway) => fetchAdmin(`${one.admin}/cache?operation=market.insights`, 'DELETE'),
      '/market/insights',
      2,
    ],
    [
      'DELETE of the client',
      (one: LiveGateway) => fetchAdmin(`${one.admin}/cache?client=`, 'DELETE'),
      '/market/insights',
      2,
    ],
    [
      'DELETE of another operation',
      (one: LiveGateway) => fetchAdmin(`${one.admin}/cache?operation=leads.pipeline`, 'DELETE'),
      '/market/insights',
      1,
    ],
    [
      'DELETE of another client',
      (one: LiveGateway) => fetchAdmin(`${one.admin}/cache?client=bank-b`, 'DELETE'),
      '/market/insights',
      1,
    ],
  ])('after %s, no gateway finds there what was stored before', async (_, remove, target, asked) => {
    const publicUrl = 'http://gateway.example'
    const listen = { publicUrl }
    const [one, other] = [await boot({ listen }), await boot({ listen })]
    await get(one, target)
    await written(1)

    await remove(one)
    await get(other, target)

    expect(upstream.requests).toHaveLength(asked)
  })
  const post = { method: 'POST', body: '{}', headers: { 'content-type': 'application/json' } }

  test('what was asked for before it became invalid is not there afterwards', async () => {
    let answer = (): void => {}
    const held = await httpUpstream((_, response) => {
      answer = () => response.setHeader('Cache-Control', 'max-age=60').end('before')
    })
    const [one, other] = [await boot({ upstream: held.url }), await boot({ upstream: held.url })]
    const got = get(one, '/market/insights')
    await expect.poll(() => held.requests.length).toBe(1)

    await fetchAdmin(`${other.admin}/cache`, 'DELETE')
    answer()
    await got
    await get(one, '/market/insights') // from its memory: it has not been notified
    const again = get(other, '/market/insights')
    await expect.poll(() => held.requests.length).toBe(2)
    answer()
    await again

    expect(held.requests).toHaveLength(2)
  })

  test('what the upstream forbids to store from now on is not there any more', async () => {
    const [one, other] = [await boot(), await boot()]
    await get(one, '/market/insights')
    await written(1)
    said = { 'Cache-Control': 'no-store' }

    await get(one, '/market/insights', { 'cache-control': 'no-cache' })
    await written(0)
    await get(other, '/market/insights')

    expect(upstream.requests).toHaveLength(3)
  })

  test('killed under load, every request is answered; back again, it is used again', async () => {
    said = { 'Cache-Control': 'max-age=0', ETag: '"1"' }
    const own = await startRedis(program.path ?? '')
    onTestFinished(() => own.kill())
    // Within 20 ms, say, a machine under load may never have three replies in a row.
    const gateway = await boot({}, own)
    const load = startClosedLoop(async (lane) => (await get(gateway, `/market/insights?lane=${lane}`)).status)

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
    const own = await startRedis(program.path ?? '')
    onTestFinished(() => {
      own.thaw()
      return own.kill()
    })
    const gateway = await boot({ cache: { timeout: '20ms' } }, own)
    own.freeze()

    for (let n = 0; n < 6; n++) expect(await get(gateway, `/market/insights?n=${n}`)).toMatchObject({ status: 200 })

    await gateway.line(isLocal)
    const { body: status } = await fetchAdmin(`${gateway.admin}/status`)
    expect(status.cache).toMatchObject({
      redis: { state: 'local', reason: expect.stringMatching(/^no answer within/) },
    })
  })

  test('a purge that does not reach Redis is reported as such, and is done when it is back', async () => {
    const own = await startRedis(program.path ?? '')
    onTestFinished(() => {
      own.thaw()
      return own.kill()
    })
    const [one, other] = [await boot({}, own), await boot({}, own)]
    await get(one, '/market/insights')
    const watching = await connect(own.url)
    onTestFinished(() => watching.destroy())
    await expect.poll(async () => (await watching.keys('*:cache:*')).length).toBe(4)
    const [generationKey = ''] = await watching.keys('*:cache:of:market.insights')
    const generation = await watching.get(generationKey)
    own.freeze()

    const { status, body } = await fetchAdmin(`${one.admin}/cache`, 'DELETE')
    own.thaw()
    // Before that, the other gateway may find the old answer, and keep it.
    await expect.poll(async () => await watching.get(generationKey)).not.toBe(generation)
    await expect.poll(async () => (await get(one, '/market/insights')).body).toContain('answer')
    await expect.poll(async () => (await get(other, `/market/insights`)).body).not.toBe('answer 1\0\xff\xfe\r\n')

    expect({ status, code: body.code }).toEqual({ status: 503, code: 'redis-not-answering' })
  })

  test('a purge that has not reached Redis is done when it is back, also where the way to it was edited', async () => {
    const own = await startRedis(program.path ?? '')
    onTestFinished(() => {
      own.thaw()
      return own.kill()
    })
    const live = await boot({}, own)
    const watching = await connect(own.url)
    onTestFinished(() => watching.destroy())
    const first = await get(live, '/market/insights')
    await expect.poll(async () => (await watching.keys('*:cache:*')).length).toBe(4)
    own.freeze()
    const { status } = await fetchAdmin(`${live.admin}/cache`, 'DELETE')

    live.edit(settings({ cache: { timeout: '500ms' } }, own))
    const { result } = await live.gateway.reload('request')
    const before = live.lines.filter(isShared).length
    own.thaw()
    await expect.poll(() => live.lines.filter(isShared).length).toBeGreaterThan(before)
    const second = await get(live, '/market/insights')

    expect({ status, result }).toEqual({ status: 503, result: 'applied' })
    expect(second.body).not.toBe(first.body)
  })

  test('what another program has written there is served to no client', async () => {
    const [one, other] = [await boot(), await boot()]
    await get(one, '/market/insights?a=1')
    await get(one, '/market/insights?a=2')
    await written(2)
    const keys = await client.keys(`test-${nth}:cache:*`)
    const records = []
    for (const key of keys) if ((await client.type(key)) === 'hash') records.push(key)
    const [first = '', second = ''] = records
    const swapped = await client.hGet(second, 'h')
    await client.hSet(second, 'h', (await client.hGet(first, 'h')) ?? '')
    await client.hSet(first, 'h', swapped ?? '')

    await get(other, '/market/insights?a=1')
    await get(other, '/market/insights?a=2')

    expect(upstream.requests).toHaveLength(4)
    const { body: status } = await fetchAdmin(`${other.admin}/status`)
    expect(status.cache).toMatchObject({ redis: { state: 'shared', found: 0, refused: 2 } })
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
      Number(/connected_clients:(\d+)/.exec(await client.info('clients'))?.[1])
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
