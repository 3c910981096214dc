/** Gateways that remember together in a real Redis what a key led to. */
import { createClient, RESP_TYPES } from '@redis/client'
import { describe, expect, onTestFinished, test } from 'vitest'
import { bootGateway, type LogLine } from '../../../helpers/gateway.ts'
import { bootLiveGateway } from '../../../helpers/live-gateway.ts'
import { type Redis, startRedis } from '../../../helpers/redis.ts'
import { slowLink } from '../../../helpers/slow-link.ts'
import { httpUpstream } from '../../../helpers/upstream.ts'
import { redisForAll, redisProgram } from '../../redis/redis-for-all.ts'
import { once, openHeldUpstream, post } from './keyed-post.ts'

const oldKey = Buffer.alloc(32, 1).toString('base64')
const newKey = Buffer.alloc(32, 2).toString('hex')

const isAvailable = ({ msg }: LogLine): boolean => msg === 'idempotency store is available'
const isUnavailable = ({ msg }: LogLine): boolean => msg === 'idempotency store is unavailable'
const isUndecrypted = ({ msg }: LogLine): boolean => msg === 'a remembered response cannot be decrypted'

const text = 'a response that only its client may read'

describe.skipIf(redisProgram.missing)('with Redis', () => {
  const redis = redisForAll()
  let nth = 0

  const open = async (...options: readonly string[]): Promise<Redis> => {
    const own = await startRedis(redisProgram.path ?? '', options)
    onTestFinished(() => own.kill())
    return own
  }

  /** Has a Redis of its own prefix for each test; where time is not the subject, its replies are waited for. */
  const settings = (
    upstream: string,
    encryptionKeys: readonly string[] = [oldKey],
    { url }: { readonly url: string } = redis,
  ) => ({
    ...{ upstream, ...once },
    idempotency: { redis: { url, prefix: `test-${nth}`, timeout: '1s' }, encryptionKeys },
  })

  const boot = async (...args: Parameters<typeof settings>) => {
    const booted = await bootGateway(settings(...args))
    await booted.line(isAvailable)
    return booted
  }

  const openUpstream = () => {
    nth++
    return httpUpstream((_, response) => response.end(text))
  }

  test('the first request finds Redis connected, however far it is', async () => {
    const upstream = await openUpstream()
    const link = await slowLink({ to: redis.port, delayMs: 30 })
    onTestFinished(() => link.close())

    const far = { url: `redis://127.0.0.1:${link.port}` }
    const { port } = await bootGateway(settings(upstream.url, [oldKey], far))

    expect(await post(port, 'k')).toBe(`200 ${text}`)
  })

  test('what one gateway has forwarded, another replays, and Redis sees no client, no key and no response', async () => {
    const upstream = await openUpstream()
    const [first, second] = [await boot(upstream.url), await boot(upstream.url)]
    const { client } = redis
    const request = ['a-key-of-a-client', { fields: ['Authorization', 'Bearer a-secret'] }] as const

    const got = [await post(first.port, ...request), await post(second.port, ...request)]

    expect(got).toEqual([`200 ${text}`, `200 ${text} replayed`])
    expect(upstream.requests).toHaveLength(1)
    const keys = await client.keys(`test-${nth}:idempotency:*`)
    const stored = await Promise.all(
      keys.map(async (key) => ((await client.type(key)) === 'hash' ? client.hGetAll(key) : client.get(key))),
    )
    const leftMs = await Promise.all(keys.map((key) => client.pTTL(key)))
    expect([keys.length, new Set(keys.map((key) => /\{.*\}/.exec(key)?.[0])).size]).toEqual([2, 1])
    expect(leftMs.every((ms) => ms > 0 && ms <= 86_400_000)).toBe(true)
    for (const secret of [request[0], 'a-secret', 'valuation', 'a response'])
      expect(JSON.stringify([keys, stored])).not.toContain(secret)
  })

  test('a response that was edited has an unknown outcome, and the log says so once', async () => {
    const upstream = await openUpstream()
    const { port, lines, line } = await boot(upstream.url)
    const client = redis.client.withTypeMapping({ [RESP_TYPES.BLOB_STRING]: Buffer })

    await post(port, 'k')
    for (const key of (await client.keys(`test-${nth}:idempotency:*`)).filter((each) => !each.includes(':keys:'))) {
      const sealed = Buffer.from((await client.hGet(String(key), 'r')) ?? '')
      sealed[sealed.length - 1] = (sealed.at(-1) ?? 0) ^ 1
      await client.hSet(String(key), 'r', sealed)
    }

    expect([await post(port, 'k'), await post(port, 'k')]).toEqual(Array(2).fill('409 outcome-unknown'))
    await line(isUndecrypted)
    expect(lines.filter(isUndecrypted)).toHaveLength(1)
    expect(upstream.requests).toHaveLength(1)
  })

  test('a response of the earlier key is replayed as long as that key is there', async () => {
    const upstream = await openUpstream()
    const before = await boot(upstream.url, [oldKey])
    const during = await boot(upstream.url, [newKey, oldKey])
    const after = await boot(upstream.url, [newKey])

    await post(before.port, 'k-1')
    await post(during.port, 'k-2')

    const got = [await post(during.port, 'k-1'), await post(after.port, 'k-2'), await post(after.port, 'k-1')]
    expect(got).toEqual([`200 ${text} replayed`, `200 ${text} replayed`, '409 outcome-unknown'])
    expect(upstream.requests).toHaveLength(2)
  })

  test('without Redis nothing is forwarded, and soon after its return, empty, everything is', async () => {
    const upstream = await openUpstream()
    const own = await open()
    const { port, line, lines } = await boot(upstream.url, [oldKey], own)
    await post(port, 'k')

    await own.kill()
    await line(isUnavailable)
    const without = await post(port, 'k')
    await own.restart()
    await expect.poll(() => lines.filter(isAvailable).length).toBe(2)

    expect([without, await post(port, 'k')]).toEqual(['503 idempotency-unavailable', `200 ${text}`])
    expect(upstream.requests).toHaveLength(2)
  })

  test('a Redis that takes no more writes has nothing forwarded', async () => {
    const upstream = await openUpstream()
    const own = await open('--maxmemory', '100mb', '--maxmemory-policy', 'noeviction')
    const { port, line } = await boot(upstream.url, [oldKey], own)
    const client = await createClient({ url: own.url, RESP: 2 }).connect()
    onTestFinished(() => client.destroy())

    await client.configSet('maxmemory', '1')
    const without = await post(port, 'k')
    await client.configSet('maxmemory', '0')

    expect(without).toBe('503 idempotency-unavailable')
    const { cause } = await line(({ failure }) => failure === 'idempotency-unavailable')
    expect([cause, upstream.requests.length]).toEqual([expect.stringContaining('OOM'), 0])
  })

  test('an edit from memory to Redis has the attempt in flight settled in memory, and a new key in Redis', async () => {
    nth++
    const { upstream, release } = await openHeldUpstream()
    const live = await bootLiveGateway({ upstream: upstream.url, ...once })
    const postK = () => post(live.gateway.address.port, 'k')

    const first = postK()
    await expect.poll(() => upstream.begun()).toBe(1)
    live.edit(settings(upstream.url))
    expect((await live.gateway.reload('request')).result).toBe('applied')
    expect(await live.line(({ msg }) => msg === 'idempotency store changed')).toMatchObject({
      from: 'memory',
      to: `${new URL(redis.url).host}, database 0, prefix test-${nth}`,
    })
    await live.line(isAvailable)
    release()

    expect([await first, await postK(), await postK()]).toEqual(['200 done', '200 done', '200 done replayed'])
    expect(upstream.requests).toHaveLength(2)
  })
})
