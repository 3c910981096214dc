import { describe, expect, test } from 'vitest'
import type { ProxyResponse } from '../../../../src/core/exchange/exchange.ts'
import { cacheLayer } from '../../../../src/features/cache/cache.ts'
import { createCachePartition } from '../../../../src/features/cache/partition.ts'
import {
  createRedisCacheStore,
  maxSharedBytes,
  type RedisCacheStore,
} from '../../../../src/features/cache/redis/redis-cache-store.ts'
import { findScript } from '../../../../src/features/cache/redis/redis-entry.ts'
import { createRedisTier } from '../../../../src/features/cache/redis/redis-tier.ts'
import { CacheStore } from '../../../../src/features/cache/store/cache-store.ts'
import type { ManagedRedis } from '../../../../src/features/redis/managed-redis.ts'
import { type RedisScript, removeScript } from '../../../../src/features/redis/redis-server.ts'
import { fakeExchange } from '../../../helpers/exchange.ts'
import { redisForAll, redisProgram } from '../../redis/redis-for-all.ts'
import { openLink } from '../../redis/redis-link.ts'
import { Client, createResponse, fakeUpstream, settled } from '../helper.ts'
import { rules } from '../policy/helper.ts'

const cacheRules = rules({ maxEntry: 4 * maxSharedBytes })
const fresh = ['Cache-Control', 'max-age=60', 'Vary', 'Accept-Language']
const noStore = ['Cache-Control', 'no-store', 'Vary', 'Accept-Language']

interface Trouble {
  isDown: boolean
  /** The script that has no reply in time. */
  late: RedisScript | null
}

const noTrouble: Trouble = { isDown: false, late: null }

describe.skipIf(redisProgram.missing)('a variant that the upstream has taken back', () => {
  const redis = redisForAll()

  const openShared = async (prefix: string, trouble = noTrouble) => {
    const link = await openLink(redis.url)
    const running = new Set<Promise<unknown>>()
    const run: ManagedRedis['run'] = (script, ...args) => {
      if (trouble.isDown || trouble.late === script) return Promise.resolve(null)
      const result = link.run(script, ...args)
      running.add(result)
      void result.finally(() => running.delete(result))
      return result
    }
    /** Lets all commands in the background come to their end. */
    const idle = async (): Promise<void> => {
      for (await settled(); running.size > 0; await settled()) await Promise.all(running)
    }
    const troubled = {
      get isShared() {
        return !trouble.isDown
      },
      timeoutMs: 30_000,
      run,
    }
    const stores: RedisCacheStore[] = []
    /** Ends the trouble, and tells the gateways, as their connections do. */
    const recover = async (): Promise<void> => {
      Object.assign(trouble, noTrouble)
      for (const store of stores) void store.purges.resend()
      await idle()
    }

    /** Opens a gateway with nothing in its memory. */
    const openGateway = () => {
      const store = createRedisCacheStore(troubled, { prefix, isCluster: false })
      stores.push(store)
      const upstream = fakeUpstream()
      const partition = createCachePartition(new CacheStore(64 * maxSharedBytes), 'market.insights')
      const events = {
        onError: (error: unknown) => {
          throw error
        },
        onRevalidationFailed: () => {},
      }
      const tier = createRedisTier({ store, partition, rules: cacheRules, events, shape: 'shape' })
      const handle = cacheLayer(cacheRules, partition, events, tier)(upstream.next)
      /** Asks as a client that wants no stored response; the upstream responds with `said`. */
      return async (language: string, said: ProxyResponse | null): Promise<string> => {
        const control = said === null ? [] : ['Cache-Control', 'no-cache']
        const got = handle(fakeExchange({ fields: ['Accept-Language', language, ...control] }))
        await idle()
        await upstream.sent.shift()?.respond(said ?? createResponse(noStore, 'asked upstream'))
        const { text } = new Client((await got).body)
        await idle()
        return text
      }
    }
    /** Asks by a gateway that has just started. */
    const ask = (...request: Parameters<ReturnType<typeof openGateway>>) => openGateway()(...request)
    return { openGateway, ask, recover }
  }

  /** Opens gateways that share a response for each of two languages. */
  const openWithBoth = async (...given: Parameters<typeof openShared>) => {
    const shared = await openShared(...given)
    await shared.ask('de', createResponse(fresh, 'alt'))
    await shared.ask('en', createResponse(fresh, 'old'))
    return shared
  }

  const notFound = () => createResponse(noStore, '', 404)

  describe.each([
    ['not stored', () => createResponse(noStore, 'neu')],
    ['not found', notFound],
    ['too large to share', () => createResponse(fresh, 'x'.repeat(maxSharedBytes + 1))],
  ])('that is %s', (how, withdrawn) => {
    test('stays away once another one is stored', async () => {
      const { ask } = await openWithBoth(how)
      expect(await ask('de', null)).toBe('alt')

      await ask('de', withdrawn())
      await ask('en', createResponse(fresh, 'new'))

      expect([await ask('de', null), await ask('en', null)]).toEqual(['asked upstream', 'new'])
    })

    test.each([
      ['is down', { isDown: true }],
      ['does not say in time what is there', { late: findScript }],
      ['does not say in time that it is gone', { late: removeScript }],
    ])('stays away where Redis %s', async (when, had) => {
      const trouble = { ...noTrouble }
      const { ask, recover } = await openWithBoth(`${how} ${when}`, trouble)

      Object.assign(trouble, had)
      await ask('de', withdrawn())
      await recover()
      await ask('en', createResponse(fresh, 'new'))

      expect(await ask('de', null)).toBe('asked upstream')
    })
  })

  test('stays away where another one was taken back before it, and leaves the others where they are', async () => {
    const { ask } = await openWithBoth('both')
    await ask('en', notFound())
    const other = await ask('de', null)
    await ask('de', notFound())
    await ask('en', createResponse(fresh, 'new'))

    expect([other, await ask('de', null)]).toEqual(['alt', 'asked upstream'])
  })

  test('leaves the others where they are, also while the gateway does not ask Redis for their key', async () => {
    const { openGateway, ask } = await openShared('hit for miss')
    const get = openGateway()
    await get('en', createResponse(fresh, 'old'))
    await ask('fr', createResponse(fresh, 'vieux'))
    await get('de', notFound())

    await get('en', notFound())

    expect([await ask('en', null), await ask('fr', null)]).toEqual(['asked upstream', 'vieux'])
  })
})
