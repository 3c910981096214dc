/** Gateways that remember together in a real Redis what a key led to. */
import { createClient } from '@redis/client'
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest'
import { bootGateway, type LogLine } from '../../../helpers/gateway.ts'
import { bootLiveGateway } from '../../../helpers/live-gateway.ts'
import { needProgram } from '../../../helpers/program.ts'
import { type Redis, startRedis } from '../../../helpers/redis.ts'
import { slowLink } from '../../../helpers/slow-link.ts'
import { httpUpstream } from '../../../helpers/upstream.ts'
import { call, fieldValues } from '../../../helpers/wire.ts'

const program = await needProgram('redis-server')

const oldKey = Buffer.alloc(32, 1).toString('base64')
const newKey = Buffer.alloc(32, 2).toString('hex')

const operations = { 'financing.pre-approval': { idempotency: true } }

const isAvailable = ({ msg }: LogLine): boolean => msg === 'idempotency store is available'
const isUnavailable = ({ msg }: LogLine): boolean => msg === 'idempotency store is unavailable'
const isUndecrypted = ({ msg }: LogLine): boolean => msg === 'a remembered response cannot be decrypted'

/** Sends a POST with a key, and returns its status, its code or body, and whether it was replayed. */
const post = async (port: number, key: string, more: readonly string[] = []) => {
  const response = await call(port, {
    method: 'POST',
    target: '/financing/pre-approval',
    fields: ['Idempotency-Key', key, ...more],
    body: Buffer.from('abc'),
  })
  const text = response.body.toString()
  return [response.status, text.startsWith('{') ? JSON.parse(text).code : text, replayedOf(response.fields)] as const
}

const replayedOf = (fields: readonly string[]): boolean => fieldValues(fields, 'idempotency-replayed').includes('true')

describe.skipIf(program.missing)('with Redis', () => {
  let redis: Redis
  let nth = 0

  beforeAll(async () => {
    redis = await startRedis(program.path ?? '')
  })
  afterAll(() => redis.kill())

  /** Has a Redis of its own prefix for each test; where time is not the subject, its replies are waited for. */
  const settings = (
    upstream: string,
    encryptionKeys: readonly string[] = [oldKey],
    { url }: Pick<Redis, 'url'> = redis,
  ) => ({
    upstream,
    operations,
    idempotency: { redis: { url, prefix: `test-${nth}`, timeout: '1s' }, encryptionKeys },
  })

  const boot = async (...args: Parameters<typeof settings>) => {
    const booted = await bootGateway(settings(...args))
    await booted.line(isAvailable)
    return booted
  }

  const connect = async () => {
    const client = await createClient({ url: redis.url, RESP: 2 }).connect()
    onTestFinished(() => client.destroy())
    return client
  }

  const numbered = () => {
    nth++
    return httpUpstream((_, response) => response.end('a response that only its client may read'))
  }

  test('the first request finds Redis connected, however far it is', async () => {
    const upstream = await numbered()
    const link = await slowLink({ to: Number(new URL(redis.url).port), delayMs: 30 })
    onTestFinished(() => link.close())

    const { port } = await bootGateway(settings(upstream.url, [oldKey], { url: `redis://127.0.0.1:${link.port}` }))

    expect((await post(port, 'k'))[0]).toBe(200)
  })

  test('what one gateway has forwarded, another replays', async () => {
    const upstream = await numbered()
    const [first, second] = [await boot(upstream.url), await boot(upstream.url)]

    const answers = [await post(first.port, 'k'), await post(second.port, 'k'), await post(first.port, 'k')]

    const text = 'a response that only its client may read'
    expect(answers).toEqual([
      [200, text, false],
      [200, text, true],
      [200, text, true],
    ])
    expect(upstream.requests).toHaveLength(1)
  })

  test('Redis sees no client, no key and no response', async () => {
    const upstream = await numbered()
    const { port } = await boot(upstream.url)
    const client = await connect()

    await post(port, 'a-key-of-a-client', ['Authorization', 'Bearer a-secret'])

    const keys = (await client.keys(`test-${nth}:idempotency:*`)).sort()
    const stored = await Promise.all(
      keys.map(async (key) => ((await client.type(key)) === 'hash' ? client.hGetAll(key) : client.get(key))),
    )
    const all = JSON.stringify([keys, stored])
    expect(keys).toHaveLength(2)
    expect(new Set(keys.map((key) => /\{.*\}/.exec(key)?.[0])).size).toBe(1)
    for (const key of keys) {
      const leftMs = await client.pTTL(key)
      expect(leftMs).toBeGreaterThan(0)
      expect(leftMs).toBeLessThanOrEqual(86_400_000)
    }
    for (const secret of ['a-key-of-a-client', 'a-secret', 'financing', 'a response']) expect(all).not.toContain(secret)
  })

  test('a response that was edited has an unknown outcome, and the log says so once', async () => {
    const upstream = await numbered()
    const { port, lines, line } = await boot(upstream.url)
    const client = await connect()

    await post(port, 'k')
    const keys = await client.keys(`test-${nth}:idempotency:*`)
    for (const key of keys.filter((each) => !each.includes(':keys:'))) {
      const sealed = Buffer.from(await readBytes(client, key))
      sealed[sealed.length - 1] = (sealed.at(-1) ?? 0) ^ 1
      await client.hSet(key, 'r', sealed)
    }
    const answers = [await post(port, 'k'), await post(port, 'k')]

    expect(answers.map(([status, code]) => [status, code])).toEqual(Array(2).fill([409, 'outcome-unknown']))
    await line(isUndecrypted)
    expect(lines.filter(isUndecrypted)).toHaveLength(1)
    expect(upstream.requests).toHaveLength(1)
  })

  const readBytes = async (client: Awaited<ReturnType<typeof connect>>, key: string): Promise<string | Buffer> => {
    const { RESP_TYPES } = await import('@redis/client')
    const bytes = await client.withTypeMapping({ [RESP_TYPES.BLOB_STRING]: Buffer }).hGet(key, 'r')
    return bytes ?? ''
  }

  test('a response of the earlier key is replayed as long as that key is there', async () => {
    const upstream = await numbered()
    const before = await boot(upstream.url, [oldKey])
    const during = await boot(upstream.url, [newKey, oldKey])
    const after = await boot(upstream.url, [newKey])

    await post(before.port, 'k-1')
    await post(during.port, 'k-2')

    expect((await post(during.port, 'k-1'))[0]).toBe(200)
    expect((await post(after.port, 'k-2'))[0]).toBe(200)
    expect((await post(after.port, 'k-1')).slice(0, 2)).toEqual([409, 'outcome-unknown'])
    expect(upstream.requests).toHaveLength(2)
  })

  test('FLUSHALL makes every key new', async () => {
    const upstream = await numbered()
    const { port } = await boot(upstream.url)
    const client = await connect()

    await post(port, 'k')
    await client.flushAll()
    const again = await post(port, 'k')

    expect(again).toEqual([200, 'a response that only its client may read', false])
    expect(upstream.requests).toHaveLength(2)
  })

  test('without Redis nothing is forwarded, and soon after its return everything is', async () => {
    const upstream = await numbered()
    const own = await startRedis(program.path ?? '')
    onTestFinished(() => own.kill())
    const { port, line, lines } = await boot(upstream.url, [oldKey], own)

    await own.kill()
    await line(isUnavailable)
    const without = await post(port, 'k')
    await own.restart()
    await vi.waitFor(() => expect(lines.filter(isAvailable)).toHaveLength(2), 30_000)
    const later = await post(port, 'k')

    expect(without.slice(0, 2)).toEqual([503, 'idempotency-unavailable'])
    expect(later[0]).toBe(200)
    expect(upstream.requests).toHaveLength(1)
  })

  test('a Redis that takes no more writes has nothing forwarded', async () => {
    const upstream = await numbered()
    const own = await startRedis(program.path ?? '', ['--maxmemory', '100mb', '--maxmemory-policy', 'noeviction'])
    onTestFinished(() => own.kill())
    const { port, line } = await boot(upstream.url, [oldKey], own)
    const client = await createClient({ url: own.url, RESP: 2 }).connect()
    onTestFinished(() => client.destroy())

    await client.configSet('maxmemory', '1')
    const without = await post(port, 'k')
    await client.configSet('maxmemory', '0')

    expect(await line(({ failure }) => failure === 'idempotency-unavailable')).toMatchObject({
      cause: expect.stringContaining('OOM'),
    })
    expect(without.slice(0, 2)).toEqual([503, 'idempotency-unavailable'])
    expect(upstream.requests).toHaveLength(0)
  })

  test('an edit from memory to Redis has the attempt in flight settled in memory, and a new key in Redis', async () => {
    nth++
    const { promise: asked, resolve: onAsked } = Promise.withResolvers<void>()
    const { promise: released, resolve: release } = Promise.withResolvers<void>()
    const upstream = await httpUpstream(async (_, response) => {
      onAsked()
      await released
      response.end('done')
    })
    const live = await bootLiveGateway({ upstream: upstream.url, operations })
    const port = Number(new URL(live.url).port)

    const first = post(port, 'k')
    await asked
    live.edit(settings(upstream.url))
    expect((await live.gateway.reload('request')).result).toBe('applied')
    expect(await live.line(({ msg }) => msg === 'idempotency store changed')).toMatchObject({
      from: 'memory',
      to: `${new URL(redis.url).host}, database 0, prefix test-${nth}`,
    })
    await live.line(isAvailable)
    release()

    expect(await first).toEqual([200, 'done', false])
    expect(await post(port, 'k')).toEqual([200, 'done', false])
    expect(await post(port, 'k')).toEqual([200, 'done', true])
    expect(upstream.requests).toHaveLength(2)
  })
})
