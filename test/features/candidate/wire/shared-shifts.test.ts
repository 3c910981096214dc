/** Gateways that keep their shifts in one Redis: what one is told holds at the other, and after a restart. */
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { ask as askSide, keyedClients, keyOf, sideUpstreams, withCandidate } from '../../../helpers/candidate.ts'
import { bootLiveGateway, fetchAdmin, type LiveGateway } from '../../../helpers/live-gateway.ts'
import { needProgram } from '../../../helpers/program.ts'
import { type Redis, startRedis } from '../../../helpers/redis.ts'

const program = await needProgram('redis-server')

describe.skipIf(program.missing)('a shift in Redis', () => {
  let redis: Redis
  beforeAll(async () => {
    redis = await startRedis(program.path ?? '')
  })
  afterAll(() => redis.kill())

  const settings = async (prefix: string, own: object = { share: '100%' }) => {
    const { primary, candidate } = await sideUpstreams()
    return {
      ...withCandidate(primary.url, candidate.url, own),
      ...keyedClients('bank-a'),
      limits: { redis: { url: redis.url, prefix, timeout: '1s' } },
    }
  }
  const side = ({ gateway }: LiveGateway): Promise<string> =>
    askSide(gateway.address.port, { target: '/market/insights', fields: keyOf('bank-a') })
  const shift = ({ admin }: LiveGateway, order: object) =>
    fetchAdmin(`${admin}/shift`, 'POST', {
      headers: { 'Content-Type': 'application/json' },
      body: JSON.stringify({ group: 'market', ...order }),
    })

  test('is aborted at both gateways, and at the one that is started again', async () => {
    const same = await settings('abort')
    const [a, b] = [await bootLiveGateway(same), await bootLiveGateway(same)]
    const before = [await side(a), await side(b)]

    const { status } = await shift(a, { abort: true, reason: 'CHG-4711' })
    await vi.waitFor(async () => expect(await side(b)).toBe('200 primary'), { timeout: 20_000 })
    await b.gateway.close()
    const again = await bootLiveGateway(same)

    expect([status, before]).toEqual([200, ['200 candidate', '200 candidate']])
    expect([await side(a), await side(again)]).toEqual(['200 primary', '200 primary'])
    expect(await b.line(({ msg }) => msg === 'shift taken up')).toMatchObject({ group: 'market', reason: 'CHG-4711' })
    expect(await again.line(({ msg }) => msg === 'shift taken up')).toMatchObject({ cause: 'operator', share: '0%' })
  })
})
