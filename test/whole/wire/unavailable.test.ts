import { once } from 'node:events'
import { appendFileSync } from 'node:fs'
import { type IncomingMessage, request } from 'node:http'
import type { Socket } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import type { FailureKind } from '../../../src/core/exchange/failures/failure-table.ts'
import { createAuditLog } from '../../features/audit/audit-log-place.ts'
import { freePort } from '../../helpers/free-port.ts'
import { bootLiveGateway, fetchAdmin, type LiveGateway } from '../../helpers/live-gateway.ts'
import { httpUpstream, onRequest, rawUpstream } from '../../helpers/upstream.ts'
import { eventually } from '../../helpers/wire.ts'

/** Sends a GET, and holds the response against what every error of the gateway's own looks like. */
const isRejected = async (live: LiveGateway, code: FailureKind, fault: string, hidden: string): Promise<void> => {
  const id = `rejected-${code}`
  const response = await fetch(`${live.url}/market/insights`, { headers: { 'X-Request-Id': id } })
  const text = await response.text()

  const said = [response.status, response.headers.get('content-type'), response.headers.get('retry-after')]
  expect(said).toEqual([503, 'application/problem+json', expect.stringMatching(/^[1-9]\d*$/)])
  const title = 'Service Unavailable'
  expect(JSON.parse(text)).toStrictEqual({ type: 'about:blank', title, status: 503, code, requestId: id })
  expect(text).not.toContain(hidden)
  expect(await live.line(({ requestId }) => requestId === id)).toMatchObject({ status: 503, failure: code, fault })
}

test('what would leave no record is audit-unavailable', async () => {
  const log = createAuditLog(onTestFinished)
  const live = await bootLiveGateway({ audit: log.settings })
  await eventually(() => log.text() !== '')

  appendFileSync(log.file, 'an intruder\n')
  await fetch(`${live.url}/market/insights`)
  await live.line(({ msg }) => msg === 'audit cannot be written')

  await isRejected(live, 'audit-unavailable', 'gateway', log.file)
})

test('a group with all places taken is overloaded', async () => {
  const sockets: Socket[] = []
  const { url, port } = await rawUpstream((socket) => onRequest(socket, () => sockets.push(socket)))
  const live = await bootLiveGateway({ upstreams: { market: { endpoints: [url], maxConnections: 1, maxPending: 0 } } })
  const running = fetch(`${live.url}/market/insights`)
  await eventually(() => sockets.length === 1)

  await isRejected(live, 'overloaded', 'gateway', String(port))

  sockets[0]?.write('HTTP/1.1 204 No Content\r\n\r\n')
  expect((await running).status).toBe(204)
})

test('a group that fails as a whole is circuit-open, before anything is read of what is sent', async () => {
  const port = await freePort()
  const market = { endpoints: [`http://127.0.0.1:${port}`], circuitBreaker: { minRequests: 1 } }
  const live = await bootLiveGateway({ upstreams: { market } })
  expect((await fetch(`${live.url}/market/insights`)).status).toBe(502)

  await isRejected(live, 'circuit-open', 'upstream', String(port))

  expect(await live.line(({ msg }) => msg === 'circuit breaker open')).toMatchObject({ group: 'market', forMs: 5000 })
  const { body } = await fetchAdmin(`${live.admin}/status`)
  expect(body.upstreams).toMatchObject({ market: { breaker: { state: 'open' } } })
})

test('a group of which every endpoint drains has no healthy endpoint', async () => {
  const { url, port } = await httpUpstream()
  const both = { upstreams: { market: { endpoints: [url, `http://127.0.0.1:${await freePort()}`] } } }
  const live = await bootLiveGateway(both)
  await fetchAdmin(`${live.admin}/endpoints/drain`, 'POST', { body: JSON.stringify({ group: 'market', url }) })

  live.edit({ upstreams: { market: url } })
  expect((await fetchAdmin(`${live.admin}/reload`, 'POST')).status).toBe(200)

  await isRejected(live, 'no-healthy-endpoint', 'upstream', String(port))
})

test('an endpoint that is drained gets nothing of requests whose bodies come after that', async () => {
  const [drained, other] = [await httpUpstream(), await httpUpstream()]
  const live = await bootLiveGateway({
    upstreams: { valuation: { endpoints: [drained.url, other.url], balance: 'round-robin' } },
  })
  const uploads = [1, 2, 3, 4].map(() => {
    const upload = request(`${live.url}/valuation/score`, { method: 'POST', headers: { 'content-length': 4 } })
    upload.flushHeaders()
    return upload
  })
  const limits = async () => (await fetchAdmin(`${live.admin}/status`)).body.limits
  await expect.poll(limits).toMatchObject({ concurrency: [{ key: 'limits.concurrency', inFlight: 4 }] })

  const order = { body: JSON.stringify({ group: 'valuation', url: drained.url }) }
  expect((await fetchAdmin(`${live.admin}/endpoints/drain`, 'POST', order)).status).toBe(200)
  const responses = uploads.map(async (upload) => {
    upload.end('body')
    const [response] = (await once(upload, 'response')) as [IncomingMessage]
    response.resume()
    return response.statusCode
  })

  expect(await Promise.all(responses)).toEqual([200, 200, 200, 200])
  expect([drained.requests.length, other.requests.length]).toEqual([0, 4])
})
