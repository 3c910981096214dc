/**
 * Responses that end where the connection does (RFC 9112 §6.3). Over TLS one without close_notify is incomplete
 * (§9.8), and Node does not tell the two apart, so none is stored (RFC 9111 §3.3). Over TCP the end completes it (RFC
 * 9112 §8).
 */
import type { AddressInfo } from 'node:net'
import { createServer, type TLSSocket } from 'node:tls'
import { expect, onTestFinished, test } from 'vitest'
import { needCertificates } from '../../helpers/certificates.ts'
import { bootGateway } from '../../helpers/gateway.ts'
import { rawUpstream } from '../../helpers/upstream.ts'

const { made, missing } = await needCertificates()

const head = 'HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nCache-Control: max-age=60\r\nConnection: close\r\n'
const operations = { 'market.insights': { cache: true }, 'valuation.score': { idempotency: true } }

/** Opens an endpoint that responds with bytes and ends as `end` does, over TLS. */
const tlsUpstream = async (response: string, end: (socket: TLSSocket) => void) => {
  const { right, authority } = made
  let requests = 0
  const server = createServer(right, (socket) => {
    socket.on('error', () => {})
    socket.once('data', () => {
      requests++
      socket.write(response, () => end(socket))
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => void server.close())
  const url = `https://127.0.0.1:${(server.address() as AddressInfo).port}`
  return { upstream: { endpoints: [url], tls: { ca: authority.cert } }, requests: () => requests }
}

const asEverywhere = (upstream: object) => ({ market: upstream, valuation: upstream })

const ends: readonly [string, (socket: TLSSocket) => void][] = [
  ['with a close_notify', (socket) => void socket.end()],
  ['without one: it may be cut', (socket) => void socket.destroy()],
]

test.skipIf(missing).each(ends)('what ends %s is not stored over TLS, and a POST sent once', async (_, end) => {
  const { upstream, requests } = await tlsUpstream(`${head}\r\n{"a":1}`, end)
  const { url } = await bootGateway({ upstreams: asEverywhere(upstream), operations })
  const post = { method: 'POST', headers: { 'idempotency-key': 'a' }, body: '{}' }
  const send = async (path: string, init: RequestInit = {}) => {
    const response = await fetch(`${url}/${path}`, init)
    return [response.status, await response.text(), response.headers.get('cache-status')?.split(';').at(-1)]
  }

  const got = [await send('market/insights'), await send('market/insights')]
  const posted = [await send('valuation/score', post), await send('valuation/score', post)]

  expect(got).toEqual(new Array(2).fill([200, '{"a":1}', 'detail=may-be-cut']))
  expect(posted.map(([status]) => status)).toEqual([200, 409])
  expect(posted.map(([, text]) => text)).toEqual(['{"a":1}', expect.stringContaining('response-not-kept')])
  expect(requests()).toBe(3)
})

test.skipIf(missing)('what has a length over TLS is stored, however the connection ends', async () => {
  const { upstream, requests } = await tlsUpstream(
    `${head}Content-Length: 7\r\n\r\n{"a":1}`,
    (socket) => void socket.destroy(),
  )
  const { url } = await bootGateway({ upstreams: asEverywhere(upstream), operations })

  for (let n = 0; n < 2; n++) expect(await (await fetch(`${url}/market/insights`)).text()).toBe('{"a":1}')
  for (let n = 0; n < 2; n++) {
    const fields = { 'idempotency-key': 'a' }
    const response = await fetch(`${url}/valuation/score`, { method: 'POST', headers: fields, body: '{}' })
    expect([response.status, await response.text()]).toEqual([200, '{"a":1}'])
  }

  expect(requests()).toBe(2)
})

test('what ends with its connection over TCP is whole, and stored', async () => {
  let requests = 0
  const { url: endpoint } = await rawUpstream((socket) => {
    socket.once('data', () => {
      requests++
      socket.end(`${head}\r\n{"a":1}`)
    })
  })
  const { url } = await bootGateway({ upstreams: asEverywhere({ endpoints: [endpoint] }), operations })

  for (let n = 0; n < 2; n++) expect(await (await fetch(`${url}/market/insights`)).text()).toBe('{"a":1}')

  expect(requests).toBe(1)
})
