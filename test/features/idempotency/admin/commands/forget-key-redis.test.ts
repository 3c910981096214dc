/** What support learns and does where keys are remembered in Redis. */
import { describe, expect, onTestFinished, test } from 'vitest'
import { bootLiveGateway, fetchAdmin, type LiveGateway } from '../../../../helpers/live-gateway.ts'
import { needProgram } from '../../../../helpers/program.ts'
import { startRedis } from '../../../../helpers/redis.ts'
import { httpUpstream } from '../../../../helpers/upstream.ts'
import { once, send } from '../../wire/keyed-post.ts'

const program = await needProgram('redis-server')

const operation = 'valuation.score'

const post = (live: LiveGateway) => send(live.port, 'k-1', { fields: ['X-Request-Id', 'first'] })

const command = async ({ admin }: LiveGateway, name: string, more: object = {}) => {
  const body = JSON.stringify({ key: 'k-1', operation, address: '127.0.0.1', ...more })
  const response = await fetchAdmin(`${admin}/idempotency/${name}`, 'POST', { body })
  return [response.status, response.body] as const
}

describe.skipIf(program.missing)('with Redis', () => {
  test('one gateway shows and forgets what another has remembered, and says so when Redis is gone', async () => {
    const redis = await startRedis(program.path ?? '')
    onTestFinished(() => redis.kill())
    const upstream = await httpUpstream((_, response) => response.end('done'))
    const boot = async (encryptionKey = Buffer.alloc(32, 1)) => {
      const live = await bootLiveGateway({
        ...{ upstream: upstream.url, ...once },
        idempotency: { redis: { url: redis.url, timeout: '1s' }, encryptionKeys: [encryptionKey.toString('base64')] },
      })
      await live.line(({ msg }) => msg === 'idempotency store is available')
      return live
    }
    const [one, other, stranger] = [await boot(), await boot(), await boot(Buffer.alloc(32, 2))]
    const none = await command(other, 'show')
    await post(one)

    const shown = await command(other, 'show')
    const unreadable = await command(stranger, 'show')
    const repeated = await post(stranger)
    const asked = await command(stranger, 'forget')
    const forgotten = await command(other, 'forget', { yes: true })
    const again = await command(other, 'forget', { yes: true })
    await post(one)
    await redis.kill()
    await one.line(({ msg }) => msg === 'idempotency store is unavailable')
    const gone = await command(one, 'show')

    expect([none, shown, forgotten, again, gone]).toMatchObject([
      [200, { state: 'absent' }],
      [200, { state: 'done', firstRequestId: 'first', responseBytes: expect.any(Number) }],
      [200, { state: 'done', firstRequestId: 'first' }],
      [409, { code: 'not-remembered' }],
      [503, { code: 'idempotency-unavailable' }],
    ])
    expect(unreadable).toMatchObject([200, { state: 'unreadable', firstRequestId: 'first' }])
    expect(repeated.body.toString()).toContain('outcome-unknown')
    expect(asked).toMatchObject([
      409,
      { code: 'not-confirmed', detail: expect.stringContaining('cannot be decrypted') },
    ])
    expect(upstream.requests).toHaveLength(2)
    const { idempotency, findings } = (await fetchAdmin(`${one.admin}/status`)).body as Readonly<Record<string, never>>
    expect(idempotency).toMatchObject({ store: 'redis', state: 'unavailable', reason: expect.any(String) })
    expect(findings).toContainEqual(expect.objectContaining({ severity: 'critical', about: 'idempotency' }))
  })
})
