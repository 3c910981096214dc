import { once } from 'node:events'
import { connect } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import type { Status } from '../../../../src/core/runtime/status/status-part.ts'
import { bootLiveGateway, fetchAdmin, type LiveGateway } from '../../../helpers/live-gateway.ts'
import { hurryClock } from '../../../helpers/odd-clocks.ts'
import { httpUpstream } from '../../../helpers/upstream.ts'

/** Opens an upstream that answers when it is released. */
const held = async () => {
  const responses: (() => void)[] = []
  const { url, begun } = await httpUpstream((_, response) => responses.push(() => response.end('late')))
  const release = (): void => {
    for (const answer of responses.splice(0)) answer()
  }
  return { url, begun: (many: number): Promise<void> => expect.poll(begun).toBe(many), count: begun, release }
}

const get = (live: LiveGateway, path = '/market/insights'): Promise<Response> => fetch(`${live.url}${path}`)
const limits = async (live: LiveGateway): Promise<Status['limits']> =>
  (await fetchAdmin(`${live.admin}/status`)).body.limits as never

test('what an upstream cannot do at once is rejected at once, and nothing waits for it', async () => {
  const upstream = await held()
  const live = await bootLiveGateway({ upstreams: { market: { endpoints: [upstream.url], concurrency: 2 } } })

  const served = [get(live), get(live)]
  await upstream.begun(2)
  const excess = await Promise.all(Array.from({ length: 3 }, () => get(live)))
  const other = await get(live, '/leads/pipeline')
  const full = await limits(live)
  upstream.release()

  for (const response of excess) {
    expect([response.status, response.headers.get('retry-after')]).toEqual([503, '1'])
    expect(await response.json()).toMatchObject({ code: 'overloaded' })
  }
  expect(other.status).toBe(200)
  expect((await Promise.all(served)).map(({ status }) => status)).toEqual([200, 200])
  expect(upstream.count()).toBe(2)
  expect(full).toMatchObject({
    concurrency: [{ key: 'limits.concurrency' }, { key: 'upstreams.market.concurrency', inFlight: 2, limit: 2 }],
  })
})

test('what began before a reload counts, and another limit holds for it at once', async () => {
  const upstream = await held()
  const config = (concurrency: number) => ({
    defaults: { deadline: 'none', timeouts: { headers: 'none' } }, // a reload takes its time on a busy machine
    upstreams: { market: { endpoints: [upstream.url] } },
    operations: { 'market.insights': { concurrency } },
  })
  const live = await bootLiveGateway(config(2))
  const served = [get(live), get(live)]
  await upstream.begun(2)

  live.edit(config(1))
  expect(await fetchAdmin(`${live.admin}/reload`, 'POST')).toMatchObject({ status: 200 })
  const rejected = await get(live)
  upstream.release()

  expect([rejected.status, rejected.headers.get('retry-after')]).toEqual([503, '1'])
  expect((await Promise.all(served)).map(({ status }) => status)).toEqual([200, 200])
})

test('a response that its client does not read counts until the client has gone', async () => {
  const large = Buffer.alloc(16 * 1024 ** 2)
  const { url } = await httpUpstream((_, response) => response.end(large))
  const live = await bootLiveGateway({ upstream: url, limits: { concurrency: 1 } })
  const client = connect(Number(new URL(live.url).port), '127.0.0.1')
  onTestFinished(() => void client.destroy())
  client.write('GET /market/insights HTTP/1.1\r\nHost: gateway\r\n\r\n')
  await once(client, 'readable') // and nothing is read

  const meanwhile = await get(live)
  client.destroy()

  expect(meanwhile.status).toBe(503)
  await expect.poll(async () => (await limits(live)).concurrency).toMatchObject([{ inFlight: 0 }])
  const after = await get(live)
  expect(after.status).toBe(200)
  await after.body?.cancel()
})

test('load is shed on the wire, for as long as the event loop is late', async () => {
  const live = await bootLiveGateway({ limits: { eventLoopDelay: '1s' } })
  const slowDown = hurryClock()

  await live.line(({ msg }) => msg === 'load is shed')
  const shed = await get(live)
  const { eventLoop } = await limits(live)
  slowDown()

  expect([shed.status, eventLoop]).toEqual([503, expect.objectContaining({ sheds: true, limitMs: 1000 })])
  await expect.poll(async () => (await get(live)).status).toBe(200)
})
