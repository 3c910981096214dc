import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { bootGateway } from '../../../helpers/gateway.ts'
import { bootLiveGateway, fetchAdmin } from '../../../helpers/live-gateway.ts'
import { httpUpstream } from '../../../helpers/upstream.ts'
import { call, dial, eventually, renderHead } from '../../../helpers/wire.ts'
import { boot } from './stored.ts'

describe('what is stored', () => {
  test('stays over a reload that leaves the operation and its upstream alone', async () => {
    const { gateway, edit, settings, get, asked } = await boot()
    const before = await get('/market/insights')

    edit({ ...settings, cache: { maxBytes: '32MiB' }, defaults: { deadline: '7s' } })
    const { result } = await gateway.reload('request')

    expect(result).toBe('applied')
    expect(await get('/market/insights')).toBe(before)
    expect(asked()).toBe(1)
  })

  test.each([
    ['the operation', { operations: { 'market.insights': { cache: { staleIfError: '1m' } } } }],
    ['its endpoints', { upstreams: { market: 'http://127.0.0.1:1' } }],
    ['what is done to its fields', { upstreams: { market: null } }],
  ])('goes with a reload that changes %s', async (what, change) => {
    const { gateway, edit, settings, get, asked, upstream } = await boot()
    await get('/market/insights')
    await get('/leads/pipeline')
    const edited = { endpoints: [upstream.url], response: { remove: ['X-Secret'] } }
    const upstreams = what === 'its endpoints' ? { market: `${upstream.url}/v2` } : { market: edited }

    edit({ ...settings, ...change, ...('upstreams' in change ? { upstreams } : {}) })
    const { result } = await gateway.reload('request')

    expect(result).toBe('applied')
    await get('/market/insights')
    expect(asked()).toBe(3)
    if ('upstreams' in change) await get('/leads/pipeline')
    expect(asked()).toBe(3)
  })

  test('goes with a reload that names the credentials which it was fetched with', async () => {
    const { gateway, edit, settings, get, url, asked } = await boot()
    await fetch(`${url}/market/insights`, { headers: { 'X-Session': 'alice' } })

    edit({ ...settings, cache: { credentials: ['X-Session'] } })
    await gateway.reload('request')

    expect(await get('/market/insights')).toBe('answer 2')
    expect(asked()).toBe(2)
  })

  test('goes with a reload that renames the field of the request id, in which an upstream repeats the first one', async () => {
    const upstream = await httpUpstream(({ rawHeaders }, response) => {
      const at = rawHeaders.indexOf('X-Request-Id')
      if (at >= 0) response.setHeader('X-Request-Id', rawHeaders[at + 1] ?? '')
      response.setHeader('Cache-Control', 'max-age=60').end()
    })
    const settings = { upstream: upstream.url, operations: { 'market.insights': { cache: true } } }
    const { gateway, edit, url } = await bootLiveGateway(settings)
    await fetch(`${url}/market/insights`, { headers: { 'X-Request-Id': 'first' } })

    edit({ ...settings, requestId: { header: 'X-Correlation-Id' } })
    await gateway.reload('request')
    const { headers } = await fetch(`${url}/market/insights`)

    expect(headers.get('X-Request-Id')).toBeNull()
  })

  test('is not served while its operation is out of service, and is still there afterwards', async () => {
    const { gateway, edit, settings, get, url, asked } = await boot()
    const before = await get('/market/insights')
    const reload = async (insights: object): Promise<void> => {
      edit({ ...settings, operations: { ...settings.operations, 'market.insights': insights } })
      await gateway.reload('request')
    }

    await reload({ cache: true, state: 'refuse' })
    const rejected = await fetch(`${url}/market/insights`)
    await reload({ cache: true })

    expect(rejected.status).toBe(503)
    expect(await get('/market/insights')).toBe(before)
    expect(asked()).toBe(1)
  })

  test('gives way to a smaller limit', async () => {
    const { gateway, edit, settings, get, admin } = await boot({ cache: { maxBytes: '4MiB' } })
    for (let nth = 0; nth < 300; nth++) await get(`/market/insights?nth=${nth}&${'x'.repeat(6000)}`)

    edit({ ...settings, cache: { maxBytes: '1MiB' } })
    await gateway.reload('request')

    const { cache } = (await fetchAdmin(`${admin}/status`)).body as unknown as {
      cache: { bytes: number; maxBytes: number }
    }
    expect(cache.maxBytes).toBe(1024 ** 2)
    expect(cache.bytes).toBeLessThanOrEqual(1024 ** 2)
    expect(cache.bytes).toBeGreaterThan(1024 ** 2 / 2)
  })

  test('reaches a client that reads it without a pause, though for longer than a client may take nothing', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] })
    onTestFinished(() => void vi.useRealTimers())
    const body = Buffer.alloc(32 * 1024 ** 2)
    const upstream = await httpUpstream((_, response) => {
      response.setHeader('Cache-Control', 'max-age=60').end(body)
    })
    const { port } = await bootGateway({
      upstream: upstream.url,
      listen: { timeouts: { body: '30s' } },
      cache: { maxBytes: '128MiB' },
      operations: { 'market.insights': { cache: { maxEntry: '33MiB' } } },
    })
    await call(port)
    const client = (await dial(port)).pause()
    onTestFinished(() => void client.destroy())
    let received = 0

    client.write(renderHead({}))
    // More at a time than Linux reports room for in a send buffer: a third of at most 4 MiB.
    for (let more = 4 * 1024 ** 2; !client.destroyed && received <= body.length; more += 4 * 1024 ** 2) {
      await eventually(() => {
        received += client.read()?.length ?? 0
        return client.destroyed || received >= Math.min(more, body.length + 1)
      })
      vi.advanceTimersByTime(20_000)
    }

    expect(received).toBeGreaterThan(body.length)
    expect(upstream.begun()).toBe(1)
  })
})

describe('a POST that succeeds', () => {
  test.each([
    ['the path and query', '/market/insights?a=1', true],
    ['the whole URL', 'URL/market/insights?a=1', true],
    ['another query', '/market/insights?a=2', false],
    ['another origin', 'http://other.example/market/insights?a=1', false],
    ['an operation that is none', '/market/insights/?a=1', false],
  ])('removes what its Location names: %s', async (_, location, removes) => {
    const { get, post, url, asked } = await boot()
    await get('/market/insights?a=1')

    await post(location.replace('URL', url))
    await get('/market/insights?a=1')

    expect(asked()).toBe(removes ? 3 : 2)
  })
})

describe('DELETE /cache', () => {
  test.each([
    ['', 2],
    ['?operation=market.insights', 1],
    ['?operation=leads.pipeline&client=', 1],
  ])('%s removes what it says, and reports how much', async (query, removed) => {
    const { admin, get, asked, lines } = await boot()
    await get('/market/insights')
    await get('/leads/pipeline')

    const { status, body } = await fetchAdmin(`${admin}/cache${query}`, 'DELETE')
    await get('/market/insights')
    await get('/leads/pipeline')

    expect({ status, removed: body.removed }).toEqual({ status: 200, removed })
    expect(asked()).toBe(2 + removed)
    expect(lines).toContainEqual(expect.objectContaining({ msg: 'cache cleared', removed }))
  })

  test.each([
    '?operation=valuation.score',
    '?operation=market',
    '?operations=market.insights',
    '?client=a&client=b',
    '?client=bank-a',
  ])('%s is rejected, and removes nothing', async (query) => {
    const { admin, get, asked } = await boot()
    await get('/market/insights')

    const { status } = await fetchAdmin(`${admin}/cache${query}`, 'DELETE')
    await get('/market/insights')

    expect(status).toBe(400)
    expect(asked()).toBe(1)
  })
})

test('the status and the access log say what the cache did', async () => {
  const { admin, get, line, url } = await boot()
  await get('/market/insights')
  await get('/market/insights')
  await fetch(`${url}/market/insights`, { headers: { authorization: 'Bearer x' } })

  const { cache } = (await fetchAdmin(`${admin}/status`)).body as unknown as { cache: { operations: unknown } }
  expect(cache.operations).toMatchObject({
    'market.insights': { entries: 1, hit: 1, miss: 1, bypass: 1, hitRatio: 0.5 },
    'leads.pipeline': { entries: 0, hitRatio: null },
  })
  expect(await line(({ cache: did }) => did === 'hit')).toMatchObject({ endpoint: null, attempts: 0, upstreamMs: null })
})

test('the access log says where a client that left without a response had waited', async () => {
  const upstream = await httpUpstream(() => {})
  const { port, line } = await bootGateway({
    upstream: upstream.url,
    operations: { 'market.insights': { cache: true } },
  })
  const client = await dial(port)
  client.write(renderHead({}))
  await eventually(() => upstream.begun() === 1)

  client.resetAndDestroy()

  expect(await line(({ msg }) => msg === 'exchange')).toMatchObject({
    ...{ status: 499, endpoint: upstream.url, attempts: 1, upstreamMs: expect.any(Number) },
  })
})
