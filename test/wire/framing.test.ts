import { beforeAll, describe, expect, test } from 'vitest'
import { dialThrough } from '../helpers/dial-through.ts'
import { liveGatewayForAll } from '../helpers/live-gateway.ts'
import { rawClient } from '../helpers/raw-client.ts'
import { findProblemFault, headerValues, parseResponses } from '../helpers/raw-response.ts'

const site = liveGatewayForAll({})
beforeAll(() => site.respondWith((_, response) => response.writeHead(200, ['Content-Length', '2']).end('ok')))

const host = 'Host: a\r\n'
const get = (fields = '', target = '/market/insights', version = 'HTTP/1.1'): string =>
  `GET ${target} ${version}\r\n${host}${fields}\r\n`
const head = (fields = ''): string => get(fields).replace('GET', 'HEAD')
const post = (fields: string, body: string, version = 'HTTP/1.1', path = '/inventory/sync'): string =>
  `POST ${path} ${version}\r\n${host}${fields}\r\n${body}`
const inChunks = 'Transfer-Encoding: chunked\r\n'
const chunked = (body: string): string => post(inChunks, body)
const sized = (length: number, body = 'a'): string => post(`Content-Length: ${length}\r\n`, body)
const postUnknown = (fields: string, body: string): string => post(fields, body, 'HTTP/1.1', '/x')
const upgrade = 'Connection: Upgrade\r\nUpgrade: websocket\r\n'
const connect = `CONNECT a:80 HTTP/1.1\r\n${host}\r\n`
const absolute = 'GET http://a/market/insights HTTP/1.1\r\n'
const unread = postUnknown('Content-Length: 7\r\n', 'unread!')
const large = ['Content-Length: 70000\r\n', 'a'.repeat(70_000)] as const
const tooLarge = 'b'.repeat(45_000) // more than the parser reads

/** The section of the RFC, the sent bytes, and the statuses of the final responses; each 200 was forwarded. */
type Row = readonly [rfc: string, name: string, bytes: string, ...statuses: readonly number[]]

// The parser's tests have each rule of the bytes: these check which response such a request gets, and what is
// forwarded.
const goesOn: readonly Row[] = [
  ['9112 §6.3', 'neither length nor coding: no body', post('', ''), 200],
  ['9110 §9.3.1', 'a body in a GET', `${get('Content-Length: 5\r\n')}hello`, 400],
  ['9112 §7.1.2', 'trailers', chunked('1\r\nx\r\n0\r\nA: b\r\nC: d\r\n\r\n'), 200],
  ['9112 §2.2', 'an empty line in front', `\r\n${get()}`, 200],
  ['9112 §C.2.2', 'HTTP/1.0 that keeps its connection', get('Connection: keep-alive\r\n', undefined, 'HTTP/1.0'), 200],

  ['9112 §3.2', 'no Host', 'GET /market/insights HTTP/1.1\r\n\r\n', 400],
  ['9112 §3.2', 'two Hosts', get(host), 400],
  ['9112 §3.2.2', 'a target in absolute-form', `${absolute}Host: b\r\n\r\n`, 200],

  ['9112 §3', 'the longest target', get('', '/market/insights?'.padEnd(8192, 'q')), 200],
  ['9112 §3', 'a target one byte longer', get('', '/market/insights?'.padEnd(8193, 'q')), 414],
  ['6585 §5', 'as many fields as are allowed', get('A: b\r\n'.repeat(99)), 200],
  ['6585 §5', 'one field more', get('A: b\r\n'.repeat(100)), 431],
  ['6585 §5', 'two thousand fields more', get('A: b\r\n'.repeat(2100)), 431],
  ['6585 §5', 'as many bytes of fields as are allowed', get(`A: ${'b'.repeat(32_768 - 9 - 5)}\r\n`), 200],
  ['6585 §5', 'one byte of fields more', get(`A: ${'b'.repeat(32_768 - 9 - 4)}\r\n`), 431],

  ['9110 §10.1.1', 'an unknown expectation', post('Expect: x\r\nContent-Length: 1\r\n', 'a'), 417],

  ['9110 §9.3.2', 'HEAD', head(), 405],
  ['9112 §3.2.4', 'OPTIONS *', get('', '*').replace('GET', 'OPTIONS'), 400],
  ['9110 §7.8', 'an upgrade, which is not taken', post(`${upgrade}Content-Length: 1\r\n`, 'a'), 200],
  ['9110 §7.8', 'an upgrade with chunks', post(`${upgrade}${inChunks}`, '1\r\na\r\n0\r\n\r\n'), 200],
  ['9113 §3.1', 'an upgrade to h2c', get('Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\n'), 200],

  ['9112 §9.3.2', 'three pipelined', get() + sized(1) + chunked('1\r\nx\r\n0\r\n\r\n'), 200, 200, 200],
  ['9112 §9.3', 'a rejected body that is small is read over', unread + get(), 404, 200],
]

const ends: readonly Row[] = [
  ['9110 §15.5.14', 'a length above the bound', sized(67_108_865), 413],
  ['9112 §7.1', 'a chunk longer than its size', chunked('1\r\nxy\r\n0\r\n\r\n'), 400],
  ['6585 §5', 'trailers beyond the bound', chunked(`1\r\nx\r\n0\r\nA: ${tooLarge}\r\n\r\n`), 431],
  ['9112 §3', 'only line noise', '\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n', 400],
  ['9110 §9.1', 'a method that nobody knows', get().replace('GET', 'BREW'), 400],

  ['9112 §2.3', 'HTTP/1.0', get('', undefined, 'HTTP/1.0'), 200],
  ['9112 §3.2', 'HTTP/1.0 without Host', 'GET /market/insights HTTP/1.0\r\n\r\n', 200],
  ['9110 §15.6.6', 'HTTP/0.9 as it was', 'GET /market/insights\r\n\r\n', 505],
  ['9110 §15.6.6', 'HTTP/1.2', get('', undefined, 'HTTP/1.2'), 505],
  // docs/design/decisions/009: another protocol than HTTP is asked for.
  ['9112 §2.3', 'RTSP/1.0', get('', undefined, 'RTSP/1.0'), 400],
  ['9113 §3.4', 'the preface of HTTP/2', 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n', 400],

  ['9110 §15.5.15', 'a target that the parser will not read', get('', `/${tooLarge}`), 414],
  ['9110 §15.5.15', 'a long target before long fields', get(`A: ${'b'.repeat(12_000)}`, '/'.padEnd(31_000, 'q')), 414],
  ['6585 §5', 'a field that the parser will not read', get(`A: ${tooLarge}\r\n`), 431],

  ['9110 §9.3.6', 'CONNECT', connect, 405],
  ['9110 §9.3.6', 'CONNECT with what would be a tunnel behind it', connect + get(), 405],
  ['9110 §9.3.2', 'HEAD with a malformed field', head('A b\r\n'), 400],
  ['9110 §9.3.2', 'HEAD with a field that the parser will not read', head(`A: ${tooLarge}\r\n`), 431],

  ['9112 §9.3.2', 'garbage behind a good one', `${get()}garbage`, 200, 400],
  ['9112 §6.3', 'more bytes than the length says', sized(1, 'ab\r\n\r\n'), 200, 400],
  ['9112 §9.3.2', 'another version behind a good one', get() + get('', '/x', 'HTTP/3.0'), 200, 505],
  ['9112 §9.3.2', 'CONNECT behind a good one', get() + connect, 200, 405],
  ['9112 §9.3.2', 'too long a field behind a good one', get() + get(`A: ${tooLarge}\r\n`), 200, 431],
  ['9112 §9.3.2', 'a broken body behind a rejected one', unread + chunked('x'), 404, 400],
  ['9112 §9.6', 'one behind Connection: close', get('Connection: close\r\n') + get(), 200],
  ['9112 §9.3', 'one behind HTTP/1.0', get('', undefined, 'HTTP/1.0') + get(), 200],
  ['9112 §9.6', 'one behind a rejection that closes', postUnknown(inChunks, '0\r\n\r\n') + get(), 404],
  ['9112 §9.6', 'one behind a large body that is not read', postUnknown(...large) + get(), 404],
  ['9112 §9.6', 'one in place of a body that is too large', sized(67_108_865, get()), 413],
]

/** Those within which the client ends its side. */
const cutShort: readonly Row[] = [
  ['9112 §6.3', 'a length and an end before it', sized(5, 'hel'), 400],
  ['9112 §6.3', 'a long length and an end before it', sized(100_000, 'hel'), 400],
  ['9112 §8', 'an end within a chunk', chunked('5\r\nhel'), 400],
  ['9112 §8', 'an end before the last line end', chunked('5\r\nhello\r\n0\r\n'), 400],
  ['9112 §8', 'an end within the head', `GET /market/insights HTTP/1.1\r\n${host}A: b`, 400],
]

const sentinel = get('', '/leads/pipeline?sentinel')

describe.each([
  { how: 'and the connection goes on', rows: goesOn, closes: false, fin: false },
  { how: 'and the connection ends', rows: ends, closes: true, fin: false },
  { how: 'and the connection has ended', rows: cutShort, closes: true, fin: true },
])('a request is framed, $how', ({ rows, closes, fin }) => {
  const cases = rows.map(([rfc, name, bytes, ...statuses]) => ({ rfc, name, bytes, statuses }))

  test.each(cases)('$rfc $name: $statuses', async ({ bytes, statuses }) => {
    const before = site.received().length
    const client = await rawClient(site.port)
    const expected = closes ? statuses : [...statuses, 200]
    const methods = expected.map((_, i) => (i === 0 && bytes.startsWith('HEAD') ? 'HEAD' : 'GET'))

    client.send(closes ? bytes : bytes + sentinel)
    if (fin) client.socket.end()
    const received = closes
      ? (await client.ended()).received
      : await client.until((text) => parseResponses(text, methods).responses.length === expected.length)
    client.close()

    const { responses, rest } = parseResponses(received, methods)
    expect([responses.map(({ status }) => status), rest]).toEqual([expected, ''])
    responses.forEach((response, i) => {
      if (response.status === 200) expect(headerValues(response, 'x-request-id')).toHaveLength(1)
      else expect(findProblemFault(response, response.status, methods[i])).toBeNull()
    })
    const connection = responses.slice(-1).flatMap((response) => headerValues(response, 'connection'))
    expect(connection.includes('close')).toBe(closes)
    // What broke off never ends cleanly at the upstream.
    const arrived = site.received().slice(before)
    expect(arrived.map(({ complete }) => complete)).toEqual(expected.filter((status) => status === 200).map(() => true))
    if (!closes) expect(arrived.map(({ url }) => url)).toContain('/leads/pipeline?sentinel')
  })
})

describe('responses', () => {
  test('a response that has begun is not written into when the next request is malformed', async () => {
    let finish = (): void => {}
    const { client, line } = await dialThrough((socket) => {
      socket.write('HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhello')
      finish = () => void socket.write('world')
    })

    client.send(get())
    await client.until((text) => text.endsWith('hello'))
    client.send('nonsense\r\n\r\n')
    const first = line(({ status }) => status === 200)
    finish()
    const { received } = await client.ended()
    await first

    const { responses, rest } = parseResponses(received, ['GET', 'GET'])
    expect(responses).toMatchObject([{ status: 200, body: 'helloworld' }, { status: 400 }])
    expect(rest).toBe('')
  })

  test('a response that has begun is cut, not ended, when the body of its own request is malformed', async () => {
    const { client } = await dialThrough((socket) => {
      socket.write('HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n')
    })

    client.send(chunked('1\r\nx\r\n'))
    await client.until((text) => text.includes('hello'))
    client.send('nonsense\r\n')
    const { received } = await client.ended()

    expect(received).not.toMatch(/bad-request|0\r\n\r\n/)
  })

  test('a large response continues when CONNECT is pipelined behind it', async () => {
    const body = 'x'.repeat(4 * 1024 ** 2)
    const { client } = await dialThrough((socket) => {
      socket.write(`HTTP/1.1 200 OK\r\nContent-Length: ${body.length}\r\n\r\n${body}`)
    })

    client.send(get() + connect)
    const { received } = await client.ended()

    const { responses, rest } = parseResponses(received, ['GET', 'CONNECT'])
    expect(responses.map(({ status }) => status)).toEqual([200, 405])
    expect([responses[0]?.body === body, rest]).toEqual([true, ''])
  })

  test('a response to CONNECT survives a client that resets', async () => {
    for (let i = 0; i < 50; i += 5) {
      const client = await rawClient(site.port)
      client.send(connect + 'x'.repeat(i * 1000))
      client.socket.resetAndDestroy()
    }
    const client = await rawClient(site.port)
    client.send(sentinel)

    expect(await client.until((text) => text.length > 12)).toMatch(/^HTTP\/1\.1 200 /)
    client.close()
  })
})

// rejected-uploads.test.ts has those of whole requests.
test.each([
  ['405', post(inChunks, '400000\r\n', 'HTTP/1.1', '/market/insights')],
  ['431', 'GET / HTTP/1.1\r\nA: '],
  ['414', 'GET /'],
  ['400', 'NONSENSE '],
  ['405', connect],
])('a rejection (%s) reaches a client that reads only when it has sent everything', async (status, begin) => {
  const client = await rawClient(site.port)
  client.socket.pause()
  client.send(begin)
  let sent = 'nothing sent'
  client.socket.write(Buffer.alloc(4 * 1024 ** 2, 'x'), (error) => {
    sent = error?.message ?? 'all sent'
    client.socket.resume()
  })

  const { received } = await client.ended()

  expect([received.slice(0, 12), sent]).toEqual([`HTTP/1.1 ${status}`, 'all sent'])
})
