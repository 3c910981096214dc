/** Gateways that store in one Redis, and an upstream whose POSTs make stored responses invalid. */
import { once } from 'node:events'
import { Agent, type IncomingMessage, request } from 'node:http'
import { text } from 'node:stream/consumers'
import { createClient } from '@redis/client'
import { expect, onTestFinished } from 'vitest'
import type { Settings } from '../helpers/gateway.ts'
import { bootLiveGateway, fetchAdmin, type LiveGateway } from '../helpers/live-gateway.ts'
import { httpUpstream, type TestUpstream } from '../helpers/upstream.ts'

/** Several gateways on one Redis, and their client. */
export interface SharedStage {
  readonly upstream: TestUpstream
  /** Boots a gateway, and waits until it uses Redis. `url` is its own way to the same Redis. */
  boot(more?: Settings, url?: string): Promise<LiveGateway>
  /** Asks a gateway, by the name that all of them have, on connections that stay open. */
  ask(gateway: LiveGateway, method: 'GET' | 'POST', target: string): Promise<{ status?: number; body: string }>
  /** Waits until so many responses are in Redis: they are written in the background. */
  written(responses: number): Promise<void>
  /** Reads the generation of each query that Redis knows, by key. */
  generations(): Promise<Record<string, string | null>>
}

/**
 * Sets the stage. A POST with a query adds one to the version that a GET of market.insights with that query answers,
 * and names it in `Location`.
 */
export const openSharedStage = async (redisUrl: string, timeout = '1s'): Promise<SharedStage> => {
  const versions = new Map<string, number>()
  const upstream = await httpUpstream(({ method, url }, response) => {
    const query = url.slice(url.indexOf('?'))
    const version = (versions.get(query) ?? 0) + (method === 'POST' ? 1 : 0)
    versions.set(query, version)
    if (method === 'POST') response.writeHead(201, { Location: `/market/insights${query}` }).end()
    else response.setHeader('Cache-Control', 'max-age=60').end(`version ${version}`)
  })
  const watching = createClient({ url: redisUrl, RESP: 2 })
  watching.on('error', () => {})
  await watching.connect()
  onTestFinished(() => watching.destroy())
  const agent = new Agent({ keepAlive: true })
  onTestFinished(() => agent.destroy())
  return {
    upstream,
    async boot(more, url = redisUrl) {
      const live = await bootLiveGateway({
        upstream: upstream.url,
        listen: { publicUrl: 'http://gateway.example' },
        operations: { 'market.insights': { cache: true } },
        cache: { redis: { url, timeout } },
        ...more,
      })
      const readCache = async () => (await fetchAdmin(`${live.admin}/status`)).body.cache
      await expect.poll(readCache).toMatchObject({ redis: { state: 'shared', where: null } })
      return live
    },
    async ask({ url }, method, target) {
      const headers = { host: 'gateway.example', 'content-type': 'application/json' }
      const sent = request(url + target, { agent, method, headers }).end(method === 'POST' ? '{}' : undefined)
      const [response] = (await once(sent, 'response')) as [IncomingMessage]
      return { status: response.statusCode ?? 0, body: await text(response) }
    },
    async generations() {
      const keys = await watching.keys('*:cache:of:*:query:*')
      return Object.fromEntries(await Promise.all(keys.map(async (key) => [key, await watching.get(key)] as const)))
    },
    async written(responses) {
      // Beside each response stand the generations: of its operation and client, and one of each query.
      const keys = 2 + 2 * responses
      await expect.poll(async () => (await watching.keys('*:cache:*')).length, { interval: 1 }).toBe(keys)
    },
  }
}

/**
 * Repeats: one gateway stores, the client POSTs to it, and asks another one, which has nothing in memory. Returns what
 * the other answered, of each version so many times.
 */
export const postAndAskElsewhere = async (
  { ask, written }: SharedStage,
  [one, other]: readonly [LiveGateway, LiveGateway],
  repetitions: number,
): Promise<Record<string, number>> => {
  const got: Record<string, number> = {}
  for (let nth = 1; nth <= repetitions; nth++) {
    await ask(one, 'GET', `/market/insights?n=${nth}`)
    await written(nth)
    await ask(one, 'POST', `/valuation/score?n=${nth}`)
    const { body } = await ask(other, 'GET', `/market/insights?n=${nth}`)
    got[body] = (got[body] ?? 0) + 1
    await written(nth) // the new one, in place of the old
  }
  return got
}
