import { describe, expect, test } from 'vitest'
import { bootGateway } from '../helpers/gateway.ts'
import { parseStatus, rawClient } from '../helpers/raw-client.ts'
import { parseResponses } from '../helpers/raw-response.ts'
import { httpUpstream } from '../helpers/upstream.ts'

/**
 * What Node's parser decides before the gateway sees a request: docs/decisions/009. A Node that behaves otherwise is
 * noticed here.
 */
describe('a limit of Node’s parser', () => {
  test.each(['RTSP/1.0', 'RTSP/1.1'])('a request line that ends in %s passes for HTTP', async (version) => {
    const upstream = await httpUpstream()
    const { port } = await bootGateway({ upstream: upstream.url })
    const client = await rawClient(port)

    client.send(`GET /market/insights ${version}\r\nHost: gateway\r\nConnection: close\r\n\r\n`)
    const { received } = await client.ended()

    expect(parseStatus(received)).toBe(200)
    expect(upstream.requests).toMatchObject([{ method: 'GET', url: '/market/insights' }])
  })

  test.each([
    ['GET /market/insights', '', ''],
    ['POST /valuation/score', 'Content-Length: 3\r\n', 'abc'],
    ['POST /valuation/score', 'Transfer-Encoding: chunked\r\n', '3\r\nabc\r\n0\r\n\r\n'],
  ])('a request in one packet behind %s with Upgrade (%j) is read over', async (line, framing, body) => {
    const upstream = await httpUpstream()
    const { port } = await bootGateway({ upstream: upstream.url })
    const client = await rawClient(port)
    const upgrade = `${line} HTTP/1.1\r\nHost: gateway\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n${framing}\r\n${body}`
    const responses = (text: string) => parseResponses(text, ['GET', 'GET']).responses

    client.send(`${upgrade}GET /leads/pipeline HTTP/1.1\r\nHost: gateway\r\n\r\n`)
    await client.until((text) => responses(text).length === 1)
    client.send('GET /compliance/audit-trail HTTP/1.1\r\nHost: gateway\r\n\r\n')
    const text = await client.until((text) => responses(text).length === 2)
    client.close()

    expect(responses(text).map(({ status }) => status)).toEqual([200, 200])
    expect(upstream.requests.map(({ url, body }) => [url, body.toString()])).toEqual([
      [line.split(' ')[1], body && 'abc'],
      ['/compliance/audit-trail', ''],
    ])
  })
})
