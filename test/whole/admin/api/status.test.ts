/** What /status says of policies and of a deferred edit. The shape of all of it is `server.test.ts`'s. */
import { describe, expect, test } from 'vitest'
import type { getStatus } from '../../../../src/core/admin/api/status.ts'
import { freePort } from '../../../helpers/free-port.ts'
import { bootLiveGateway, fetchAdmin, type LiveGateway } from '../../../helpers/live-gateway.ts'
import { httpUpstream } from '../../../helpers/upstream.ts'

type Status = Awaited<ReturnType<typeof getStatus>>

const fetchStatus = async ({ admin }: LiveGateway): Promise<Status> =>
  (await fetchAdmin(`${admin}/status`)).body as unknown as Status

const market = async (live: LiveGateway) => (await fetchStatus(live)).upstreams.market

describe('of a group', () => {
  test('the breaker, the budget and the way of balancing, when they are on', async () => {
    const policies = { circuitBreaker: {}, retry: {}, balance: 'round-robin' }
    const live = await bootLiveGateway({ upstreams: { market: { endpoints: ['sandbox'], ...policies } } })

    expect(await market(live)).toMatchObject({
      balance: 'round-robin',
      breaker: { state: 'closed', since: expect.stringMatching(/Z$/) },
      retryBudget: { left: 3 },
    })
  })

  test('an endpoint that is ejected: since when, why, for how long; it is up again without outlier, or alone', async () => {
    const [bad, good] = [await httpUpstream((_, response) => void response.writeHead(500).end()), await httpUpstream()]
    const outlier = { consecutiveFailures: 1, ejectionTime: '10m' }
    const group = { endpoints: [bad.url, good.url], outlier }
    const live = await bootLiveGateway({ upstreams: { market: group, leads: group } })
    for (const path of ['/market/insights', '/leads/pipeline'])
      for (let i = 0; i < 20; i++) await (await fetch(live.url + path)).text()
    const [first, second] = (await market(live))?.endpoints ?? []

    live.edit({ upstreams: { market: { ...group, outlier: 'none' }, leads: { ...group, endpoints: [bad.url] } } })
    await live.gateway.reload('request')

    expect(first).toMatchObject({
      ...{ state: 'ejected', since: expect.stringMatching(/Z$/), reason: expect.stringContaining('1 failure') },
      ...{ requests: 1, failures: 1, ejections: 1, latencyMs: expect.any(Number) },
    })
    expect(first?.ejectedForSeconds).toBeGreaterThan(590)
    expect(first?.ejectedForSeconds).toBeLessThanOrEqual(660) // a tenth at random included
    expect(second).toMatchObject({ state: 'up', requests: 19, failures: 0, ejectedForSeconds: null })
    const { upstreams } = await fetchStatus(live)
    for (const group of [upstreams.market, upstreams.leads])
      expect(group?.endpoints[0]).toMatchObject({ state: 'up', ejections: 1, ejectedForSeconds: null })
  })

  test('an endpoint that its probes find down, and the last of them', async () => {
    const healthCheck = { path: '/health', interval: '100ms', unhealthyAfter: 1 }
    const live = await bootLiveGateway({
      upstreams: { market: { endpoints: [`http://127.0.0.1:${await freePort()}`], healthCheck } },
    })

    await expect.poll(async () => (await market(live))?.endpoints[0]?.state).toBe('down')

    expect((await market(live))?.endpoints[0]).toMatchObject({
      since: expect.stringMatching(/Z$/),
      reason: expect.stringMatching(/refuses connections/),
      lastProbe: { at: expect.stringMatching(/Z$/), ok: false, latencyMs: expect.any(Number) },
    })
  })
})

test('warnings of what runs are listed for as long as it runs', async () => {
  const live = await bootLiveGateway({ upstreams: { market: { endpoints: ['http://a.invalid', 'http://a.invalid'] } } })
  const before = (await fetchStatus(live)).warnings

  live.edit({})
  await fetchAdmin(`${live.admin}/reload`, 'POST')

  expect(before).toMatchObject([{ path: 'upstreams.market.endpoints[1]', line: 1 }])
  expect((await fetchStatus(live)).warnings).toEqual([])
})

test('in words for whoever asks for text first, as JSON for others', async () => {
  const { admin, file } = await bootLiveGateway({})
  const ask = async (accept: string) => {
    const response = await fetch(`${admin}/status`, { headers: { accept } })
    return [response.headers.get('content-type'), (await response.text()).split('\n')[0]]
  }

  expect(await ask('text/plain, application/json;q=0.5')).toEqual([
    'text/plain; charset=utf-8',
    `runs ${file} as process ${process.pid}`,
  ])
  expect(await ask('*/*')).toEqual(['application/json; charset=utf-8', expect.stringContaining('{"version":')])
})
