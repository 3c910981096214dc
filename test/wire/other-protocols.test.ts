import { describe, expect, test } from 'vitest'
import { bootGateway } from '../helpers/gateway.ts'
import { exchangeRaw, parseStatus, rawClient } from '../helpers/raw-client.ts'
import { parseResponses } from '../helpers/raw-response.ts'
import { httpUpstream } from '../helpers/upstream.ts'

/** What names another protocol than HTTP, or asks for one: docs/decisions/009. */
describe('a request line that ends in', () => {
  test.each(['RTSP/1.0', 'RTSP/1.1', 'ICE/1.0', 'http/1.1'])('%s is rejected', async (version) => {
    const upstream = await httpUpstream()
    const { port, line } = await bootGateway({ upstream: upstream.url })

    const received = await exchangeRaw(port, `GET /market/insights ${version}\r\nHost: gateway\r\n\r\n`)

    expect(parseStatus(received)).toBe(400)
    expect(await line(({ msg }) => msg === 'exchange')).toMatchObject({ failure: 'bad-request', reason: 'bad-version' })
    expect(upstream.requests).toEqual([])
  })
})

describe('an upgrade that is not taken', () => {
  test.each([
    ['GET /market/insights', '', ''],
    ['POST /valuation/score', 'Content-Length: 3\r\n', 'abc'],
    ['POST /valuation/score', 'Transfer-Encoding: chunked\r\n', '3\r\nabc\r\n0\r\n\r\n'],
  ])('in %s (%j) leaves the requests behind it, in the same packet and later', async (line, framing, body) => {
    const upstream = await httpUpstream()
    const { port } = await bootGateway({ upstream: upstream.url })
    const client = await rawClient(port)
    const upgrade = `${line} HTTP/1.1\r\nHost: gateway\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n${framing}\r\n${body}`
    const responses = (text: string) => parseResponses(text, ['GET', 'GET', 'GET']).responses

    client.send(`${upgrade}GET /leads/pipeline HTTP/1.1\r\nHost: gateway\r\n\r\n`)
    await client.until((text) => responses(text).length === 2)
    client.send('GET /compliance/audit-trail HTTP/1.1\r\nHost: gateway\r\n\r\n')
    const text = await client.until((text) => responses(text).length === 3)
    client.close()

    expect(responses(text).map(({ status }) => status)).toEqual([200, 200, 200])
    expect(upstream.requests.map(({ url, body }) => [url, body.toString()]).sort()).toEqual(
      [
        [line.split(' ')[1], body && 'abc'],
        ['/leads/pipeline', ''],
        ['/compliance/audit-trail', ''],
      ].sort(),
    )
  })
})
