/** Copies of requests on real connections: what gets to the candidate, and what never does. */
import { hash } from 'node:crypto'
import type { Socket } from 'node:net'
import { describe, expect, test } from 'vitest'
import { allOperations } from '../../../../../src/operations.ts'
import { freePort } from '../../../../helpers/free-port.ts'
import { bootLiveGateway, fetchAdmin, type LiveGateway } from '../../../../helpers/live-gateway.ts'
import {
  httpUpstream,
  onRequest,
  type ReceivedRequest,
  rawUpstream,
  type TestUpstream,
} from '../../../../helpers/upstream.ts'

interface Sides {
  readonly live: LiveGateway
  readonly primary: TestUpstream
  readonly candidate: TestUpstream
}

/** Boots a gateway whose groups all have this shadow. */
const boot = async (shadow: object, more: object = {}, candidateKeys: object = {}): Promise<Sides> => {
  const [primary, candidate] = [await httpUpstream(), await httpUpstream()]
  const upstream = {
    endpoints: [primary.url],
    candidate: { endpoints: [candidate.url], ...candidateKeys, shadow },
  }
  const live = await bootLiveGateway({ upstream, ...more })
  return { live, primary, candidate }
}

/** Sends a request of each operation that a group with this shadow may have. */
const sendAll = async ({ url }: LiveGateway, init: RequestInit = {}): Promise<void> => {
  for (const { method, path } of allOperations) {
    const body = method === 'POST' ? { body: `{"of":"${path}"}` } : {}
    const response = await fetch(`${url}${path}?q=%20a`, { method, ...body, ...init })
    expect([path, response.status]).toEqual([path, 200])
    await response.arrayBuffer()
  }
}

const fieldsOf = ({ rawHeaders }: ReceivedRequest): readonly (readonly [string, string])[] =>
  rawHeaders.flatMap((name, at) => (at % 2 === 0 ? [[name.toLowerCase(), rawHeaders[at + 1] ?? ''] as const] : []))

const namesOf = (request: ReceivedRequest): readonly string[] => fieldsOf(request).map(([name]) => name)

interface ShadowStatus {
  readonly sent: number
  readonly underWay: number
  readonly dropped: { readonly full?: number; readonly 'no-endpoint'?: number; readonly stopped?: number }
}

const shadowsOf = async ({ admin }: LiveGateway): Promise<readonly ShadowStatus[]> => {
  const { body } = await fetchAdmin(`${admin}/status`)
  const { upstreams } = body as unknown as { upstreams: Record<string, { candidate: { shadow: ShadowStatus } | null }> }
  return Object.values(upstreams).flatMap(({ candidate }) => (candidate === null ? [] : [candidate.shadow]))
}

/** Waits until the copies of all groups are over; returns how many were sent. */
const copiesSent = async (live: LiveGateway, atLeast = 0): Promise<number> => {
  const sumOf = async (member: 'sent' | 'underWay') =>
    (await shadowsOf(live)).reduce((sum, shadow) => sum + shadow[member], 0)
  await expect.poll(() => sumOf('sent'), { timeout: 30_000 }).toBeGreaterThanOrEqual(atLeast)
  await expect.poll(() => sumOf('underWay'), { timeout: 30_000 }).toBe(0)
  return sumOf('sent')
}

test('each GET goes to both as it came, and no POST goes to the candidate', async () => {
  const { live, primary, candidate } = await boot({ sample: '100%' })

  await sendAll(live)
  expect(await copiesSent(live, 4)).toBe(4)

  const gets = allOperations.filter(({ method }) => method === 'GET').map(({ path }) => `${path}?q=%20a`)
  expect(primary.requests).toHaveLength(9)
  expect(candidate.requests.map(({ method }) => method)).toEqual(['GET', 'GET', 'GET', 'GET'])
  expect(candidate.requests.map(({ url }) => url).toSorted()).toEqual(gets.toSorted())
})

test('a copy is the request of the primary, marked and with the Host of the candidate', async () => {
  const { live, primary, candidate } = await boot({ sample: '100%' })

  await (await fetch(`${live.url}/market/insights`, { headers: { 'X-A': '1', Accept: 'a/b' } })).arrayBuffer()
  expect(await copiesSent(live, 1)).toBe(1)

  const withoutHost = (request: ReceivedRequest) => fieldsOf(request).filter(([name]) => name !== 'host')
  const [original, copy] = [primary.requests[0], candidate.requests[0]] as [ReceivedRequest, ReceivedRequest]
  expect(withoutHost(copy).filter(([name]) => name !== 'x-shadow')).toEqual(withoutHost(original))
  expect(fieldsOf(copy)).toContainEqual(['x-shadow', '1'])
  expect(fieldsOf(copy)).toContainEqual(['host', new URL(candidate.url).host])
})

test('POSTs go to both where the file says that it does no harm, byte for byte', async () => {
  const [primary, candidate] = [await httpUpstream(), await httpUpstream()]
  const posts = { sample: '100%', posts: true, sideEffects: 'none' }
  const live = await bootLiveGateway({
    upstreams: Object.fromEntries(
      ['valuation', 'financing', 'risk', 'inventory'].map((group) => [
        group,
        { endpoints: [primary.url], candidate: { endpoints: [candidate.url], shadow: posts } },
      ]),
    ),
  })
  const large = Buffer.alloc(300_000, 'x')

  await fetch(`${live.url}/valuation/score`, { method: 'POST', body: '{"a":1}' })
  await fetch(`${live.url}/risk/asset-valuation`, { method: 'POST', body: large })
  expect(await copiesSent(live, 2)).toBe(2)

  const seen = (requests: readonly ReceivedRequest[]) =>
    requests.map(({ url, sha256, body }) => [url, sha256, body.length])
  expect(seen(candidate.requests)).toEqual(seen(primary.requests))
})

describe('credentials', () => {
  const credentials = {
    Authorization: 'Bearer secret-1',
    Cookie: 'secret-2',
    DPoP: 'secret-3',
    'X-Api-Key': 'secret-4',
    'Client-Cert': 'secret-5',
    'Proxy-Authorization': 'secret-6',
    X_Api_Key: 'secret-7',
  }
  const request = { set: { 'X-Upstream-Token': 'of-the-gateway' } }

  test('of clients do not arrive, those of the gateway do', async () => {
    const { live, primary, candidate } = await boot({ sample: '100%' }, {}, { request })

    await (await fetch(`${live.url}/market/insights`, { headers: credentials })).arrayBuffer()
    expect(await copiesSent(live, 1)).toBe(1)

    expect(JSON.stringify(primary.requests[0]?.rawHeaders)).toContain('secret-1')
    expect(JSON.stringify(candidate.requests[0]?.rawHeaders)).not.toContain('secret')
    expect(fieldsOf(candidate.requests[0] as ReceivedRequest)).toContainEqual(['x-upstream-token', 'of-the-gateway'])
  })

  test('of clients arrive as the primary gets them when they are forwarded', async () => {
    const { live, primary, candidate } = await boot({ sample: '100%', credentials: 'forward' })

    await (await fetch(`${live.url}/market/insights`, { headers: credentials })).arrayBuffer()
    expect(await copiesSent(live, 1)).toBe(1)

    const secretsOf = ({ requests }: TestUpstream) =>
      fieldsOf(requests[0] as ReceivedRequest).filter(([, value]) => value.includes('secret'))
    expect(secretsOf(candidate)).toEqual(secretsOf(primary))
    expect(secretsOf(candidate).length).toBeGreaterThanOrEqual(5)
  })

  test('the name of the client does not arrive', async () => {
    const secret = 'k'.repeat(43)
    const { live, primary, candidate } = await boot(
      { sample: '100%' },
      {
        auth: { methods: ['apiKey'], identityField: 'X-Client-Id', credentials: 'forward' },
        clients: [{ id: 'bank-a', operations: 'all', apiKeys: [{ id: 'key', sha256: hash('sha256', secret) }] }],
      },
    )

    const response = await fetch(`${live.url}/market/insights`, { headers: { 'X-Api-Key': `key.${secret}` } })
    await response.arrayBuffer()
    expect(await copiesSent(live, 1)).toBe(1)

    expect(response.status).toBe(200)
    expect(namesOf(primary.requests[0] as ReceivedRequest)).toEqual(
      expect.arrayContaining(['x-api-key', 'x-client-id']),
    )
    expect(JSON.stringify(candidate.requests[0]?.rawHeaders)).not.toMatch(/bank-a|kkkk|x-client-id/i)
  })
})

test('what is served without the primary is not copied', async () => {
  const primary = await httpUpstream((_, response) =>
    response.writeHead(200, { 'Cache-Control': 'max-age=60' }).end('stored'),
  )
  const candidate = await httpUpstream()
  const live = await bootLiveGateway({
    upstream: { endpoints: [primary.url], candidate: { endpoints: [candidate.url], shadow: { sample: '100%' } } },
    operations: { 'market.insights': { cache: true }, 'leads.pipeline': { state: 'refuse' } },
  })

  for (let i = 0; i < 5; i++) expect(await (await fetch(`${live.url}/market/insights`)).text()).toBe('stored')
  expect((await fetch(`${live.url}/leads/pipeline`)).status).toBe(503)
  expect(await copiesSent(live, 1)).toBe(1)

  expect(primary.requests).toHaveLength(1)
})

test('a primary that refuses connections leaves nothing to copy', async () => {
  const candidate = await httpUpstream()
  const gone = `http://127.0.0.1:${await freePort()}`
  const live = await bootLiveGateway({
    upstream: { endpoints: [gone], candidate: { endpoints: [candidate.url], shadow: { sample: '100%' } } },
  })

  expect((await fetch(`${live.url}/market/insights`)).status).toBe(502)
  expect(await copiesSent(live)).toBe(0)
})

test('without a sample nothing goes to the candidate', async () => {
  const { live, candidate } = await boot({ sample: '0%' })

  await sendAll(live)
  expect(await copiesSent(live)).toBe(0)

  expect(candidate.accepted()).toBe(0)
})

test('a retry makes no second copy', async () => {
  let requests = 0
  const primary = await httpUpstream((_, response) => response.writeHead(++requests < 3 ? 503 : 200).end())
  const candidate = await httpUpstream()
  const live = await bootLiveGateway({
    upstream: {
      endpoints: [primary.url],
      retry: { attempts: 3 },
      candidate: { endpoints: [candidate.url], shadow: { sample: '100%' } },
    },
  })

  expect((await fetch(`${live.url}/market/insights`)).status).toBe(200)
  expect(await copiesSent(live, 1)).toBe(1)

  expect(primary.requests).toHaveLength(3)
})

describe('clients notice nothing of a candidate that', () => {
  const answer = 'HTTP/1.1 200 OK\r\n'
  test.each<[string, (socket: Socket) => void]>([
    ['hangs', () => {}],
    ['resets', (socket) => socket.resetAndDestroy()],
    ['is no server', (socket) => socket.write('no such protocol\r\n\r\n')],
    ['drips', (socket) => void socket.write(`${answer}Transfer-Encoding: chunked\r\n\r\n1\r\na\r\n`)],
    ['lies about its length', (socket) => socket.end(`${answer}Content-Length: 100\r\n\r\nabc`)],
    [
      'is told to go on',
      (socket) => socket.write(`HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n${answer}Content-Length: 0\r\n\r\n`),
    ],
  ])('%s', async (_, behave) => {
    const primary = await httpUpstream()
    const candidate = await rawUpstream((socket) => onRequest(socket, () => behave(socket)))
    const live = await bootLiveGateway({
      upstream: {
        endpoints: [primary.url],
        candidate: { endpoints: [candidate.url], shadow: { sample: '100%', concurrency: 2 } },
      },
    })

    for (let i = 0; i < 5; i++) await sendAll(live)
    await expect.poll(candidate.accepted, { timeout: 30_000 }).toBeGreaterThanOrEqual(1)
    const startedAt = performance.now()
    await live.gateway.close()

    expect(primary.requests).toHaveLength(45)
    // It does not wait for copies, which may take 30 s.
    expect(performance.now() - startedAt).toBeLessThan(20_000)
  })
})

describe('the only endpoint of the candidate gets no copies', () => {
  const askUntilDropped = async (live: LiveGateway): Promise<number> => {
    const dropped = async () => {
      await (await fetch(`${live.url}/market/insights`)).arrayBuffer()
      return (await shadowsOf(live)).reduce((sum, shadow) => sum + (shadow.dropped['no-endpoint'] ?? 0), 0)
    }
    await expect.poll(dropped, { timeout: 30_000 }).toBeGreaterThanOrEqual(3)
    return (await shadowsOf(live)).reduce((sum, shadow) => sum + shadow.sent, 0)
  }

  test('while probes find it down', async () => {
    const primary = await httpUpstream()
    const candidate = await httpUpstream((_, response) => response.writeHead(500).end())
    const healthCheck = { path: '/health', interval: '100ms', unhealthyAfter: 1 }
    const more = { endpoints: [candidate.url], healthCheck, shadow: { sample: '100%' } }
    const live = await bootLiveGateway({ upstreams: { market: { endpoints: [primary.url], candidate: more } } })
    await expect.poll(() => live.lines.some(({ msg }) => msg === 'endpoint down'), { timeout: 30_000 }).toBe(true)

    expect(await askUntilDropped(live)).toBe(0)

    expect(new Set(candidate.requests.map(({ url }) => url))).toEqual(new Set(['/health']))
  })

  test('while an operator drains it', async () => {
    const { live, candidate } = await boot({ sample: '100%' })
    const body = JSON.stringify({ group: 'market', url: candidate.url, ttl: '1h' })
    expect((await fetchAdmin(`${live.admin}/endpoints/drain`, 'POST', { body })).status).toBe(200)

    expect(await askUntilDropped(live)).toBe(0)

    expect(candidate.requests).toEqual([])
  })
})

test('a POST that is uploaded during an abort is not copied', async () => {
  const { live, primary, candidate } = await boot({ sample: '100%', posts: true, sideEffects: 'none' })
  const rest = Promise.withResolvers<void>()
  const body = new ReadableStream<Uint8Array>({
    async start(controller) {
      controller.enqueue(Buffer.from('{"a":'))
      await rest.promise
      controller.enqueue(Buffer.from('1}'))
      controller.close()
    },
  })
  const posted = fetch(`${live.url}/valuation/score`, { method: 'POST', body, duplex: 'half' })
  await expect.poll(primary.begun, { timeout: 30_000 }).toBe(1)
  const abort = { body: JSON.stringify({ group: 'valuation', abort: true, reason: 'CHG-4711' }) }
  expect((await fetchAdmin(`${live.admin}/shift`, 'POST', abort)).status).toBe(200)

  rest.resolve()
  expect((await posted).status).toBe(200)
  const stopped = async () => (await shadowsOf(live)).reduce((sum, { dropped }) => sum + (dropped.stopped ?? 0), 0)
  await expect.poll(stopped, { timeout: 30_000 }).toBe(1)

  expect(candidate.requests).toEqual([])
})

test('copies have connections of their own', async () => {
  const held: Socket[] = []
  const primary = await httpUpstream()
  const candidate = await rawUpstream((socket) => onRequest(socket, () => void held.push(socket)))
  const live = await bootLiveGateway({
    upstream: {
      endpoints: [primary.url],
      candidate: { endpoints: [candidate.url], maxConnections: 1, shadow: { sample: '100%', concurrency: 3 } },
    },
  })

  for (let i = 0; i < 10; i++) await (await fetch(`${live.url}/market/insights`)).arrayBuffer()
  const dropped = async () => (await shadowsOf(live)).reduce((sum, shadow) => sum + (shadow.dropped.full ?? 0), 0)
  await expect.poll(dropped, { timeout: 30_000 }).toBe(7)
  await expect.poll(() => held.length, { timeout: 30_000 }).toBe(3)

  expect(candidate.accepted()).toBe(3)
})
