import { describe, expect, test } from 'vitest'
import { gatewayForAll } from '../helpers/gateway.ts'
import { exchangeRaw, rawClient } from '../helpers/raw-client.ts'

// The attack: a request whose end two hops see in different places, so that what one takes for a body the other takes
// for a request. Which framings are rejected is `framing.test.ts`'s, and `request-parser.test.ts`'s.
const site = gatewayForAll()

const hidden = 'GET /leads/pipeline?smuggled HTTP/1.1\r\nHost: a\r\n\r\n'
const post = (fields: string, body: string): string =>
  `POST /inventory/sync HTTP/1.1\r\nHost: a\r\n${fields}\r\n\r\n${body}`
const unknown = (fields: string, body: string): string => post(fields, body).replace('/inventory/sync', '/x')
const te = 'Transfer-Encoding: chunked'
const ended = `0\r\n\r\n${hidden}`
const last = 'GET /market/insights?last HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n'

test.each([
  ['CL.TE', post(`Content-Length: 6\r\n${te}`, ended)],
  ['TE.CL', post(`${te}\r\nContent-Length: 4`, `5c\r\n${hidden}\r\n0\r\n\r\n`)],
  ['CL in a list', post('Content-Length: 0, 60', hidden)],
  ['TE.TE, the second obscured', post(`${te}\r\nTransfer-Encoding: x`, ended)],
  ['TE.TE, the first obscured', post(`Transfer-Encoding: x\r\n${te}`, ended)],
  ['TE behind a bare CR', post('X: y\rTransfer-Encoding: chunked', ended)],
  ['a large body of an unknown path', unknown('Content-Length: 100000', hidden.repeat(1000)), '404'],
  ['a body that was never asked for', unknown('Expect: 100-continue\r\nContent-Length: 60', hidden), '404'],
  ['a body that is too large', post('Content-Length: 99999999999', hidden.repeat(100)), '413'],
])(
  'is rejected, and what it hides is not forwarded: %s',
  async (_, bytes, status = expect.stringMatching('400|501')) => {
    const before = site.upstream.requests.length
    const client = await rawClient(site.port)

    client.send(bytes)
    const { received } = await client.ended()
    await exchangeRaw(site.port, last)

    expect([...received.matchAll(/HTTP\/1\.1 (\d{3})/g)].map(([, each]) => each)).toEqual([status])
    expect(site.upstream.requests.slice(before).map(({ url }) => url)).toEqual(['/market/insights?last'])
  },
)

describe('a request in a body is no request', () => {
  test.each([
    ['with a length', post(`Content-Length: ${hidden.length}`, hidden)],
    ['in a chunk', post(te, `${hidden.length.toString(16)}\r\n${hidden}\r\n0\r\n\r\n`)],
  ])('%s: it arrives as it came', async (_, bytes) => {
    const before = site.upstream.requests.length

    expect(await exchangeRaw(site.port, bytes)).toMatch(/^HTTP\/1\.1 200 /)

    const arrived = site.upstream.requests.slice(before)
    expect(arrived.map(({ url, body }) => [url, body.toString()])).toEqual([['/inventory/sync', hidden]])
    expect(JSON.stringify(arrived[0]?.rawHeaders).match(/content-length|transfer-encoding/gi)).toHaveLength(1)
  })

  test('that is small and rejected: the one behind it is served', async () => {
    const before = site.upstream.requests.length
    const client = await rawClient(site.port)

    client.send(unknown(`Content-Length: ${hidden.length}`, hidden) + last)
    const { received } = await client.ended()

    expect(received.match(/HTTP\/1\.1 \d{3}/g)).toEqual(['HTTP/1.1 404', 'HTTP/1.1 200'])
    expect(site.upstream.requests.slice(before).map(({ url }) => url)).toEqual(['/market/insights?last'])
  })
})
