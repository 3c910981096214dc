import { createHash } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { bootGateway, openGateway, type TestGateway } from '../helpers/gateway.ts'
import { rawClient } from '../helpers/raw-client.ts'
import { findProblemFault, headerValues, parseResponses } from '../helpers/raw-response.ts'
import { httpUpstream, openHttpUpstream, rawUpstream, type TestUpstream } from '../helpers/upstream.ts'

let upstream: TestUpstream
let booted: TestGateway

beforeAll(async () => {
  upstream = await openHttpUpstream(({ sha256 }, response) => {
    response.writeHead(200, ['Content-Length', String(sha256.length)]).end(sha256)
  })
  booted = await openGateway({ upstream: upstream.url })
})
afterAll(async () => {
  await booted.gateway.close()
  await upstream.close()
})

interface Row {
  readonly name: string
  /** Where the status comes from. */
  readonly rfc: string
  readonly bytes: string
  /** The final responses, in order. */
  readonly responses: readonly number[]
  /** Whether the connection ends after them; else another request must find it in step. */
  readonly ends: boolean
  /** Requests that reach the upstream whole. */
  readonly forwarded: number
  /** Whether the client ends its side after the bytes. */
  readonly fin: boolean
  /** The method of the first request, when it is one whose response has no body. */
  readonly method: string
}

const rows: Row[] = []
type More = Partial<Pick<Row, 'ends' | 'forwarded' | 'fin' | 'method'>>

const add = (
  rfc: string,
  name: string,
  bytes: string,
  row: Pick<Row, 'responses' | 'ends' | 'forwarded'> & More,
): void => void rows.push({ name, rfc, bytes, fin: false, method: 'GET', ...row })

/** A rejection: one response, nothing forwarded. The connection ends unless `more` says otherwise. */
const rejected = (status: number, rfc: string, name: string, bytes: string, more: More = {}): void =>
  add(rfc, name, bytes, { responses: [status], ends: true, forwarded: 0, ...more })

/** A forwarded request: one 200, and the connection goes on unless `more` says otherwise. */
const served = (rfc: string, name: string, bytes: string, more: More = {}): void =>
  add(rfc, name, bytes, { responses: [200], ends: false, forwarded: 1, ...more })

/** A row of several responses. */
const several = (responses: readonly number[], rfc: string, name: string, bytes: string, more: More): void =>
  add(rfc, name, bytes, { responses, ends: false, forwarded: 0, ...more })

const host = 'Host: a\r\n'
const get = (fields = '', target = '/market/insights', version = 'HTTP/1.1'): string =>
  `GET ${target} ${version}\r\n${host}${fields}\r\n`
const post = (fields: string, body: string, version = 'HTTP/1.1', path = '/inventory/sync'): string =>
  `POST ${path} ${version}\r\n${host}${fields}\r\n${body}`
const chunked = (body: string): string => post('Transfer-Encoding: chunked\r\n', body)
const coded = (coding: string): string => post(`Transfer-Encoding: ${coding}\r\n`, '0\r\n\r\n')
const sized = (length: string, body = 'a'): string => post(`Content-Length: ${length}\r\n`, body)
const kept = { ends: false }

// The parser's own tests have each rule of the bytes: here stands how such a request is answered, and what goes on.
// Lengths
served('9112 §6.2', 'a length and its bytes', sized('5', 'hello'))
served('9112 §6.3', 'neither length nor coding: no body', post('', ''))
rejected(400, '9110 §9.3.1', 'a body in a GET', `${get('Content-Length: 5\r\n')}hello`, kept)
rejected(400, '9112 §6.3', 'a length with a plus', sized('+1'))
rejected(400, '9112 §6.3', 'two different lengths', post('Content-Length: 1\r\nContent-Length: 2\r\n', 'aa'))
rejected(400, '9110 §8.6', 'a length above 2^64', sized('18446744073709551617'))
rejected(413, '9110 §15.5.14', 'a length above the bound', sized('67108865'))
rejected(400, '9112 §6.3', 'a length and an end before it', sized('5', 'hel'), { fin: true })
rejected(400, '9112 §6.3', 'a long length and an end before it', sized('100000', 'hel'), { fin: true })

// Codings
const both = (...lines: string[]): string => post(lines.map((line) => `${line}\r\n`).join(''), '0\r\n\r\n')
served('9112 §7.1', 'chunks', chunked('5\r\nhello\r\n6\r\n world\r\n0\r\n\r\n'))
served('9110 §5.5', 'a coding in capitals, with spaces around it', coded('   CHUNKED  '))
rejected(400, '9112 §6.1', 'a length behind a coding', both('Transfer-Encoding: chunked', 'Content-Length: 5'))
rejected(400, '9112 §6.1', 'a length before a coding', both('Content-Length: 5', 'Transfer-Encoding: chunked'))
rejected(400, '9112 §6.1', 'a length and another coding', both('Content-Length: 5', 'Transfer-Encoding: x'))
rejected(400, '9112 §6.3', 'a coding other than chunked', coded('gzip'))
rejected(400, '9112 §6.3', 'a coding that only ends like chunked', coded('xchunked'))
rejected(400, '9112 §6.1', 'chunked on two lines', both('Transfer-Encoding: chunked', 'Transfer-Encoding: chunked'))
rejected(400, '9112 §5.2', 'a folded Transfer-Encoding', both('Transfer-Encoding:', ' chunked'))
rejected(501, '9112 §6.1', 'another coding before chunked', coded('gzip, chunked'))
rejected(400, '9112 §6.1', 'a coding on HTTP/1.0', post('Transfer-Encoding: chunked\r\n', '0\r\n\r\n', 'HTTP/1.0'))

// Chunks
served('9112 §7.1.1', 'a chunk extension', chunked('1;a="b;c"\r\nx\r\n0;d\r\n\r\n'))
served('9112 §7.1.2', 'trailers', chunked('1\r\nx\r\n0\r\nA: b\r\nC: d\r\n\r\n'))
rejected(400, '9112 §7.1', 'a size with 0x', chunked('0x1\r\nx\r\n0\r\n\r\n'))
rejected(400, '9112 §2.2', 'a size ended by a bare LF', chunked('1\nx\r\n0\r\n\r\n'))
rejected(400, '9112 §7.1.1', 'extensions beyond any bound', chunked(`1;${'a'.repeat(20_000)}\r\nx\r\n0\r\n\r\n`))
rejected(400, '9112 §7.1', 'a chunk longer than its size', chunked('1\r\nxy\r\n0\r\n\r\n'))
rejected(400, '9112 §7.1.2', 'a trailer without a colon', chunked('1\r\nx\r\n0\r\nA b\r\n\r\n'))
rejected(431, '6585 §5', 'trailers beyond the bound', chunked(`1\r\nx\r\n0\r\nA: ${'b'.repeat(45_000)}\r\n\r\n`))
rejected(400, '9112 §8', 'an end within a chunk', chunked('5\r\nhel'), { fin: true })
rejected(400, '9112 §8', 'an end before the last line end', chunked('5\r\nhello\r\n0\r\n'), { fin: true })

// Line ends and the request line
served('9112 §2.2', 'an empty line in front', `\r\n${get()}`)
rejected(400, '9112 §2.2', 'bare LF throughout', get().replaceAll('\r\n', '\n'))
rejected(400, '9112 §2.2', 'a bare CR in a value', get('A: b\rc\r\n'))
rejected(400, '9112 §3.2', 'a space in the target', get('', '/market/insights x'))
rejected(400, '9112 §3', 'no target', get('', ''))
rejected(400, '9112 §3', 'only line noise', '\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n')
rejected(400, '9110 §9.1', 'a method that nobody knows', get().replace('GET', 'BREW'))

// Versions
served('9112 §2.3', 'HTTP/1.0', get('', '/market/insights', 'HTTP/1.0'), { ends: true })
served(
  '9112 §C.2.2',
  'HTTP/1.0 that keeps its connection',
  get('Connection: keep-alive\r\n', '/market/insights', 'HTTP/1.0'),
)
served('9112 §3.2', 'HTTP/1.0 without Host', 'GET /market/insights HTTP/1.0\r\n\r\n', { ends: true })
rejected(505, '9110 §15.6.6', 'HTTP/0.9 as it was', 'GET /market/insights\r\n\r\n')
rejected(505, '9110 §15.6.6', 'HTTP/1.2', get('', '/market/insights', 'HTTP/1.2'))
// docs/decisions/009: another protocol than HTTP is asked for.
for (const version of ['RTSP/1.0', 'ICE/1.0', 'http/1.1', 'HTTP/1.10'])
  rejected(400, '9112 §2.3', version, get('', '/market/insights', version))
rejected(400, '9113 §3.4', 'the preface of HTTP/2', 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n')

// Fields
served('9110 §5.5', 'values of bytes above 0x7f, and of none', get('A: \xe9\xff\x80\r\nB:\r\n'))
rejected(400, '9112 §5.1', 'a space before the colon', get('A : b\r\n'))
rejected(400, '9110 §5.1', 'a name with NUL', get('A\x00: b\r\n'))
rejected(400, '9112 §5', 'a line without a colon', get('Abc\r\n'))
rejected(400, '9112 §5.2', 'a folded value', get('A: b\r\n c\r\n'))
rejected(400, '9110 §5.5', 'a control character in a value', get('A: b\x01c\r\n'))
rejected(400, '9112 §8', 'an end within the head', `GET /market/insights HTTP/1.1\r\n${host}A: b`, { fin: true })

// Host
rejected(400, '9112 §3.2', 'no Host', 'GET /market/insights HTTP/1.1\r\n\r\n', kept)
rejected(400, '9112 §3.2', 'two Hosts', get(host), kept)
for (const value of ['', 'a,b', 'u@a', '\xe9'])
  rejected(400, '9112 §3.2', `Host: ${value}`, `GET /market/insights HTTP/1.1\r\nHost: ${value}\r\n\r\n`, kept)
served('9112 §3.2', 'Host: [::1]:80', 'GET /market/insights HTTP/1.1\r\nHost: [::1]:80\r\n\r\n')
const absolute = 'GET http://a/market/insights HTTP/1.1\r\n'
rejected(400, '9112 §3.2', 'no Host with a target in absolute-form', `${absolute}\r\n`, kept)
served('9112 §3.2.2', 'a target in absolute-form', `${absolute}Host: b\r\n\r\n`)

// Sizes
served('9112 §3', 'the longest target', get('', '/market/insights?'.padEnd(8192, 'q')))
rejected(414, '9112 §3', 'a target one byte longer', get('', '/market/insights?'.padEnd(8193, 'q')), kept)
rejected(
  414,
  '9110 §15.5.15',
  'a target that the parser will not read',
  get('', '/market/insights?'.padEnd(45_000, 'q')),
)
rejected(
  414,
  '9110 §15.5.15',
  'a long target before long fields',
  get(`A: ${'b'.repeat(12_000)}\r\n`, '/'.padEnd(31_000, 'q')),
)
served('6585 §5', 'as many fields as are allowed', get('A: b\r\n'.repeat(99)))
rejected(431, '6585 §5', 'one field more', get('A: b\r\n'.repeat(100)), kept)
rejected(431, '6585 §5', 'two thousand fields more', get('A: b\r\n'.repeat(2100)), kept)
served('6585 §5', 'as many bytes of fields as are allowed', get(`A: ${'b'.repeat(32_768 - 9 - 5)}\r\n`))
rejected(431, '6585 §5', 'one byte of fields more', get(`A: ${'b'.repeat(32_768 - 9 - 4)}\r\n`), kept)
rejected(431, '6585 §5', 'a field that the parser will not read', get(`A: ${'b'.repeat(45_000)}\r\n`))
rejected(431, '6585 §5', 'a field name that the parser will not read', get(`${'A'.repeat(45_000)}: b\r\n`))

// Expectations
served('9110 §10.1.1', 'an expectation in other case', post('Expect: 100-Continue\r\nContent-Length: 1\r\n', 'a'))
served('9110 §5.6.1', 'an expectation of nothing', post('Expect: ,\r\nContent-Length: 1\r\n', 'a'))
served(
  '9110 §10.1.1',
  'an expectation on HTTP/1.0, which is ignored',
  post('Expect: x\r\nContent-Length: 1\r\n', 'a', 'HTTP/1.0'),
  { ends: true },
)
rejected(417, '9110 §10.1.1', 'an unknown expectation', post('Expect: x\r\nContent-Length: 1\r\n', 'a'), kept)
rejected(
  417,
  '9110 §10.1.1',
  'an unknown expectation beside a known one',
  get('Expect: 100-continue\r\nExpect: x\r\n'),
  {
    ends: false,
  },
)
rejected(
  404,
  '9110 §10.1.1',
  'an expectation of a path that is none of the nine',
  post('Expect: 100-continue\r\nContent-Length: 5\r\n', '', 'HTTP/1.1', '/x'),
)

// Methods and forms
rejected(405, '9110 §9.3.6', 'CONNECT', `CONNECT a:80 HTTP/1.1\r\n${host}\r\n`)
rejected(
  405,
  '9110 §9.3.6',
  'CONNECT with what would be a tunnel behind it',
  `CONNECT a:80 HTTP/1.1\r\n${host}\r\n${get()}`,
)
rejected(405, '9110 §9.3.2', 'HEAD', get().replace('GET', 'HEAD'), { ...kept, method: 'HEAD' })
rejected(400, '9110 §9.3.2', 'HEAD with a malformed field', get('A b\r\n').replace('GET', 'HEAD'), { method: 'HEAD' })
rejected(
  431,
  '9110 §9.3.2',
  'HEAD with a field that the parser will not read',
  get(`A: ${'b'.repeat(45_000)}\r\n`).replace('GET', 'HEAD'),
  { method: 'HEAD' },
)
rejected(400, '9112 §3.2.4', 'OPTIONS *', get('', '*').replace('GET', 'OPTIONS'), kept)
rejected(405, '9110 §9.3.8', 'TRACE', get().replace('GET', 'TRACE'), kept)
served(
  '9110 §7.8',
  'an upgrade, which is not taken',
  post('Connection: Upgrade\r\nUpgrade: websocket\r\nContent-Length: 1\r\n', 'a'),
)
served(
  '9110 §7.8',
  'an upgrade with a body in chunks, which is not taken',
  post('Connection: Upgrade\r\nUpgrade: websocket\r\nTransfer-Encoding: chunked\r\n', '3\r\nabc\r\n0\r\n\r\n'),
)
served(
  '9113 §3.1',
  'an upgrade to h2c, which is not taken',
  get('Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQAoAAA\r\n'),
)

// Several requests on a connection
const small404 = post('Content-Length: 7\r\n', 'unread!', 'HTTP/1.1', '/x')
several([200, 200, 200], '9112 §9.3.2', 'three pipelined', get() + sized('1') + chunked('1\r\nx\r\n0\r\n\r\n'), {
  forwarded: 3,
})
several([404, 200], '9112 §9.3', 'a refused body that is small is read over', small404 + get(), { forwarded: 1 })
several([200, 400], '9112 §9.3.2', 'a malformed one behind a good one', `${get()}GET / x\r\n\r\n`, {
  forwarded: 1,
  ends: true,
})
several([200, 400], '9112 §9.3.2', 'garbage behind a good one', `${get()}garbage`, { forwarded: 1, ends: true })
several([200, 400], '9112 §6.3', 'more bytes than the length says', sized('1', 'ab\r\n\r\n'), {
  forwarded: 1,
  ends: true,
})
several([200, 505], '9112 §9.3.2', 'another version behind a good one', get() + get('', '/x', 'HTTP/3.0'), {
  forwarded: 1,
  ends: true,
})
several([200, 405], '9112 §9.3.2', 'CONNECT behind a good one', `${get()}CONNECT a:80 HTTP/1.1\r\n${host}\r\n`, {
  forwarded: 1,
  ends: true,
})
several([200, 431], '9112 §9.3.2', 'too long a field behind a good one', get() + get(`A: ${'b'.repeat(45_000)}\r\n`), {
  forwarded: 1,
  ends: true,
})
several([404, 400], '9112 §9.3.2', 'a broken body behind a refused one', small404 + chunked('x'), { ends: true })
several([200], '9112 §9.6', 'one behind Connection: close', get('Connection: close\r\n') + get(), {
  forwarded: 1,
  ends: true,
})
several([200], '9112 §9.3', 'one behind HTTP/1.0', get('', '/market/insights', 'HTTP/1.0') + get(), {
  forwarded: 1,
  ends: true,
})
several(
  [404],
  '9112 §9.6',
  'one behind a rejection that closes',
  post('Transfer-Encoding: chunked\r\n', '1\r\na\r\n0\r\n\r\n', 'HTTP/1.1', '/x') + get(),
  { ends: true },
)
several(
  [404],
  '9112 §9.6',
  'one behind a large body that is not read',
  post('Content-Length: 70000\r\n', 'a'.repeat(70_000), 'HTTP/1.1', '/x') + get(),
  { ends: true },
)
several([413], '9112 §9.6', 'one in place of a body that is too large', sized('67108865', get()), { ends: true })
several([400], '9112 §11.2', 'a request in the body of another coding', post('Transfer-Encoding: gzip\r\n', get()), {
  ends: true,
})

const sentinel = `GET /leads/pipeline?sentinel HTTP/1.1\r\n${host}\r\n`

describe(`of ${rows.length} ways to frame a request`, () => {
  test.each(rows)('$rfc $name: $responses', async ({ bytes, responses, ends, forwarded, fin, method }) => {
    const before = upstream.requests.length
    const client = await rawClient(booted.port)
    const statuses = ends ? responses : [...responses, 200]
    const methods = statuses.map((_, i) => (i === 0 ? method : 'GET'))

    client.send(ends ? bytes : bytes + sentinel)
    if (fin) client.socket.end()
    const received = ends
      ? (await client.ended()).received
      : await client.until((text) => parseResponses(text, methods).responses.length === statuses.length)
    client.close()

    const taken = parseResponses(received, methods)
    expect(taken.responses.map(({ status }) => status)).toEqual(statuses)
    expect(taken.rest).toBe('')
    taken.responses.forEach((response, i) => {
      if (response.status === 200) expect(headerValues(response, 'x-request-id')).toHaveLength(1)
      else expect(findProblemFault(response, response.status, methods[i])).toBeNull()
    })
    const last = taken.responses.at(-1)
    if (last !== undefined)
      expect(headerValues(last, 'connection')).toEqual(ends ? ['close'] : expect.not.arrayContaining(['close']))
    const arrived = upstream.requests.slice(before)
    expect(arrived.length).toBe(forwarded + (ends ? 0 : 1))
    if (!ends) expect(arrived.map(({ url }) => url)).toContain('/leads/pipeline?sentinel')
  })

  test('what broke off never ended cleanly at the upstream, not even later', () => {
    const whole = rows.reduce((sum, { forwarded, ends }) => sum + forwarded + (ends ? 0 : 1), 0)

    expect(upstream.requests.length).toBe(whole)
    expect(upstream.requests.every(({ complete }) => complete)).toBe(true)
  })
})

describe('responses', () => {
  test('keep the order of the requests when a later one is ready first', async () => {
    let answerFirst: () => void = () => {}
    const slow = await httpUpstream(({ url }, response) => {
      if (url.endsWith('?1')) answerFirst = () => void response.end('first')
      else {
        response.end('second')
        answerFirst()
      }
    })
    const gateway = await bootGateway({ upstream: slow.url })
    const client = await rawClient(gateway.port)

    client.send(get('', '/market/insights?1') + get('', '/leads/pipeline?2'))
    const received = await client.until((text) => parseResponses(text, ['GET', 'GET']).responses.length === 2)

    expect(parseResponses(received, ['GET', 'GET']).responses.map(({ body }) => body)).toEqual(['first', 'second'])
    client.close()
  })

  test('that have begun are not written into when what follows is malformed', async () => {
    let finish: () => void = () => {}
    const slow = await rawUpstream((socket) => {
      socket.once('data', () => {
        socket.write('HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhello')
        finish = () => socket.write('world')
      })
    })
    const gateway = await bootGateway({ upstream: slow.url })
    const client = await rawClient(gateway.port)

    client.send(get())
    await client.until((text) => text.endsWith('hello'))
    client.send('nonsense\r\n\r\n')
    const unmatched = gateway.line(({ status }) => status === 200)
    finish()
    const { received } = await client.ended()
    await unmatched

    const { responses, rest } = parseResponses(received, ['GET', 'GET'])
    expect(responses.map(({ status, body }) => [status, status === 200 ? body : ''])).toEqual([
      [200, 'helloworld'],
      [400, ''],
    ])
    expect(rest).toBe('')
  })

  test('that have begun are cut, not ended, when the body of their own request is malformed', async () => {
    const early = await rawUpstream((socket) => {
      socket.once('data', () => socket.write('HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n'))
    })
    const gateway = await bootGateway({ upstream: early.url })
    const client = await rawClient(gateway.port)

    client.send(chunked('1\r\nx\r\n'))
    await client.until((text) => text.includes('hello'))
    client.send('nonsense\r\n')
    const { received } = await client.ended()

    expect(received).not.toContain('bad-request')
    expect(received).not.toContain('0\r\n\r\n')
  })

  test('that are large go on when CONNECT is pipelined behind them', async () => {
    const body = Buffer.alloc(4 * 1024 * 1024, 'x')
    const large = await httpUpstream(
      (_, response) => void response.writeHead(200, ['Content-Length', String(body.length)]).end(body),
    )
    const gateway = await bootGateway({ upstream: large.url })
    const client = await rawClient(gateway.port)

    client.send(`${get()}CONNECT a:80 HTTP/1.1\r\n${host}\r\n`)
    const { received } = await client.ended()

    const { responses, rest } = parseResponses(received, ['GET', 'CONNECT'])
    expect(responses.map((response) => [response.status, response.status === 200 ? response.body.length : 0])).toEqual([
      [200, body.length],
      [405, 0],
    ])
    expect(rest).toBe('')
  })

  test('to CONNECT survive a client that resets', async () => {
    for (let i = 0; i < 50; i += 5) {
      const client = await rawClient(booted.port)
      client.send(`CONNECT a:80 HTTP/1.1\r\n${host}\r\n${'x'.repeat(i * 1000)}`)
      client.socket.resetAndDestroy()
    }
    const client = await rawClient(booted.port)
    client.send(sentinel)

    await expect(client.until((text) => text.startsWith('HTTP/1.1 200'))).resolves.toBeTruthy()
    client.close()
  })
})

describe('a rejection reaches a client that reads only when it has sent everything, and that may send it', () => {
  const megabytes = Buffer.alloc(4 * 1024 * 1024, 'x')
  const readResponse = async (head: string): Promise<string> => {
    const client = await rawClient(booted.port)
    client.socket.pause()
    client.send(head)
    let sent = 'nothing sent'
    client.socket.write(megabytes, (error) => {
      sent = error?.message ?? 'all sent'
      client.socket.resume()
    })
    const { received } = await client.ended()
    return `${received.slice(0, 12)}, ${sent}`
  }
  test.each([
    ['404', post('Content-Length: 4194304\r\n', '', 'HTTP/1.1', '/x')],
    ['405', post('Transfer-Encoding: chunked\r\n', '400000\r\n', 'HTTP/1.1', '/market/insights')],
    ['413', sized('99999999', '')],
    ['431', 'GET / HTTP/1.1\r\nA: '],
    ['414', 'GET /'],
    ['400', 'NONSENSE '],
    ['405', `CONNECT a:80 HTTP/1.1\r\n${host}\r\n`],
  ])('%s, three times', async (status, head) => {
    const responses: string[] = []
    for (let i = 0; i < 3; i++) responses.push(await readResponse(head))

    expect(responses).toEqual(Array(3).fill(`HTTP/1.1 ${status}, all sent`))
  })
})

describe('a client that is too slow', () => {
  test('with its head gets 408', async () => {
    const gateway = await bootGateway({ upstream: upstream.url, listen: { timeouts: { headers: '200ms' } } })
    const client = await rawClient(gateway.port)
    const begun = performance.now()

    client.send('GET /market/insights HTTP/1.1\r\nHost: a\r\n')
    const { received } = await client.ended()

    const { responses, rest } = parseResponses(received, ['GET'])
    expect(responses[0] && findProblemFault(responses[0], 408)).toBeNull()
    expect(rest).toBe('')
    expect(performance.now() - begun).toBeGreaterThanOrEqual(200)
  })

  test('but whose gaps are short is served, however long it takes in all', async () => {
    const gateway = await bootGateway({ upstream: upstream.url, listen: { timeouts: { body: '1s' } } })
    const client = await rawClient(gateway.port)
    const body = 'drop by drop'

    client.send(sized(String(body.length), ''))
    let at = 0
    const tap = setInterval(() => {
      client.send(body[at++] ?? '')
      if (at === body.length) clearInterval(tap)
    }, 100)
    const received = await client.until((text) => parseResponses(text, ['POST']).responses.length === 1)

    expect(parseResponses(received, ['POST']).responses[0]?.status).toBe(200)
    expect(upstream.requests.at(-1)?.sha256).toBe(createHash('sha256').update(body).digest('hex'))
    client.close()
  })
})
