/** Copies of requests on real connections: the bytes that reach the candidate, and that no client notices. */
import { randomBytes } from 'node:crypto'
import type { Socket } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { allOperations } from '../../../../src/operations.ts'
import { openShadowCandidate } from '../../../../tools/bench/shadow-candidate.ts'
import { keyedClients, keyOf } from '../../../helpers/candidate.ts'
import type { Settings } from '../../../helpers/gateway.ts'
import { bootLiveGateway, fetchAdmin, type LiveGateway } from '../../../helpers/live-gateway.ts'
import { httpUpstream, onRequest, type ReceivedRequest, rawUpstream } from '../../../helpers/upstream.ts'
import { call, type WireRequest, withoutFields } from '../../../helpers/wire.ts'

const bootShadowing = async (primary: string, candidate: object, more: Settings = {}) =>
  bootLiveGateway({ upstream: { endpoints: [primary], candidate }, ...more })

const fieldsOf = ({ rawHeaders }: ReceivedRequest): readonly (readonly [string, string])[] =>
  rawHeaders.flatMap((name, at) => (at % 2 === 0 ? [[name.toLowerCase(), rawHeaders[at + 1] ?? ''] as const] : []))

interface ShadowStatus {
  readonly sent: number
  readonly underWay: number
  readonly dropped: { readonly full: number }
}

/** Adds up what a gateway says of the copies of all groups. */
const shadowOf = async ({ admin }: LiveGateway): Promise<readonly [sent: number, underWay: number, full: number]> => {
  const { body } = await fetchAdmin(`${admin}/status`)
  const { upstreams } = body as unknown as { upstreams: Record<string, { candidate: { shadow: ShadowStatus } | null }> }
  let [sent, underWay, full] = [0, 0, 0]
  for (const { candidate } of Object.values(upstreams)) {
    sent += candidate?.shadow.sent ?? 0
    underWay += candidate?.shadow.underWay ?? 0
    full += candidate?.shadow.dropped.full ?? 0
  }
  return [sent, underWay, full]
}

/** Waits until so many copies of all groups have been sent, and are over. */
const copiesSent = (live: LiveGateway, count: number): Promise<void> =>
  expect.poll(() => shadowOf(live)).toEqual([count, 0, 0])

test('each GET goes to both as it came, and no POST goes to the candidate', async () => {
  const [primary, candidate] = [await httpUpstream(), await httpUpstream()]
  const live = await bootShadowing(primary.url, { endpoints: [candidate.url], shadow: { sample: '100%' } })

  for (const { method, path } of allOperations) {
    const { status } = await call(live.gateway.address.port, { method, target: `${path}?q=%20a` })
    expect(status).toBe(200)
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

test('a copy has only the identity fields that the gateway sets', async () => {
  const [primary, candidate] = [await httpUpstream(), await httpUpstream()]
  const request = { set: { 'X-Upstream-Token': 'of-the-gateway' } }
  const live = await bootShadowing(
    primary.url,
    { endpoints: [candidate.url], request, shadow: { sample: '100%' } },
    { ...keyedClients('bank-a'), auth: { methods: ['apiKey'], identityField: 'X-Client-Id', credentials: 'forward' } },
  )

  await call(live.gateway.address.port, { fields: keyOf('bank-a') })
  await copiesSent(live, 1)

  const telling = [primary, candidate].map(({ requests }) =>
    requests.flatMap(fieldsOf).flatMap(([name, value]) => (value.includes('bank-a') ? [name] : [])),
  )
  expect(telling.map((names) => names.toSorted())).toEqual([['x-api-key', 'x-client-id'], []])
  expect(candidate.requests.flatMap(fieldsOf)).toContainEqual(['x-upstream-token', 'of-the-gateway'])
})

test('an aborted shift ends the copies, and a resumed one begins them again', async () => {
  const [primary, candidate] = [await httpUpstream(), await httpUpstream()]
  const live = await bootShadowing(primary.url, {
    endpoints: [candidate.url],
    share: '0.01%',
    shadow: { sample: '100%' },
  })
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
  const live = await bootShadowing(primary.url, { endpoints: [candidate.url], maxConnections: 1, shadow })

  for (let i = 0; i < 5; i++) await call(live.gateway.address.port)
  await expect.poll(() => shadowOf(live)).toEqual([3, 3, 2])
  await expect.poll(() => held.length).toBe(3)

  expect(candidate.accepted()).toBe(3)
  await live.gateway.close()
})

const kib = 1024
const bodies = [15, 80, 1100].map((size) => randomBytes(size * kib)) // the last is longer than is copied
const queries = ['', '?response=large', '?response=chunked', '?response=404']

/** Requests of all kinds, with a length or in chunks. */
const requests: readonly WireRequest[] = [
  ...queries.map((query) => ({ target: `/market/insights${query}` })),
  ...bodies.map((body) => ({ method: 'POST', target: '/valuation/score?response=chunked', body })),
  ...bodies.map((body) => ({ method: 'POST', target: '/valuation/score', body, chunkBytes: 40 * kib })),
].map((request) => ({ ...request, fields: ['x-lower', 'a', 'X-Twice', '1', 'X-Twice', '2', 'Cookie', 'a=b'] }))

/** Takes away what differs from request to request, and from gateway to gateway. */
const withoutOwn = (fields: readonly string[]) => withoutFields(fields, 'date', 'host', 'via', 'x-request-id')

/** Sends all requests through a gateway; returns what clients and the primary had, and whether there were copies. */
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
  const hasCopies = candidate !== null && (await shadowOf(live))[0] > 0
  await live.gateway.close()
  return { clients, got, hasCopies }
}

test('clients and the primary have the same bytes as without copies, whatever a candidate does', async () => {
  const { clients, got } = await exchangeAll(null)

  expect(got).toHaveLength(requests.length)
  for (const way of ['differs', 'hangs', 'pours']) {
    const candidate = await openShadowCandidate(way)
    onTestFinished(() => candidate.close())

    expect(await exchangeAll(`http://127.0.0.1:${candidate.port}`)).toEqual({ clients, got, hasCopies: true })
  }
})
