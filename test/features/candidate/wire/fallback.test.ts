/** What becomes of the requests of clients on a candidate that fails. */
import { describe, expect, test } from 'vitest'
import { ask, type SideUpstreams, sideUpstreams, withCandidate } from '../../../helpers/candidate.ts'
import { bootGateway, type TestGateway } from '../../../helpers/gateway.ts'
import { bootLiveGateway, fetchAdmin } from '../../../helpers/live-gateway.ts'
import { httpUpstream, onRequest, rawUpstream } from '../../../helpers/upstream.ts'
import type { WireRequest } from '../../../helpers/wire.ts'

const nowhere = 'http://127.0.0.1:1'

const all = { share: '100%' }

const post: WireRequest = { method: 'POST', target: '/risk/asset-valuation', body: Buffer.from('abc') }

/** Boots a gateway whose clients are all on the candidate. */
const boot = (primary: string, candidate: string, own: object = {}, more: object = {}, rest: object = {}) =>
  bootGateway({
    ...withCandidate(primary, candidate, { ...all, ...own }, more, 'risk'),
    ...rest,
  })

const lineOf = ({ line }: TestGateway) => line(({ msg }) => msg === 'exchange')

/** Opens a candidate that closes each connection once it has read the head of a request. */
const resettingUpstream = async () => {
  let heads = 0
  const upstream = await rawUpstream((socket) =>
    onRequest(socket, () => {
      heads++
      socket.resetAndDestroy()
    }),
  )
  return { url: upstream.url, heads: () => heads }
}

const marketOf = async (primary: string, candidate: string, own: object = {}, more: object = {}, rest: object = {}) =>
  bootGateway({ ...withCandidate(primary, candidate, { ...all, ...own }, more), ...rest })

describe('a candidate that cannot be connected to', () => {
  test('has each request served by the primary, without a retry layer, and the log says so', async () => {
    const { primary } = await sideUpstreams()
    const gateway = await boot(primary.url, nowhere)

    expect(await ask(gateway.port, post)).toBe('200 primary')

    expect(await lineOf(gateway)).toMatchObject({
      status: 200,
      endpoint: primary.url,
      side: 'candidate',
      fellBack: true,
      attempts: 2,
      failedAttempts: [{ endpoint: nowhere, failure: 'connect-failed' }],
    })
    expect(primary.requests[0]?.body.toString()).toBe('abc')
  })

  test('has an upload of unknown length served too, whole', async () => {
    const { primary } = await sideUpstreams()
    const { port } = await boot(primary.url, nowhere)
    const body = Buffer.alloc(300_000, 'x')

    expect(await ask(port, { ...post, body, chunkBytes: 10_000 })).toBe('200 primary')

    expect(primary.requests[0]?.body.equals(body)).toBe(true)
  })

  test('fails its clients with fallback: false', async () => {
    const { primary } = await sideUpstreams()
    const gateway = await boot(primary.url, nowhere, { fallback: false })

    expect(await ask(gateway.port, post)).toBe('502 connect-failed')

    expect(primary.requests).toHaveLength(0)
    expect(await lineOf(gateway)).not.toHaveProperty('fellBack')
  })

  test('takes no time beyond the deadline: the primary is not tried after it', async () => {
    const silent = await rawUpstream(() => {})
    const { primary } = await sideUpstreams()
    const operations = { 'risk.asset-valuation': { deadline: '300ms' } }
    const { port } = await boot(
      primary.url,
      silent.url,
      {},
      { timeouts: { headers: '10s' }, retry: {} },
      { operations },
    )

    expect(await ask(port, post)).toBe('504 deadline-exceeded')

    expect(primary.requests).toHaveLength(0)
  })
})

test('an open breaker sends its clients to the primary, and a half-open one tries the candidate again', async () => {
  let status = 500
  const { primary, candidate } = await sideUpstreams((_, response, name) => {
    if (name === 'candidate') response.statusCode = status
    response.end(name)
  })
  const circuitBreaker = { minRequests: 2, openFor: '2s', probes: 1 }
  const { port } = await boot(primary.url, candidate.url, { circuitBreaker })

  const failed = [await ask(port, post), await ask(port, post)]
  const whileOpen = await ask(port, post)
  status = 200
  await expect.poll(() => ask(port, post)).toBe('200 candidate')

  expect(failed).toEqual(['500 candidate', '500 candidate'])
  expect(whileOpen).toBe('200 primary')
})

test('of a candidate that its probes find down, no client waits for a connection', async () => {
  const { primary } = await sideUpstreams()
  const live = await bootLiveGateway(
    withCandidate(primary.url, nowhere, { ...all, healthCheck: { path: '/', interval: '100ms', unhealthyAfter: 1 } }),
  )
  const { port } = live.gateway.address
  const isDown = async (): Promise<unknown> => {
    const { body } = await fetchAdmin(`${live.admin}/status`)
    return (body as unknown as { upstreams: { market: { candidate: { endpoints: { state: string }[] } } } }).upstreams
      .market.candidate.endpoints[0]?.state
  }
  await expect.poll(isDown).toBe('down')

  expect(await ask(port)).toBe('200 primary')

  const line = await live.line(({ msg }) => msg === 'exchange')
  expect(line).toMatchObject({ side: 'candidate', fellBack: true, attempts: 1 })
  expect(line).not.toHaveProperty('failedAttempts')
})

describe('with retries', () => {
  const retry = { attempts: 3, backoff: { base: '1ms', max: '1ms' } }

  test('a GET that was reset goes to the primary, once', async () => {
    const [{ primary }, candidate] = [await sideUpstreams(), await resettingUpstream()]
    const gateway = await marketOf(primary.url, candidate.url, {}, { retry })

    expect(await ask(gateway.port)).toBe('200 primary')

    expect([candidate.heads(), primary.requests.length]).toEqual([1, 1])
    expect(await lineOf(gateway)).toMatchObject({ side: 'candidate', fellBack: true, attempts: 2 })
  })

  test('and fallback: false it stays on its side', async () => {
    const [{ primary }, candidate] = [await sideUpstreams(), await resettingUpstream()]
    const { port } = await marketOf(primary.url, candidate.url, { fallback: false }, { retry })

    expect(await ask(port)).toBe('502 reset-before-headers')

    expect([candidate.heads(), primary.requests.length]).toEqual([3, 0])
  })

  test('a request of the primary that was reset never goes to the candidate', async () => {
    const [{ candidate }, primary] = [await sideUpstreams(), await resettingUpstream()]
    const { port } = await marketOf(primary.url, candidate.url, { share: '0%', clients: ['bank-z'] }, { retry })

    expect(await ask(port)).toBe('502 reset-before-headers')

    expect([primary.heads(), candidate.requests.length]).toEqual([3, 0])
  })

  test('a POST with a key that was reset is repeated at the candidate, not at the primary', async () => {
    const [{ primary }, candidate] = [await sideUpstreams(), await resettingUpstream()]
    const operations = { 'risk.asset-valuation': { idempotency: { onUnknown: 'forward' } } }
    const { port } = await boot(primary.url, candidate.url, {}, { retry }, { operations })

    expect(await ask(port, { ...post, fields: ['Idempotency-Key', 'a'] })).toBe('502 reset-before-headers')

    expect([candidate.heads(), primary.requests.length]).toEqual([3, 0])
  })

  test('the breaker of the primary keeps retries of its clients back, and that of the candidate does not', async () => {
    const { primary, candidate } = await sideUpstreams((request, response, name) => {
      if (name === 'candidate') response.statusCode = 503
      response.end(request.method === 'GET' ? name : '')
    })
    const circuitBreaker = { minRequests: 1, openFor: '60s' }
    const { port } = await marketOf(primary.url, candidate.url, { circuitBreaker }, { retry })

    expect([await ask(port), await ask(port)]).toEqual(['200 primary', '200 primary'])

    expect(candidate.requests).toHaveLength(1)
  })
})

test('an endpoint that stands on both sides is tried on both', async () => {
  const shared = await resettingUpstream()
  const good = await httpUpstream((_, response) => response.end('good'))
  const both = {
    endpoints: [
      { url: shared.url, weight: 10_000 },
      { url: good.url, weight: 1 },
    ],
  }
  const gateway = await bootGateway({
    upstreams: {
      market: {
        ...both,
        outlier: 'none',
        retry: { attempts: 4, backoff: { base: '1ms', max: '1ms' }, budget: { share: '100%', floor: 100 } },
        candidate: { endpoints: [shared.url], request: { set: { 'X-New': '1' } }, ...all },
      },
    },
  })

  const answers: string[] = []
  for (let i = 0; i < 8; i++) answers.push(await ask(gateway.port))

  expect(new Set(answers)).toEqual(new Set(['200 good']))
  // The candidate, then most often the same address as an endpoint of the primary, then the other one.
  expect(shared.heads()).toBeGreaterThan(8)
})

const statusesOf = async (upstreams: SideUpstreams, port: number): Promise<readonly string[]> => [
  await ask(port),
  await ask(port),
  `${upstreams.primary.requests.length} ${upstreams.candidate.requests.length}`,
]

test.each([404, 500])('a response of the candidate is the answer, whatever its status: %i', async (status) => {
  const upstreams = await sideUpstreams((_, response, name) => response.writeHead(status).end(name))
  const { port } = await marketOf(upstreams.primary.url, upstreams.candidate.url)

  expect(await statusesOf(upstreams, port)).toEqual([`${status} candidate`, `${status} candidate`, '0 2'])
})
