import { createHash } from 'node:crypto'
import { afterAll, beforeAll, describe, expect } from 'vitest'
import { bootGateway, openGateway, type TestGateway } from '../helpers/gateway.ts'
import { rawClient } from '../helpers/raw-client.ts'
import { findProblemFault, headerValues, parseResponses } from '../helpers/raw-response.ts'
import { describeTests, part, test, testAndDrill } from '../helpers/speed.ts'
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

/** A rejection: one response, nothing forwarded. The connection ends unless `more` says otherwise. */
const rejected = (status: number, rfc: string, name: string, bytes: string, more: More = {}): void =>
  void rows.push({
    name,
    rfc,
    bytes,
    responses: [status],
    ends: true,
    forwarded: 0,
    fin: false,
    method: 'GET',
    ...more,
  })

/** A forwarded request: one 200, and the connection goes on unless `more` says otherwise. */
const served = (rfc: string, name: string, bytes: string, more: More = {}): void =>
  void rows.push({
    name,
    rfc,
    bytes,
    responses: [200],
    ends: false,
    forwarded: 1,
    fin: false,
    method: 'GET',
    ...more,
  })

/** A row of several responses. */
const several = (responses: readonly number[], rfc: string, name: string, bytes: string, more: More): void =>
  void rows.push({
    name,
    rfc,
    bytes,
    responses,
    ends: false,
    forwarded: 0,
    fin: false,
    method: 'GET',
    ...more,
  })

const host = 'Host: a\r\n'
const get = (fields = '', target = '/market/insights', version = 'HTTP/1.1'): string =>
  `GET ${target} ${version}\r\n${host}${fields}\r\n`
const post = (fields: string, body: string, version = 'HTTP/1.1', path = '/inventory/sync'): string =>
  `POST ${path} ${version}\r\n${host}${fields}\r\n${body}`
const chunked = (body: string): string => post('Transfer-Encoding: chunked\r\n', body)
const coded = (coding: string): string => post(`Transfer-Encoding: ${coding}\r\n`, '0\r\n\r\n')
const sized = (length: string, body = 'a'): string => post(`Content-Length: ${length}\r\n`, body)
const kept = { ends: false }

// Lengths
served('9112 §6.2', 'a length of nothing', sized('0', ''))
served('9112 §6.2', 'a length and its bytes', sized('5', 'hello'))
served('9112 §6.3', 'neither length nor coding: no body', post('', ''))
served('9110 §8.6', 'a length with leading zeros', sized('0005', 'hello'))
served('9110 §5.5', 'a length with white space around it', sized(' \t5  ', 'hello'))
rejected(400, '9110 §9.3.1', 'a body in a GET', `${get('Content-Length: 5\r\n')}hello`, kept)
rejected(400, '9112 §6.3', 'a length that is empty', sized(''))
rejected(400, '9112 §6.3', 'a length with a plus', sized('+1'))
rejected(400, '9112 §6.3', 'a length with a minus', sized('-1'))
rejected(400, '9112 §6.3', 'a length in hexadecimal', sized('0x1'))
rejected(400, '9112 §6.3', 'a length with a fraction', sized('1.0'))
rejected(400, '9112 §6.3', 'a length of letters', sized('one'))
rejected(400, '9112 §6.3', 'a length of two numbers', sized('1 2'))
rejected(400, '9112 §6.3', 'a list of lengths', sized('1, 1'))
rejected(400, '9112 §6.3', 'a list of different lengths', sized('1, 2'))
rejected(400, '9112 §6.3', 'the same length twice', post('Content-Length: 1\r\nContent-Length: 1\r\n', 'a'))
rejected(400, '9112 §6.3', 'two different lengths', post('Content-Length: 1\r\nContent-Length: 2\r\n', 'aa'))
rejected(400, '9112 §6.3', 'two lengths in other case', post('Content-Length: 1\r\ncontent-length: 2\r\n', 'aa'))
rejected(400, '9110 §8.6', 'a length above 2^53, which no double holds', sized('9007199254740993'))
rejected(400, '9110 §8.6', 'a length above 2^64', sized('18446744073709551617'))
rejected(413, '9110 §15.5.14', 'a length above the bound', sized('67108865'))
rejected(400, '9112 §6.3', 'a length and an end before it', sized('5', 'hel'), { fin: true })
rejected(400, '9112 §6.3', 'a long length and an end before it', sized('100000', 'hel'), { fin: true })

// Codings
served('9112 §7.1', 'chunks', chunked('5\r\nhello\r\n6\r\n world\r\n0\r\n\r\n'))
served('9112 §7', 'a coding in capitals', coded('CHUNKED'))
served('9110 §5.5', 'a coding with spaces around it', coded('   chunked  '))
rejected(
  400,
  '9112 §6.1',
  'a length behind a coding',
  post('Transfer-Encoding: chunked\r\nContent-Length: 5\r\n', '0\r\n\r\n'),
)
rejected(
  400,
  '9112 §6.1',
  'a length before a coding',
  post('Content-Length: 5\r\nTransfer-Encoding: chunked\r\n', '0\r\n\r\n'),
)
rejected(
  400,
  '9112 §6.1',
  'a length of nothing and a coding',
  post('Content-Length: 0\r\nTransfer-Encoding: chunked\r\n', '0\r\n\r\n'),
)
rejected(
  400,
  '9112 §6.1',
  'a length and a coding that is not chunked',
  post('Content-Length: 5\r\nTransfer-Encoding: x\r\n', '0\r\n\r\n'),
)
rejected(400, '9112 §6.3', 'a coding other than chunked', coded('gzip'))
rejected(400, '9112 §6.3', 'identity, which is no coding any more', coded('identity'))
rejected(400, '9112 §6.3', 'a coding that only ends like chunked', coded('xchunked'))
rejected(400, '9112 §6.3', 'a coding that only begins like chunked', coded('chunkedx'))
rejected(400, '9112 §6.3', 'chunked in quotes', coded('"chunked"'))
rejected(400, '9112 §7.1', 'chunked with a parameter', coded('chunked;a=b'))
rejected(400, '9112 §6.3', 'an empty coding', coded(''))
rejected(400, '9112 §6.1', 'chunked twice in a list', coded('chunked, chunked'))
rejected(
  400,
  '9112 §6.1',
  'chunked on two lines',
  post('Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n', '0\r\n\r\n'),
)
rejected(400, '9112 §6.3', 'chunked and then another', coded('chunked, gzip'))
rejected(
  400,
  '9112 §6.3',
  'chunked and then identity on another line',
  post('Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n', '0\r\n\r\n'),
)
rejected(400, '9110 §5.5', 'a vertical tab before chunked', coded('\x0bchunked'))
rejected(400, '9110 §5.5', 'a form feed behind chunked', coded('chunked\x0c'))
rejected(400, '9112 §6.3', 'a no-break space before chunked', coded('\xa0chunked'))
rejected(400, '9112 §6.3', 'a no-break space behind chunked', coded('chunked\xa0'))
rejected(
  400,
  '9112 §5.1',
  'a space before the colon of Transfer-Encoding',
  post('Transfer-Encoding : chunked\r\n', '0\r\n\r\n'),
)
rejected(400, '9112 §5.2', 'a folded Transfer-Encoding', post('Transfer-Encoding:\r\n chunked\r\n', '0\r\n\r\n'))
rejected(501, '9112 §6.1', 'another coding before chunked', coded('gzip, chunked'))
rejected(
  501,
  '9112 §6.1',
  'another coding before chunked on its own line',
  post('Transfer-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n', '0\r\n\r\n'),
)
rejected(501, '9112 §6.1', 'an unknown coding before chunked', coded('x, chunked'))
rejected(400, '9112 §6.1', 'a coding on HTTP/1.0', post('Transfer-Encoding: chunked\r\n', '0\r\n\r\n', 'HTTP/1.0'))

// Chunks
served('9112 §7.1', 'a size in capitals with leading zeros', chunked('0000A\r\n0123456789\r\n0\r\n\r\n'))
served('9112 §7.1.1', 'a chunk extension', chunked('1;a=b;c\r\nx\r\n0;d\r\n\r\n'))
served('9112 §7.1.1', 'a chunk extension in quotes', chunked('1;a="b;c"\r\nx\r\n0\r\n\r\n'))
served('9112 §7.1.2', 'trailers', chunked('1\r\nx\r\n0\r\nA: b\r\nC: d\r\n\r\n'))
rejected(400, '9112 §7.1', 'no size', chunked('\r\nx\r\n0\r\n\r\n'))
rejected(400, '9112 §7.1', 'a size with 0x', chunked('0x1\r\nx\r\n0\r\n\r\n'))
rejected(400, '9112 §7.1', 'a negative size', chunked('-1\r\nx\r\n0\r\n\r\n'))
rejected(400, '9112 §7.1', 'a size with a plus', chunked('+1\r\nx\r\n0\r\n\r\n'))
rejected(400, '9112 §7.1', 'a size of other letters', chunked('g\r\nx\r\n0\r\n\r\n'))
rejected(400, '9112 §7.1', 'a size with an underscore', chunked('1_0\r\nx\r\n0\r\n\r\n'))
rejected(400, '9112 §7.1', 'a size that overflows 64 bits', chunked('10000000000000001\r\nx\r\n0\r\n\r\n'))
rejected(400, '9112 §7.1', 'a size and a space', chunked('1 \r\nx\r\n0\r\n\r\n'))
rejected(400, '9112 §7.1', 'a space and a size', chunked(' 1\r\nx\r\n0\r\n\r\n'))
rejected(400, '9112 §2.2', 'a size ended by a bare LF', chunked('1\nx\r\n0\r\n\r\n'))
rejected(400, '9112 §2.2', 'a size ended by a bare CR', chunked('1\rx\r\n0\r\n\r\n'))
rejected(400, '9112 §7.1.1', 'an extension ended by a bare LF', chunked('1;a\nx\r\n0\r\n\r\n'))
rejected(400, '9112 §7.1.1', 'an extension without a name', chunked('1;\r\nx\r\n0\r\n\r\n'))
rejected(400, '9112 §7.1.1', 'an extension with a control character', chunked('1;a=\x00\r\nx\r\n0\r\n\r\n'))
rejected(400, '9112 §7.1.1', 'extensions beyond any bound', chunked(`1;${'a'.repeat(20_000)}\r\nx\r\n0\r\n\r\n`))
rejected(400, '9112 §7.1', 'a chunk longer than its size', chunked('1\r\nxy\r\n0\r\n\r\n'))
rejected(400, '9112 §2.2', 'a chunk ended by a bare LF', chunked('1\r\nx\n0\r\n\r\n'))
rejected(400, '9112 §7.1', 'a chunk without a line end', chunked('1\r\nx0\r\n\r\n'))
rejected(400, '9112 §7.1.2', 'a trailer without a colon', chunked('1\r\nx\r\n0\r\nA b\r\n\r\n'))
rejected(400, '9112 §5.2', 'a folded trailer', chunked('1\r\nx\r\n0\r\nA: b\r\n c\r\n\r\n'))
rejected(431, '6585 §5', 'trailers beyond the bound', chunked(`1\r\nx\r\n0\r\nA: ${'b'.repeat(45_000)}\r\n\r\n`))
rejected(400, '9112 §8', 'an end within a chunk', chunked('5\r\nhel'), { fin: true })
rejected(400, '9112 §8', 'an end between chunks', chunked('5\r\nhello\r\n'), { fin: true })
rejected(400, '9112 §8', 'an end before the last line end', chunked('5\r\nhello\r\n0\r\n'), { fin: true })

// Line ends and the request line
served('9112 §2.2', 'an empty line in front', `\r\n${get()}`)
rejected(400, '9112 §3', 'more than one space in the request line', get('', ' /market/insights '))
rejected(400, '9112 §2.2', 'bare LF throughout', get().replaceAll('\r\n', '\n'))
rejected(400, '9112 §2.2', 'a bare LF behind the request line', get().replace('\r\n', '\n'))
rejected(400, '9112 §2.2', 'a bare LF behind a field', get('A: b\n'))
rejected(400, '9112 §2.2', 'a bare LF at the end', `GET /market/insights HTTP/1.1\r\n${host}\n`)
rejected(400, '9112 §2.2', 'a bare CR behind the request line', get().replace('\r\n', '\r'))
rejected(400, '9112 §2.2', 'a bare CR in a value', get('A: b\rc\r\n'))
rejected(400, '9112 §2.2', 'a space in front', ` ${get()}`)
rejected(400, '9112 §3', 'tabs in the request line', get().replace('GET ', 'GET\t'))
rejected(400, '9112 §3.2', 'a space in the target', get('', '/market/insights x'))
rejected(400, '9112 §3', 'no target', get('', ''))
rejected(400, '9112 §3', 'only line noise', '\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n')
rejected(400, '9112 §3.1', 'a method that is no token', get().replace('GET', 'G[T'))
rejected(400, '9110 §9.1', 'a method that nobody knows', get().replace('GET', 'BREW'))
rejected(400, '9110 §9.1', 'a method in lower case', get().replace('GET', 'get'))

// Versions
served('9112 §2.3', 'HTTP/1.0', get('', '/market/insights', 'HTTP/1.0'), { ends: true })
served(
  '9112 §C.2.2',
  'HTTP/1.0 that keeps its connection',
  get('Connection: keep-alive\r\n', '/market/insights', 'HTTP/1.0'),
)
served('9112 §3.2', 'HTTP/1.0 without Host', 'GET /market/insights HTTP/1.0\r\n\r\n', { ends: true })
rejected(505, '9110 §15.6.6', 'HTTP/0.9 by name', get('', '/market/insights', 'HTTP/0.9'))
rejected(505, '9110 §15.6.6', 'HTTP/0.9 as it was', 'GET /market/insights\r\n\r\n')
rejected(505, '9110 §15.6.6', 'HTTP/1.2', get('', '/market/insights', 'HTTP/1.2'))
rejected(505, '9110 §15.6.6', 'HTTP/2.0 in a request line', get('', '/market/insights', 'HTTP/2.0'))
rejected(505, '9110 §15.6.6', 'HTTP/3.0', get('', '/market/insights', 'HTTP/3.0'))
rejected(505, '9110 §15.6.6', 'HTTP/9.9', get('', '/market/insights', 'HTTP/9.9'))
rejected(400, '9112 §2.3', 'a version of two digits', get('', '/market/insights', 'HTTP/1.10'))
rejected(400, '9112 §2.3', 'a version without a minor one', get('', '/market/insights', 'HTTP/1'))
rejected(400, '9112 §2.3', 'a version in lower case', get('', '/market/insights', 'http/1.1'))
rejected(400, '9112 §2.3', 'another protocol', get('', '/market/insights', 'ABCD/1.1'))
rejected(400, '9113 §3.4', 'the preface of HTTP/2', 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n')

// Fields
served('9110 §5.5', 'a value of bytes above 0x7f', get('A: \xe9\xff\x80\r\n'))
served('9110 §5.5', 'an empty value', get('A:\r\n'))
served('9110 §5.6.2', 'a name of every character of a token', get("!#$%&'*+-.^_`|~09azAZ: b\r\n"))
rejected(400, '9112 §5.1', 'a space before the colon', get('A : b\r\n'))
rejected(400, '9112 §5.1', 'a tab before the colon', get('A\t: b\r\n'))
rejected(400, '9110 §5.1', 'an empty name', get(': b\r\n'))
rejected(400, '9110 §5.1', 'a name with a space', get('A b: c\r\n'))
rejected(400, '9110 §5.1', 'a name with a byte above 0x7f', get('A\xe9: b\r\n'))
rejected(400, '9110 §5.1', 'a name with a bracket', get('A(b): c\r\n'))
rejected(400, '9110 §5.1', 'a name with NUL', get('A\x00: b\r\n'))
rejected(400, '9112 §5', 'a line without a colon', get('Abc\r\n'))
rejected(400, '9112 §5.2', 'a folded value', get('A: b\r\n c\r\n'))
rejected(400, '9112 §5.2', 'a value folded with a tab', get('A: b\r\n\tc\r\n'))
rejected(400, '9112 §2.2', 'white space before the first field', `GET /market/insights HTTP/1.1\r\n ${host}\r\n`)
rejected(400, '9110 §5.5', 'NUL in a value', get('A: b\x00c\r\n'))
rejected(400, '9110 §5.5', 'a control character in a value', get('A: b\x01c\r\n'))
rejected(400, '9110 §5.5', 'DEL in a value', get('A: b\x7fc\r\n'))
rejected(400, '9112 §8', 'an end within the head', `GET /market/insights HTTP/1.1\r\n${host}A: b`, { fin: true })

// Host
rejected(400, '9112 §3.2', 'no Host', 'GET /market/insights HTTP/1.1\r\n\r\n', kept)
rejected(400, '9112 §3.2', 'two Hosts', get(host), kept)
rejected(400, '9112 §3.2', 'two different Hosts', get('host: b\r\n'), kept)
for (const value of [
  '',
  'a b',
  'a/b',
  'a,b',
  'u@a',
  'a:b',
  'a:99999',
  '[::1',
  'a\\b',
  'a#b',
  'a?b',
  'http://a',
  'a%',
  '\xe9',
])
  rejected(
    400,
    '9112 §3.2',
    `Host: ${JSON.stringify(value)}`,
    `GET /market/insights HTTP/1.1\r\nHost: ${value}\r\n\r\n`,
    kept,
  )
for (const value of ['a', 'A.example:8080', '[::1]:80', '127.0.0.1', 'a:', 'a_b', 'a%20b'])
  served('9112 §3.2', `Host: ${JSON.stringify(value)}`, `GET /market/insights HTTP/1.1\r\nHost: ${value}\r\n\r\n`)
rejected(
  400,
  '9112 §3.2',
  'no Host with a target in absolute-form',
  'GET http://a/market/insights HTTP/1.1\r\n\r\n',
  kept,
)
served('9112 §3.2.2', 'a target in absolute-form', get('', 'http://b/market/insights'))

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

describeTests(`of ${rows.length} ways to frame a request`, () => {
  test('there are at least 80', () => expect(rows.length).toBeGreaterThanOrEqual(80))

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

describeTests('responses', () => {
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
    const body = Buffer.alloc(16 * 1024 * 1024, 'x')
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
    for (let i = 0; i < 50; i++) {
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
  testAndDrill.each(
    part(
      [
        ['404', post('Content-Length: 4194304\r\n', '', 'HTTP/1.1', '/x')],
        ['405', post('Transfer-Encoding: chunked\r\n', '400000\r\n', 'HTTP/1.1', '/market/insights')],
        ['413', sized('99999999', '')],
        ['431', 'GET / HTTP/1.1\r\nA: '],
        ['414', 'GET /'],
        ['400', 'NONSENSE '],
        ['405', `CONNECT a:80 HTTP/1.1\r\n${host}\r\n`],
      ],
      2,
    ),
  )('%s, 20 of 20', async (status, head) => {
    const responses: string[] = []
    for (let i = 0; i < 20; i++) responses.push(await readResponse(head))

    expect(responses).toEqual(Array(20).fill(`HTTP/1.1 ${status}, all sent`))
  })
})

describeTests('a client that is too slow', () => {
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

  test.each([
    ['a small body', sized('5', 'hel')],
    ['a large body', sized('100000', 'hel')],
    ['a chunk', chunked('5\r\nhel')],
    ['a chunk of 2^52 bytes', chunked('10000000000000\r\nhel')],
  ])('with %s gets 408, and nothing is forwarded whole', async (_, bytes) => {
    const before = upstream.requests.length
    const gateway = await bootGateway({ upstream: upstream.url, listen: { timeouts: { body: '200ms' } } })
    const client = await rawClient(gateway.port)
    const begun = performance.now()

    client.send(bytes)
    const { received } = await client.ended()

    const { responses, rest } = parseResponses(received, ['POST'])
    expect(responses[0] && findProblemFault(responses[0], 408)).toBeNull()
    expect(rest).toBe('')
    expect(performance.now() - begun).toBeGreaterThanOrEqual(200)
    expect(upstream.requests.length).toBe(before)
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
