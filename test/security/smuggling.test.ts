import { describe, expect, test } from 'vitest'
import { gatewayForAll } from '../helpers/gateway.ts'
import { exchangeRaw, rawClient } from '../helpers/raw-client.ts'

// The attack: a request whose end two hops see in different places, so that what one takes for a body the other takes
// for a request.
const site = gatewayForAll()

const hidden = 'GET /leads/pipeline?smuggled HTTP/1.1\r\nHost: a\r\n\r\n'
const post = (fields: string, body: string): string =>
  `POST /inventory/sync HTTP/1.1\r\nHost: a\r\n${fields}\r\n\r\n${body}`
const te = 'Transfer-Encoding: chunked'

const last = 'GET /market/insights?last HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n'

/**
 * Sends bytes and waits for the gateway to end the connection; returns the responses, and what the upstream got before
 * another request.
 */
const attack = async (bytes: string): Promise<{ statuses: string[]; urls: string[] }> => {
  const before = site.upstream.requests.length
  const client = await rawClient(site.port)
  client.send(bytes)
  const { received } = await client.ended()
  await exchangeRaw(site.port, last)
  const statuses = [...received.matchAll(/HTTP\/1\.1 (\d{3})/g)].map(([, status]) => status ?? '')
  return { statuses, urls: site.upstream.requests.slice(before, -1).map(({ url }) => url) }
}

describe('is rejected, and what it hides is not forwarded:', () => {
  test.each([
    ['CL.TE', post(`Content-Length: 6\r\n${te}`, `0\r\n\r\n${hidden}`)],
    ['TE.CL', post(`${te}\r\nContent-Length: 4`, `5c\r\n${hidden}\r\n0\r\n\r\n`)],
    ['CL.CL', post('Content-Length: 0\r\nContent-Length: 60', hidden)],
    ['CL in a list', post('Content-Length: 0, 60', hidden)],
    ['CL with a sign', post('Content-Length: +0', hidden)],
    ['CL with a space before the colon', post('Content-Length : 0', hidden)],
    ['CL with NUL', post('Content-Length: 0\x00', hidden)],
    ['CL that wraps around', post('Content-Length: 18446744073709551616', hidden)],
    ['CL in hexadecimal', post('Content-Length: 0x0', hidden)],
    ['CL of two numbers', post('Content-Length: 0 60', hidden)],
    ['CL with a minus', post('Content-Length: -0', hidden)],
    ['CL with an underscore', post('Content-Length: 6_0', hidden)],
    ['CL with a tab before the colon', post('Content-Length\t: 0', hidden)],
    [
      'TE.CL, the coding in other case',
      post(`${te.toUpperCase()}\r\nContent-Length: 4`, `5c\r\n${hidden}\r\n0\r\n\r\n`),
    ],
    ['TE chunked twice', post('Transfer-Encoding: chunked, chunked', `0\r\n\r\n0\r\n\r\n${hidden}`)],
    ['TE with a parameter', post('Transfer-Encoding: chunked;a=b', `0\r\n\r\n${hidden}`)],
    ['TE that ends like chunked', post('Transfer-Encoding: xchunked', `0\r\n\r\n${hidden}`)],
    ['TE with NUL', post('Transfer-Encoding: chunked\x00', `0\r\n\r\n${hidden}`)],
    ['TE in the name of a field with NUL', post('X\x00Transfer-Encoding: chunked', `0\r\n\r\n${hidden}`)],
    ['LF alone at the end of every line', post(te, `0\r\n\r\n${hidden}`).replaceAll('\r\n', '\n')],
    ['LF alone at the end of the head', post('Content-Length: 0', hidden).replace('\r\n\r\n', '\r\n\n')],
    ['CR alone at the end of the head', post('Content-Length: 0', hidden).replace('\r\n\r\n', '\r\n\r')],
    ['a chunk size with 0x', post(te, `0x0\r\n\r\n${hidden}`)],
    ['a chunk size with a sign', post(te, `+0\r\n\r\n${hidden}`)],
    ['a chunk size with an underscore', post(te, `1_0\r\n\r\n${hidden}`)],
    ['a chunk size of nothing', post(te, `\r\n\r\n${hidden}`)],
    ['a chunk size with NUL', post(te, `0\x00\r\n\r\n${hidden}`)],
    ['TE.TE, the second obscured', post(`${te}\r\nTransfer-Encoding: x`, `0\r\n\r\n${hidden}`)],
    ['TE.TE, the first obscured', post(`Transfer-Encoding: x\r\n${te}`, `0\r\n\r\n${hidden}`)],
    ['TE with a space before the colon', post('Transfer-Encoding : chunked', `0\r\n\r\n${hidden}`)],
    ['TE with a tab before the colon', post('Transfer-Encoding\t: chunked', `0\r\n\r\n${hidden}`)],
    ['TE with a vertical tab', post('Transfer-Encoding: \x0bchunked', `0\r\n\r\n${hidden}`)],
    ['TE behind a bare LF', post('X: y\nTransfer-Encoding: chunked', `0\r\n\r\n${hidden}`)],
    ['TE behind a bare CR', post('X: y\rTransfer-Encoding: chunked', `0\r\n\r\n${hidden}`)],
    ['TE folded', post('Transfer-Encoding:\r\n chunked', `0\r\n\r\n${hidden}`)],
    ['TE folded onto another', post(`X: y\r\n ${te}`, `0\r\n\r\n${hidden}`)],
    ['TE on HTTP/1.0', post(`Connection: keep-alive\r\n${te}`, `0\r\n\r\n${hidden}`).replace('HTTP/1.1', 'HTTP/1.0')],
    ['TE in quotes', post('Transfer-Encoding: "chunked"', `0\r\n\r\n${hidden}`)],
    ['TE identity', post('Transfer-Encoding: identity', hidden)],
    ['a chunk size ended by a bare LF', post(te, `0\n\r\n${hidden}`)],
    ['a chunk extension ended by a bare LF', post(te, `1;a\nx\r\n0\r\n\r\n${hidden}`)],
    ['a chunk ended by something else', post(te, `1\r\nxXX0\r\n\r\n${hidden}`)],
    ['a chunk size that wraps around', post(te, `10000000000000000\r\n${hidden}\r\n0\r\n\r\n`)],
    ['a chunk size with white space', post(te, `0 \r\n\r\n${hidden}`)],
    ['a trailer that is a length', post(te, `0\r\nContent-Length: ${hidden.length}\r\n\r\n${hidden}`)],
    ['a trailer that is malformed', post(te, `0\r\nA b\r\n\r\n${hidden}`)],
  ])('%s', async (_, bytes) => {
    const { statuses, urls } = await attack(bytes)

    expect(statuses).toEqual([expect.stringMatching(/^(?:400|501)$/)])
    expect(urls).toEqual([])
  })
})

describe('is served as one request, its body as it came:', () => {
  test.each([
    ['a request in a body with a length', post(`Content-Length: ${hidden.length}`, hidden)],
    ['a request in a chunk', post(te, `${hidden.length.toString(16)}\r\n${hidden}\r\n0\r\n\r\n`)],
  ])('%s', async (_, bytes) => {
    const client = await rawClient(site.port)
    const before = site.upstream.requests.length

    client.send(bytes)
    await client.until((text) => text.startsWith('HTTP/1.1 200'))
    client.close()

    const arrived = site.upstream.requests.slice(before)
    expect(arrived.map(({ url, body }) => [url, body.toString()])).toEqual([['/inventory/sync', hidden]])
    expect(JSON.stringify(arrived[0]?.rawHeaders).match(/content-length|transfer-encoding/gi)).toHaveLength(1)
  })
})

describe('a request hidden in the body of a rejected one', () => {
  test('that is small is not served, and the next one is', async () => {
    const { statuses, urls } = await attack(
      `POST /x HTTP/1.1\r\nHost: a\r\nContent-Length: ${hidden.length}\r\n\r\n${hidden}${last}`,
    )

    expect(statuses).toEqual(['404', '200'])
    expect(urls).toEqual(['/market/insights?last'])
  })

  test.each([
    ['that is large', `POST /x HTTP/1.1\r\nHost: a\r\nContent-Length: 100000\r\n\r\n${hidden.repeat(1000)}`],
    [
      'that was never asked for',
      `POST /x HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: ${hidden.length}\r\n\r\n${hidden}`,
    ],
    ['that is too large', post('Content-Length: 99999999999', hidden.repeat(100))],
  ])('%s is not served', async (_, bytes) => {
    const { statuses, urls } = await attack(bytes)

    expect(statuses).toHaveLength(1)
    expect(urls).toEqual([])
  })
})
