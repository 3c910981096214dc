import { expect, test } from 'vitest'
import { bootGateway } from '../../../helpers/gateway.ts'
import { bootLiveGateway, fetchAdmin } from '../../../helpers/live-gateway.ts'
import { receivedValues } from '../../../helpers/round-trip.ts'
import { httpUpstream } from '../../../helpers/upstream.ts'
import { call, fieldValues, pseudoRandomBytes, sha256, type WireResponse } from '../../../helpers/wire.ts'

const cached = (upstream: string) => bootGateway({ upstream, operations: { 'market.insights': { cache: true } } })

const fresh = ['Cache-Control', 'max-age=60', 'ETag', '"a"']

const statusOf = ({ fields }: WireResponse): string => fieldValues(fields, 'cache-status').join()

test('a stored response is served, validated and cut into ranges without the upstream', async () => {
  const body = pseudoRandomBytes(300_000)
  const hop = ['Connection', 'X-Hop', 'X-Hop', '1', 'Proxy-Authenticate', 'x', 'Keep-Alive', 'timeout=9']
  const proxy = ['Proxy-Authentication-Info', 'x', 'Proxy-Authorization', 'x']
  const upstream = await httpUpstream((request, response) => {
    const [id = 'none'] = receivedValues(request, 'x-fapi-interaction-id')
    const own = ['X-Name', 'Z\xfcrich', 'x-fapi-interaction-id', id, 'Trailer', 'X-Sum', 'Cache-Status', 'Origin;hit']
    response.writeHead(200, [...fresh, ...hop, ...proxy, ...own])
    response.write(body.subarray(0, 1000))
    response.addTrailers([['X-Sum', '1']])
    setImmediate(() => response.end(body.subarray(1000)))
  })
  const { port } = await cached(upstream.url)
  const ask = (...fields: string[]) => call(port, { fields })

  const [first, hit] = [await ask('x-fapi-interaction-id', 'first'), await ask('x-fapi-interaction-id', 'second')]
  const same = await ask('If-None-Match', '"a"')
  const part = await ask('Range', 'bytes=100000-100009')

  expect([first.framing, first.sha256, hit.framing, hit.sha256]).toEqual([
    ...['chunked', sha256(body)],
    ...['length', sha256(body)],
  ])
  expect([statusOf(first), statusOf(hit)]).toEqual([
    expect.stringMatching(/^Origin;hit,lender-gateway;fwd=uri-miss;stored;ttl=\d+$/),
    expect.stringMatching(/^Origin;hit,lender-gateway;hit;ttl=\d+$/),
  ])
  const named = (name: string) => [first, hit].map(({ fields }) => fieldValues(fields, name))
  expect(named('age')).toEqual([[], [expect.any(String)]])
  expect(named('x-name')).toEqual([['Z\xfcrich'], ['Z\xfcrich']])
  // No client is sent the interaction id of another, nor what was for one connection alone.
  expect(named('x-fapi-interaction-id')).toEqual([['first'], ['second']])
  expect(hit.fields.join()).not.toMatch(/x-hop|proxy-|keep-alive|x-sum/i)
  expect([same.status, same.body.length]).toEqual([304, 0])
  expect([part.status, part.body.equals(body.subarray(100_000, 100_010))]).toEqual([206, true])
  expect(fieldValues((await call(port, { target: '/leads/pipeline' })).fields, 'cache-status')).toEqual(['Origin;hit'])
  expect(upstream.requests).toHaveLength(2)
})

/** Boots a gateway with two cached operations; the upstream counts, and POSTs say what they have changed. */
const bootLive = async () => {
  const upstream = await httpUpstream(({ method, url }, response) => {
    const location = new URL(url, 'http://x').searchParams.get('made')
    if (location !== null) response.setHeader('Location', location)
    response.writeHead(200, { 'Cache-Control': method === 'POST' ? 'no-store' : 'max-age=60' })
    response.end(`response ${upstream.requests.length}`)
  })
  const operations = { 'market.insights': { cache: true }, 'leads.pipeline': { cache: true } }
  const settings = { upstream: upstream.url, operations }
  const live = await bootLiveGateway(settings)
  const get = async (target: string) => (await fetch(live.url + target)).text()
  const reload = async (edited: object) => {
    live.edit({ ...settings, ...edited })
    expect(await live.gateway.reload('request')).toMatchObject({ result: 'applied' })
  }
  return { ...live, operations, get, reload, asked: () => upstream.requests.length }
}

test('what is stored stays over a reload, and is not served while its operation is out of service', async () => {
  const { get, reload, url, operations, asked } = await bootLive()
  const before = await get('/market/insights')

  await reload({ operations: { ...operations, 'market.insights': { cache: true, state: 'reject' } } })
  const rejected = await fetch(`${url}/market/insights`)
  await reload({ cache: { maxBytes: '32MiB' } })
  const after = await get('/market/insights')

  expect([rejected.status, after, asked()]).toEqual([503, before, 1])
})

test('a POST that succeeds removes what its Location names', async () => {
  const { get, url, asked } = await bootLive()
  const post = (made: string) =>
    fetch(`${url}/valuation/score?made=${encodeURIComponent(made)}`, { method: 'POST', body: '{}' })
  await get('/market/insights?a=1')

  await post('/market/insights?a=2')
  await get(`/leads/pipeline?made=${encodeURIComponent('/market/insights?a=1')}`)
  await get('/market/insights?a=1')
  const others = asked()
  await post(`${url}/market/insights?a=1`)
  await get('/market/insights?a=1')

  expect([others, asked()]).toEqual([3, 5])
})

test('DELETE /cache removes what it says and reports how much, and a query that it does not know removes nothing', async () => {
  const { admin, get, asked, lines } = await bootLive()
  const purge = async (query: string) => {
    const { status, body } = await fetchAdmin(`${admin}/cache${query}`, 'DELETE')
    return status === 200 ? body.removed : status
  }
  const fill = async (): Promise<void> => {
    await get('/market/insights')
    await get('/leads/pipeline')
  }
  await fill()
  const wrong = ['?operation=valuation.score', '?operation=market', '?operations=market.insights']
  const wrongClients = ['?client=a&client=b', '?client=bank-a']

  for (const query of [...wrong, ...wrongClients]) expect(await purge(query)).toBe(400)
  const removed = []
  for (const query of ['', '?operation=market.insights', '?operation=leads.pipeline&client=']) {
    removed.push(await purge(query))
    await fill()
  }

  expect([removed, asked()]).toEqual([[2, 1, 1], 6])
  expect(lines).toContainEqual(expect.objectContaining({ msg: 'cache cleared', removed: 2 }))
})

test('the status and the access log say what the cache did', async () => {
  const { admin, get, line, url } = await bootLive()
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
