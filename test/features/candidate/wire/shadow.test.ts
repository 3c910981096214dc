/** Copies of requests on real connections: what gets to the candidate, what never does, and that nobody notices. */
import { randomBytes } from 'node:crypto'
import type { Socket } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { allOperations } from '../../../../src/operations.ts'
import { candidateWays, openShadowCandidate } from '../../../../tools/bench/shadow-candidate.ts'
import { keyedClients, keyOf } from '../../../helpers/candidate.ts'
import type { Settings } from '../../../helpers/gateway.ts'
import { bootLiveGateway, fetchAdmin, type LiveGateway } from '../../../helpers/live-gateway.ts'
import { httpUpstream, onRequest, type ReceivedRequest, rawUpstream } from '../../../helpers/upstream.ts'
import { call, type WireRequest } from '../../../helpers/wire.ts'

/** Boots a gateway whose groups all have this candidate. */
const boot = async (primary: string, candidate: object, more: Settings = {}) =>
  bootLiveGateway({ upstream: { endpoints: [primary], candidate }, ...more })

const fieldsOf = ({ rawHeaders }: ReceivedRequest): readonly (readonly [string, string])[] =>
  rawHeaders.flatMap((name, at) => (at % 2 === 0 ? [[name.toLowerCase(), rawHeaders[at + 1] ?? ''] as const] : []))

interface ShadowStatus {
  readonly sent: number
  readonly underWay: number
  readonly pairs: number
  readonly dropped: { readonly full?: number }
}

const shadowsOf = async ({ admin }: LiveGateway): Promise<readonly ShadowStatus[]> => {
  const { body } = await fetchAdmin(`${admin}/status`)
  const { upstreams } = body as unknown as { upstreams: Record<string, { candidate: { shadow: ShadowStatus } | null }> }
  return Object.values(upstreams).flatMap(({ candidate }) => (candidate === null ? [] : [candidate.shadow]))
}

/** Waits until so many copies of all groups have been sent, and are over. */
const copiesSent = (live: LiveGateway, count: number): Promise<void> => {
  const sumOf = (all: readonly ShadowStatus[], member: 'sent' | 'underWay') =>
    all.reduce((sum, shadow) => sum + shadow[member], 0)
  const read = async () => {
    const all = await shadowsOf(live)
    return [sumOf(all, 'sent'), sumOf(all, 'underWay')]
  }
  return expect.poll(read).toEqual([count, 0])
}

test('each GET goes to both as it came, and no POST goes to the candidate', async () => {
  const [primary, candidate] = [await httpUpstream(), await httpUpstream()]
  const live = await boot(primary.url, { endpoints: [candidate.url], shadow: { sample: '100%' } })

  for (const { method, path } of allOperations) {
    const { status } = await call(live.gateway.address.port, { method, target: `${path}?q=%20a` })
    expect([path, status]).toEqual([path, 200])
  }
  const gets = allOperations.filter(({ method }) => method === 'GET').map(({ path }) => `${path}?q=%20a`)
  await copiesSent(live, gets.length)

  expect(candidate.requests.map(({ url }) => url).toSorted()).toEqual(gets.toSorted())
  const withoutHost = (request: ReceivedRequest) => fieldsOf(request).filter(([name]) => name !== 'host')
  const [copy] = candidate.requests as [ReceivedRequest]
  const original = primary.requests.find(({ url }) => url === copy.url) as ReceivedRequest
  expect(withoutHost(copy).filter(([name]) => name !== 'x-shadow')).toEqual(withoutHost(original))
  expect(fieldsOf(copy)).toContainEqual(['x-shadow', '1'])
  expect(fieldsOf(copy)).toContainEqual(['host', new URL(candidate.url).host])
})

test.each([
  ['does not arrive by itself, beside what the gateway sets', {}, []],
  ['arrives where credentials are forwarded', { credentials: 'forward' }, ['x-api-key', 'x-client-id']],
])('what says who the client is %s', async (_, shadow, names) => {
  const [primary, candidate] = [await httpUpstream(), await httpUpstream()]
  const request = { set: { 'X-Upstream-Token': 'of-the-gateway' } }
  const live = await boot(
    primary.url,
    { endpoints: [candidate.url], request, shadow: { sample: '100%', ...shadow } },
    {
      ...keyedClients('bank-a'),
      auth: { methods: ['apiKey'], identityField: 'X-Client-Id', credentials: 'forward' },
    },
  )

  await call(live.gateway.address.port, { fields: keyOf('bank-a') })
  await copiesSent(live, 1)

  const tellingOf = ([received]: readonly ReceivedRequest[]) =>
    (received === undefined ? [] : fieldsOf(received))
      .filter(([, value]) => value.includes('bank-a'))
      .map(([name]) => name)
      .toSorted()
  expect([tellingOf(primary.requests), tellingOf(candidate.requests)]).toEqual([['x-api-key', 'x-client-id'], names])
  expect(candidate.requests.map(fieldsOf)[0]).toContainEqual(['x-upstream-token', 'of-the-gateway'])
})

test('what is served without the primary is not copied', async () => {
  const primary = await httpUpstream((_, response) =>
    response.writeHead(200, { 'Cache-Control': 'max-age=60' }).end('stored'),
  )
  const candidate = await httpUpstream()
  const live = await boot(
    primary.url,
    { endpoints: [candidate.url], shadow: { sample: '100%' } },
    { operations: { 'market.insights': { cache: true }, 'leads.pipeline': { state: 'refuse' } } },
  )

  for (let i = 0; i < 3; i++) expect(await (await fetch(`${live.url}/market/insights`)).text()).toBe('stored')
  expect((await fetch(`${live.url}/leads/pipeline`)).status).toBe(503)
  await copiesSent(live, 1)

  expect(primary.requests).toHaveLength(1)
})

test('an aborted shift ends the copies, and a resumed one begins them again', async () => {
  const [primary, candidate] = [await httpUpstream(), await httpUpstream()]
  const live = await boot(primary.url, { endpoints: [candidate.url], share: '0.01%', shadow: { sample: '100%' } })
  const order = (body: object) =>
    fetchAdmin(`${live.admin}/shift`, 'POST', { body: JSON.stringify({ group: 'market', ...body }) })
  const askTwice = async (): Promise<void> => {
    for (let nth = 0; nth < 2; nth++) await call(live.gateway.address.port)
  }

  await askTwice()
  await copiesSent(live, 2)
  expect((await order({ abort: true })).status).toBe(200)
  await askTwice()
  expect((await order({ resume: true })).status).toBe(200)
  await askTwice()
  await copiesSent(live, 4)
})

test('copies have connections of their own, and a gateway that closes does not wait for them', async () => {
  const held: Socket[] = []
  const primary = await httpUpstream()
  const candidate = await rawUpstream((socket) => onRequest(socket, () => void held.push(socket)))
  const shadow = { sample: '100%', concurrency: 3, timeout: '10m' }
  const live = await boot(primary.url, { endpoints: [candidate.url], maxConnections: 1, shadow })

  for (let i = 0; i < 5; i++) await call(live.gateway.address.port)
  await expect
    .poll(async () => (await shadowsOf(live)).reduce((sum, { dropped }) => sum + (dropped.full ?? 0), 0))
    .toBe(2)
  await expect.poll(() => held.length).toBe(3)

  expect(candidate.accepted()).toBe(3)
  await live.gateway.close()
})

const kib = 1024
const bodies = [15, 80, 1100].map((size) => randomBytes(size * kib)) // the last is longer than is copied
const queries = ['', '?answer=large', '?answer=chunked', '?answer=404']

/** Requests of all kinds, with a length or in chunks. */
const requests: readonly WireRequest[] = [
  ...queries.map((query) => ({ target: `/market/insights${query}` })),
  ...bodies.map((body) => ({ method: 'POST', target: '/valuation/score?answer=chunked', body })),
  ...bodies.map((body) => ({ method: 'POST', target: '/valuation/score', body, chunkBytes: 40 * kib })),
].map((request) => ({ ...request, fields: ['x-lower', 'a', 'X-Twice', '1', 'X-Twice', '2', 'Cookie', 'a=b'] }))

/** What differs from request to request, and from gateway to gateway. */
const isOwn = (name: string): boolean => /^(date|host|via|x-request-id)$/i.test(name)

const withoutOwn = (fields: readonly string[]): readonly string[] =>
  fields.filter((_, at) => !isOwn(fields[at - (at % 2)] ?? ''))

/** Sends all requests through a gateway; returns what clients and the primary had. */
const exchangeAll = async (candidate: string | null) => {
  const primary = await httpUpstream(({ url, sha256 }, response) => {
    const text = Buffer.from(`${url} ${sha256}`)
    const large = Buffer.alloc(700 * kib, text)
    const status = url.includes('404') ? 404 : 200
    if (url.includes('large')) response.writeHead(200, ['Content-Length', `${large.length}`, 'ETag', '"e"']).end(large)
    else response.writeHead(status, ['X-A', '1', 'X-A', '2'])
    if (url.includes('chunked')) response.write(large.subarray(0, 90 * kib))
    if (!response.writableEnded) response.end(text)
  })
  const shadow = { sample: '100%', posts: true, sideEffects: 'none' }
  const settings = { endpoints: [primary.url], ...(candidate && { candidate: { endpoints: [candidate], shadow } }) }
  const live = await bootLiveGateway({ upstreams: { market: settings, valuation: settings } })
  const clients: unknown[] = []
  for (const request of requests) {
    const { status, fields, sha256 } = await call(live.gateway.address.port, request)
    clients.push([status, withoutOwn(fields), sha256])
  }
  const got = primary.requests.map((each) => [each.method, each.url, each.sha256, withoutOwn(each.rawHeaders)])
  const sent = candidate === null ? 0 : (await shadowsOf(live)).reduce((sum, each) => sum + each.sent, 0)
  await live.gateway.close()
  return { clients, got, sent }
}

test.each(Object.keys(candidateWays))(
  'clients and the primary have the same bytes as without copies to a candidate that %s',
  async (way) => {
    const candidate = await openShadowCandidate(way)
    onTestFinished(() => candidate.close())

    original ??= await exchangeAll(null)
    const { sent, ...copied } = await exchangeAll(`http://127.0.0.1:${candidate.port}`)

    expect({ ...copied, sent: 0 }).toEqual(original)
    expect(copied.got).toHaveLength(requests.length)
    expect(sent).toBeGreaterThan(0)
  },
)

let original: Awaited<ReturnType<typeof exchangeAll>> | null = null
