/** The admin listener over real sockets. Reloads: `test/core/runtime/reload`; access: `authorize.test.ts`. */
import { describe, expect, test } from 'vitest'
import { groups } from '../../../src/operations.ts'
import { bootLiveGateway, fetchAdmin, shareLiveGateway } from '../../helpers/live-gateway.ts'
import { exchangeRaw, parseStatus } from '../../helpers/raw-client.ts'
import { httpUpstream } from '../../helpers/upstream.ts'

const token = 'a-token-of-an-operator'
const bearer = { headers: { Authorization: `Bearer ${token}` } }

const open = await shareLiveGateway()
const locked = await shareLiveGateway({ admin: { token } })

describe('probes', () => {
  test.each([
    ['as a kubelet sends them', 'GET /ready HTTP/1.1\r\nHost: 10.244.0.7:9901\r\nConnection: close\r\n\r\n'],
    ['as HAProxy sends them', 'GET /ready HTTP/1.0\r\n\r\n'],
    ['with no Host at all', 'GET /ready HTTP/1.1\r\nConnection: close\r\n\r\n'],
    ['without a body', 'HEAD /ready HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n'],
  ])('get responses %s, never with a token', async (_, request) => {
    const { port } = locked.gateway.adminAddress

    const [ready, live] = [await exchangeRaw(port, request), await exchangeRaw(port, request.replace('ready', 'live'))]

    expect([parseStatus(ready), parseStatus(live)]).toEqual([200, 200])
  })

  test('say yes while every upstream is down', async () => {
    const live = await bootLiveGateway({ upstream: 'http://127.0.0.1:1' })
    const down = await fetch(`${live.url}/market/insights`)

    const { status, body } = await fetchAdmin(`${live.admin}/ready`)

    expect([down.status, status, body]).toEqual([502, 200, { ready: true }])
  })
})

/** A busy machine may well make the process late. */
const isLate = ({ about }: { readonly about: string }): boolean => about === 'process'

describe('/status', () => {
  test('reports what runs, and the upstreams of all eight groups', async () => {
    const one = await httpUpstream()
    const market = { endpoints: [one.url, { url: 'http://127.0.0.1:1/v2', weight: 7 }] }
    const live = await bootLiveGateway({ upstreams: { market } })

    const { body } = await fetchAdmin(`${live.admin}/status`)

    const unused = {
      ...{ weight: 100, sandbox: false, inFlight: 0, pending: 0, state: 'up', since: null, reason: null },
      ...{ lastProbe: null, requests: 0, failures: 0, ejections: 0, countedSince: expect.any(String) },
      ...{ lastSuccess: null, failingSince: null, ejectedForSeconds: null, latencyMs: null, certificate: null },
      ...{ drainUntil: null, readyUntil: null, setBy: null, setAt: null, setReason: null },
    }
    const none = { inFlight: 0, balance: 'p2c', breaker: null, retryBudget: null, candidate: null }
    const ofMarket = [
      { ...unused, url: one.url },
      { ...unused, url: 'http://127.0.0.1:1/v2', weight: 7 },
    ]
    expect(body).toEqual({
      ...{ version: '0.2.0', instance: { name: null, environment: null, color: 'gray' }, state: 'serving' },
      ...{ ready: true, notReady: null, findings: expect.toSatisfy((found) => found.every(isLate)) },
      ...{ uptimeSeconds: expect.any(Number), node: process.version, pid: process.pid },
      config: {
        ...{ file: live.file, path: live.file, hash: live.gateway.config.hash },
        ...{ loadedAt: expect.stringMatching(/^\d{4}-.*Z$/), loadedBy: 'start', requestedBy: null, fileDiffers: false },
        ...{ differingFiles: [], lastRejection: null, nextTry: null, previous: null },
      },
      ...{ warnings: [], certificates: [], workers: [] },
      upstreams: Object.fromEntries(
        groups.map((group) => [
          group,
          { ...none, endpoints: group === 'market' ? ofMarket : [{ ...unused, url: 'sandbox', sandbox: true }] },
        ]),
      ),
      limits: { rate: null, concurrency: [{ key: 'limits.concurrency', inFlight: 0, limit: 10_000 }], eventLoop: null },
      ...{ operations: {}, clients: null, tokens: { jwt: null, introspection: null, operators: null, proofs: null } },
      ...{ cache: null, idempotency: null, contract: null, learning: null, retiring: 0, audit: null },
      log: { level: 'info', dropped: 0 },
    })
    live.edit({ upstream: 'http://127.0.0.1:1' })
    const { config } = (await fetchAdmin(`${live.admin}/status`)).body
    expect(config).toMatchObject({ fileDiffers: true, lastRejection: null }) // it has not been read yet
  })

  test('counts what is in flight, and no longer what has ended or left', async () => {
    const release = Promise.withResolvers<void>()
    const upstream = await httpUpstream((_, response) => void release.promise.then(() => response.end('late')))
    const live = await bootLiveGateway({ upstream: upstream.url, defaults: { maxConnections: 1 } })
    const inFlight = async () => (await fetchAdmin(`${live.admin}/status`)).body.upstreams
    const leaving = new AbortController()

    const first = fetch(`${live.url}/market/insights`)
    const waiting = fetch(`${live.url}/market/insights`, { signal: leaving.signal }).catch(() => 'left')
    await expect.poll(inFlight).toMatchObject({ market: { inFlight: 2 } })
    leaving.abort()
    await waiting
    await expect.poll(inFlight).toMatchObject({ market: { inFlight: 1 } })
    release.resolve()
    await (await first).text()

    await expect.poll(inFlight).toMatchObject({ market: { inFlight: 0, endpoints: [{ inFlight: 0 }] } })
  })
})

test('/config shows everything that holds, and no secret', async () => {
  const market = { endpoints: ['sandbox'], request: { set: { 'X-Api-Key': 'hunter2-s3cret' } } }
  const live = await bootLiveGateway({ admin: { token }, upstreams: { market } })

  const { status, body } = await fetchAdmin(`${live.admin}/config`, 'GET', bearer)

  expect(status).toBe(200)
  expect(body).toMatchObject({
    hash: live.gateway.config.hash,
    config: {
      listen: { maxTarget: '8KiB', timeouts: { headers: '10s' } },
      admin: { token: '***' },
      upstreams: { market: { endpoints: ['sandbox'], request: { set: { 'X-Api-Key': '***' } } } },
    },
  })
  expect(JSON.stringify(body)).not.toMatch(/hunter2|operator/)
})

describe('a token, once configured', () => {
  test.each(['GET /', 'GET /nothing', 'GET /ready/', 'GET //ready', 'GET /%72eady'])(
    'is asked for: %s',
    async (request) => {
      const [method, path] = request.split(' ')
      const { status, headers, body } = await fetchAdmin(locked.admin + path, method)

      expect([status, headers.get('www-authenticate')]).toEqual([401, 'Bearer'])
      expect(headers.get('content-type')).toBe('application/problem+json')
      expect(body).toMatchObject({ title: 'Unauthorized', status: 401, code: 'unauthenticated' })
    },
  )

  test('that is wrong leaves a line without it, and none leaves no line', async () => {
    const wrong = 'a-token-of-long-ago'

    await fetchAdmin(`${locked.admin}/metrics`)
    await fetchAdmin(`${locked.admin}/metrics`, 'GET', { headers: { authorization: `Bearer ${wrong}` } })

    expect(locked.lines.filter(({ msg }) => msg === 'operator token rejected')).toEqual([
      expect.objectContaining({ client: '127.0.0.1', reason: 'unknown-token', cause: 'the file has no such token' }),
    ])
    expect(JSON.stringify(locked.lines)).not.toContain(wrong)
  })
})

test('what is not there is 404 with what there is, another method 405, and a body beyond 16 KiB 413', async () => {
  const ask = async (method: string, path: string, body: string | null = null) => {
    const response = await fetchAdmin(open.admin + path, method, { body })
    return [response.status, response.headers.get('allow') ?? response.body.detail]
  }

  expect(await ask('GET', '/market/insights')).toEqual([404, expect.stringContaining('/status')])
  expect(await ask('GET', '/reload')).toEqual([405, 'POST'])
  expect(await ask('PUT', '/ready')).toEqual([405, 'GET, HEAD'])
  expect(await ask('POST', '/operations/reject', 'x'.repeat(20_000))).toEqual([413, expect.anything()])
})
