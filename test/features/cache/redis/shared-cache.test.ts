/** Gateways that find in a real Redis what one of them has stored. */
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { GatewayError } from '../../../../src/core/exchange/failures/errors.ts'
import { getFirstFieldValue } from '../../../../src/core/exchange/header-fields.ts'
import type { Settings } from '../../../helpers/gateway.ts'
import { redisForAll, redisProgram } from '../../redis/redis-for-all.ts'
import { createResponse } from '../helper.ts'
import { openSharedGateway } from './shared-gateway.ts'

const fresh = ['Cache-Control', 'max-age=60']
const unwilling = ['Cache-Control', 'no-cache']
const operation = 'market.insights'

describe.skipIf(redisProgram.missing)('with Redis', () => {
  const redis = redisForAll()
  let nth = 0
  beforeEach(() => void nth++)
  afterEach(() => redis.client.flushDb())

  const open = (more?: Settings) => openSharedGateway({ url: redis.url, prefix: `test-${nth}` }, more)

  const keysOfResponses = async (): Promise<readonly string[]> => {
    const keys = await redis.client.keys(`test-${nth}:cache:*`)
    const held = await Promise.all(
      keys.map(async (key) => (await redis.client.type(key)) === 'hash' && (await redis.client.hExists(key, 'h')) > 0),
    )
    return keys.filter((_, i) => held[i])
  }

  /** Waits until so many responses are in Redis: they are written in the background. */
  const written = (responses: number) =>
    expect.poll(async () => (await keysOfResponses()).length, { interval: 2 }).toBe(responses)

  test('what one gateway has fetched, another has not to, nor many requests to it at once', async () => {
    const [one, other] = [await open(), await open()]
    const text = 'reply 1\0é\r\n'
    const first = await one.ask({}, createResponse([...fresh, 'Date', new Date(Date.now() - 2000).toUTCString()], text))
    await written(1)

    const got = await Promise.all(Array.from({ length: 10 }, () => other.ask({})))

    for (const each of got) expect(each).toMatchObject({ status: 200, text, did: expect.stringContaining(';hit;') })
    for (const { fields } of got)
      expect(getFirstFieldValue(fields, 'date')).toBe(getFirstFieldValue(first.fields, 'date'))
    expect(Number(getFirstFieldValue(got[0]?.fields ?? [], 'age'))).toBeGreaterThanOrEqual(0)
    expect([other.asked(), other.lease.sharedState()?.counts]).toEqual([0, { found: 1, rejected: 0, dropped: 0 }])
  })

  test('a slow response does not replace one of another gateway that was made later', async () => {
    const [one, other] = [await open(), await open()]
    const dated = (ms: number) => [...fresh, 'Date', new Date(Date.now() - ms).toUTCString()]
    await one.ask({}, createResponse(dated(10_000), 'first'))
    await written(1)
    const slow = await one.begin({ fields: unwilling })

    await other.ask({ fields: unwilling }, createResponse(dated(0), 'later'))
    await other.ask({ query: '?after' }, createResponse(fresh))
    await written(2)
    await slow.sent?.respond(createResponse(dated(5_000), 'earlier'))
    await slow.response
    await one.ask({ query: '?after=too' }, createResponse(fresh))
    await written(3)

    expect((await (await open()).ask({})).text).toBe('later')
  })

  test('what is stale there is validated', async () => {
    const [one, other] = [await open(), await open()]
    const tagged = ['Cache-Control', 'no-cache', 'ETag', '"1"']
    await one.ask({}, createResponse(tagged))
    await written(1)

    const { sent, response } = await other.begin()
    await sent?.respond(createResponse(tagged, '', 304))

    expect([sent?.exchange.fields, (await response).status]).toEqual([['If-None-Match', '"1"'], 200])
  })

  describe('with staleIfError,', () => {
    const operations = { [operation]: { cache: { staleIfError: '10m' } } }
    const past = ['Cache-Control', 'max-age=0']
    const lasting = ['Cache-Control', 'max-age=600']

    test('what is there stands in for an upstream that is down', async () => {
      const [one, other] = [await open({ operations }), await open({ operations })]
      await one.ask({}, createResponse(past, 'good'))
      await written(1)

      expect(await other.ask({}, new GatewayError('connect-failed'))).toMatchObject({ status: 200, text: 'good' })
    })

    test('an error with a lifetime leaves there what may stand in for it', async () => {
      const [one, other] = [await open({ operations }), await open({ operations })]
      await one.ask({ fields: ['Accept', 'a/a'] }, createResponse([...past, 'Vary', 'Accept'], 'good'))
      await written(1)

      const got = await other.ask({ fields: ['Accept', 'b/b'] }, createResponse(lasting, 'down', 503))
      await other.ask({ query: '?later' }, createResponse(fresh))
      await written(2)
      const third = await (await open({ operations })).ask({ fields: ['Accept', 'a/a'] }, createResponse([], '', 500))

      expect([got.status, third.text]).toEqual([503, 'good'])
    })

    test('an error that is there does not take the place of what is in memory', async () => {
      const [one, other] = [await open({ operations }), await open({ operations })]
      await one.ask({}, createResponse(fresh, 'good'))
      await written(1)
      await redis.client.flushDb()
      await other.ask({}, createResponse(lasting, 'down', 503))
      await written(1)

      await one.ask({ fields: ['Cache-Control', 'min-fresh=100'] }, createResponse([], 'down', 503))

      expect((await one.ask({})).text).toBe('good')
    })

    test('what is there takes the place of the error in memory', async () => {
      const [one, other] = [await open({ operations }), await open({ operations })]
      await one.ask({}, createResponse(past, 'good'))
      await written(1)
      const keys = await redis.client.keys('*')
      for (const key of keys) await redis.client.rename(key, `kept:${key}`)
      await other.ask({}, createResponse(fresh, 'down', 503))
      await written(1)
      for (const key of keys) await redis.client.rename(`kept:${key}`, key)

      await other.ask({ fields: ['Cache-Control', 'min-fresh=100'] }, createResponse([], 'down', 503))

      expect((await other.ask({}, createResponse([], 'down', 503))).text).toBe('good')
    })
  })

  test('no client gets the response of another, and each finds its own', async () => {
    const [one, other] = [await open(), await open()]
    await one.ask({ client: 'bank-a' }, createResponse(fresh, 'of a'))
    await written(1)
    const theirs = await other.ask({ client: 'bank-b' }, createResponse(fresh, 'of b'))

    expect([theirs.text, (await other.ask({ client: 'bank-a' })).text]).toEqual(['of b', 'of a'])
  })

  test('gateways whose upstreams differ store apart', async () => {
    const [one, other] = [await open(), await open({ upstream: 'http://127.0.0.1:1/v2' })]
    await one.ask({}, createResponse(fresh))
    await written(1)

    expect((await other.ask({})).text).toBe('asked upstream')
  })

  test.each([
    ['the invalidation of its query', { query: '?a=1' }, true],
    ['that of another query', { query: '?a=2' }, false],
    ['a purge of all', { operation: null, client: null }, true],
    ['a purge of its operation', { operation, client: null }, true],
    ['a purge of its client', { operation: null, client: 'bank-a' }, true],
    ['a purge of another operation', { operation: 'leads.pipeline', client: null }, false],
    ['a purge of another client', { operation, client: 'bank-b' }, false],
  ] as const)('after %s, no gateway finds there what was stored before: %j', async (_, scope, isGone) => {
    const [one, other] = [await open(), await open()]
    const asked = { query: '?a=1', client: 'bank-a' }
    await one.ask(asked, createResponse(fresh, 'before'))
    await written(1)

    if ('query' in scope) await one.lease.invalidate([{ operation, query: scope.query }])
    else expect(await one.purge(scope)).toMatchObject({ isSharedPurged: true })

    expect((await other.ask(asked)).text).toBe(isGone ? 'asked upstream' : 'before')
  })

  test('what was asked for before it became invalid is not there afterwards', async () => {
    const [one, other] = [await open(), await open()]
    const { sent, response } = await one.begin()

    await other.purge({ operation: null, client: null })
    await sent?.respond(createResponse(fresh, 'before'))
    await response
    await one.ask({ query: '?after' }, createResponse(fresh))
    await expect.poll(async () => (await keysOfResponses()).length).toBeGreaterThan(0)

    expect((await other.ask({})).text).toBe('asked upstream')
  })
})
