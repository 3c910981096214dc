import { expect, onTestFinished } from 'vitest'
import type { ProxyResponse } from '../../../../src/core/exchange/exchange.ts'
import { GatewayError } from '../../../../src/core/exchange/failures/errors.ts'
import { createCacheRegistry } from '../../../../src/features/cache/cache-registry.ts'
import { createSharedCacheRegistry } from '../../../../src/features/cache/redis/shared-cache-registry.ts'
import type { RedisConfig } from '../../../../src/features/redis/config.ts'
import { fakeExchange } from '../../../helpers/exchange.ts'
import { type Settings, testConfig } from '../../../helpers/gateway.ts'
import { eventually } from '../../../helpers/wire.ts'
import { redisSettings } from '../../redis/redis-settings.ts'
import { Client, createResponse, fakeUpstream, getCacheStatus, type Sent } from '../helper.ts'

/** A request of a client for market.insights. */
export interface AskedRequest {
  readonly query?: string
  readonly fields?: readonly string[]
  readonly client?: string
}

/**
 * Opens what a gateway has for the responses of market.insights, without its listeners: the layer before an upstream of
 * the test, and the Redis that it shares.
 */
export const openSharedGateway = async (redis: Partial<RedisConfig>, { operations, ...more }: Settings = {}) => {
  const logged: string[] = []
  const note = (_: unknown, event: string) => void logged.push(event)
  const shared = createSharedCacheRegistry(note)
  const caches = createCacheRegistry(note, () => {}, shared)
  const config = testConfig({ ...more, operations: { 'market.insights': { cache: true }, ...operations } })
  // On a busy machine Redis may take long to reply; where that is not the subject, it is waited for.
  const settings = redisSettings({ timeout: 30_000, ...redis })
  const lease = caches.acquire({ ...config, cache: { ...config.cache, redis: settings } })
  onTestFinished(() => lease.release())
  lease.activate()
  await expect.poll(() => lease.sharedState()?.isShared).toBe(true)
  const upstream = fakeUpstream()
  const layer = lease.layer('market.insights', 'primary')
  if (layer === null) throw new Error('market.insights is not cached')
  const handle = layer(upstream.next)

  /** Asks until the upstream is asked (`sent`), or the response is there (`sent` null). */
  const begin = async ({ query = '', fields = [], client }: AskedRequest = {}) => {
    const exchange = fakeExchange({ query, fields: [...fields] })
    if (client !== undefined) exchange.identity = { client, method: 'apiKey', keyId: null }
    const before = upstream.sent.length
    const response = handle(exchange)
    const state = { hasResponse: false }
    response.then(() => Object.assign(state, { hasResponse: true })).catch(() => {})
    await eventually(() => state.hasResponse || upstream.sent.length > before)
    const sent: Sent | null = upstream.sent[before] ?? null
    return { exchange, response, sent }
  }

  return {
    lease,
    logged,
    begin,
    asked: () => upstream.sent.length,
    purge: caches.purge,
    /** Asks, where `said` is what the upstream says if it is asked, and reads the response. */
    async ask(request: AskedRequest, said: ProxyResponse | GatewayError = createResponse([], 'asked upstream')) {
      const { exchange, response, sent } = await begin(request)
      await (said instanceof GatewayError ? sent?.fail(said) : sent?.respond(said))
      const { status, fields, body } = await response
      return { status, fields, text: new Client(body).text, did: getCacheStatus(exchange) ?? '' }
    },
  }
}
