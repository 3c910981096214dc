/**
 * Gateways that count clients together in a real Redis, whichever of its credentials a client shows to which of them.
 */
import { hash } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { bootGateway, type Settings, type TestGateway } from '../../../helpers/gateway.ts'
import { bootLiveGateway } from '../../../helpers/live-gateway.ts'
import { needProgram } from '../../../helpers/program.ts'
import { type Redis, startRedis } from '../../../helpers/redis.ts'
import { openHttpUpstream, type TestUpstream } from '../../../helpers/upstream.ts'

const program = await needProgram('redis-server')
const secret = 'a'.repeat(43)
const sha256 = hash('sha256', secret)

describe.skipIf(program.missing)('with Redis', () => {
  let redis: Redis
  let upstream: TestUpstream
  beforeAll(async () => {
    redis = await startRedis(program.path ?? '')
    upstream = await openHttpUpstream()
  })
  afterAll(async () => {
    await upstream.close()
    await redis.kill()
  })

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
  const shared = ({ line }: TestGateway) => line(({ msg }) => msg === 'limits are shared')
  const ask = async ({ url }: { readonly url: string }, key: string): Promise<number> =>
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
      statuses.push(await ask(gateway, key))

    expect(statuses).toEqual([200, 200, 200, 200, 429, 429])
    expect([await ask(one, 'b'), await ask(other, 'b')]).toEqual([200, 200])
  })

  test('what it has used stays used over a reload, and for a gateway that has just started', async () => {
    const live = await bootLiveGateway(settings('reload'))
    await live.line(({ msg }) => msg === 'limits are shared')
    for (let n = 0; n < 4; n++) expect(await ask(live, 'old')).toBe(200)

    live.edit(settings('reload', [{ id: 'bank-c', operations: 'all' }]))
    expect((await live.gateway.reload('request')).result).toBe('applied')
    const fresh = await bootGateway(settings('reload'))
    await shared(fresh)

    expect([await ask(live, 'new'), await ask(fresh, 'old')]).toEqual([429, 429])
  })
})
