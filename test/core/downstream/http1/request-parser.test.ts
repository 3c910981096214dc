import { describe, expect, test } from 'vitest'
import {
  getRequestLimits,
  type RequestEvents,
  RequestParser,
} from '../../../../src/core/downstream/http1/request-parser.ts'
import { METHODS } from '../../../../src/core/exchange/node-http.ts'
import { collectGarbage } from '../../../helpers/collect-garbage.ts'
import {
  type ParsedConnection,
  type ParsedRequestMessage,
  runRequestParser,
} from '../../../helpers/run-request-parser.ts'

const limits = { maxTargetBytes: 100, maxBytes: 400, maxFields: Number.POSITIVE_INFINITY }

// Strings are latin1, a byte a character.
const read = (text: string, cuts?: readonly number[]): ParsedConnection =>
  runRequestParser(Buffer.from(text, 'latin1'), cuts, limits)

const everyByte = (text: string): number[] => Array.from(text, (_, at) => at)

const get = (lines: string, version = '1.1'): string => `GET / HTTP/${version}\r\n${lines}\r\n`
const ofLength = (body: string): string => `POST /a HTTP/1.1\r\nContent-Length: ${body.length}\r\n\r\n${body}`
const chunked = 'Transfer-Encoding: chunked\r\n'
const inChunks = (body: string): string => `POST / HTTP/1.1\r\n${chunked}\r\n${body}`

type Request = Partial<ParsedRequestMessage>

const anyTarget = '!"#$%&\'()*+,-./09:;<=>?@AZ[\\]^_`az{|}~'
const two = { length: 2, body: 'ok', complete: true }
const whole = { body: 'ok', complete: true }
const plain = { method: 'GET', target: '/a?b=c', version: '1.1', fields: [], length: 0, body: '', complete: true }

// The rule, bytes that follow it, and the parsed result.
const accepted: readonly (readonly [rule: string, bytes: string, ...requests: Request[]])[] = [
  ['a request line has a method, a target and a version (RFC 9112 §3)', 'GET /a?b=c HTTP/1.1\r\n\r\n', plain],
  ['a target may be absolute (RFC 9112 §3.2.2)', 'GET http://a:80/b HTTP/1.1\r\n\r\n', { target: 'http://a:80/b' }],
  ['a target may be an authority (RFC 9112 §3.2.3)', 'CONNECT a:443 HTTP/1.1\r\n\r\n', { target: 'a:443' }],
  ['a target may be a star (RFC 9112 §3.2.4)', 'OPTIONS * HTTP/1.1\r\n\r\n', { target: '*' }],
  ['a target is handed on byte for byte', `GET ${anyTarget} HTTP/1.1\r\n\r\n`, { target: anyTarget }],
  ...METHODS.map((method) => [`${method} is a method`, `${method} / HTTP/1.1\r\n\r\n`, { method }] as const),
  ['empty lines in front are left out (RFC 9112 §2.2)', `\r\n\r\n${get('')}\r\n${get('')}\r\n`, {}, { method: 'GET' }],
  [
    'fields are as they were received: names, order, repetitions, bytes above 0x7f, blanks inside (RFC 9110 §5)',
    get('B: 1\r\na:\t2 \t\r\nB:\r\nC: \t \r\nX-Y_z!: \xe9 \t "q"\r\n'),
    { fields: ['B', '1', 'a', '2', 'B', '', 'C', '', 'X-Y_z!', '\xe9 \t "q"'] },
  ],
  ...[["!#$%&'*+-.^_`|~09AZaz", 'b'] as const, ['a', ':b:c'] as const].map(
    (fields) => [`${fields} are a name and a value (RFC 9110 §5)`, get(`${fields.join(':')}\r\n`), { fields }] as const,
  ),
  [
    'fields of the connection and of the framing are handed on too',
    `POST / HTTP/1.1\r\nConnection: a\r\nA: b\r\n${chunked}\r\n0\r\n\r\n`,
    { fields: ['Connection', 'a', 'A', 'b', 'Transfer-Encoding', 'chunked'] },
  ],

  ['a body is as long as its length says (RFC 9112 §6.2)', ofLength('ok'), two],
  ['a body of length 0 is none', ofLength(''), { length: 0, body: '', complete: true }],
  ['a request without a length has no body (RFC 9112 §6.3)', `POST / HTTP/1.1\r\n\r\n`, { length: 0, complete: true }],
  ['a length may have zeros in front', `${get('Content-Length: 0002\r\n')}ok`, two],
  ['blanks may stand around a length (RFC 9112 §5.1)', `${get('A: \t 2 \t\r\ncontent-length: \t 2 \t\r\n')}ok`, two],
  [
    'a length may be 2^53 - 1',
    get('Content-Length: 9007199254740991\r\n'),
    { fields: ['Content-Length', '9007199254740991'], length: Number.MAX_SAFE_INTEGER, complete: false },
  ],
  ['a body may look like a request', ofLength(get('')), { body: get('') }],
  ['a body is not complete before its last byte', ofLength('ok').slice(0, -1), { body: 'o', complete: false }],

  ['a body may be in chunks (RFC 9112 §7.1)', inChunks('1\r\no\r\n1\r\nk\r\n0\r\n\r\n'), { length: null, ...whole }],
  [
    'the lines of many chunks may have more than 16 KiB together',
    inChunks(`${'1\r\na\r\n'.repeat(4000)}0\r\n\r\n`),
    { body: 'a'.repeat(4000), complete: true },
  ],
  ['chunks may be none', inChunks('0\r\n\r\n'), { body: '', complete: true }],
  [
    'a coding may be in other letters, with blanks around it (RFC 9112 §7)',
    'POST / HTTP/1.1\r\ntransfer-encoding: \t cHunKed \t\r\n\r\n2\r\nok\r\n0\r\n\r\n',
    whole,
  ],
  [
    'a size is in hexadecimal, in either case, with zeros in front (RFC 9112 §7.1)',
    inChunks('001\r\na\r\n00a\r\nbbbbbbbbbb\r\nA\r\ncccccccccc\r\n000\r\n\r\n'),
    { body: 'abbbbbbbbbbcccccccccc', complete: true },
  ],
  ['a size may be 2^53 - 1', inChunks('1fffffffffffff\r\nok'), { body: 'ok', complete: false }],
  ['a chunk may have the bytes of a line end', inChunks('6\r\n\r\n0\r\n\r\r\n0\r\n\r\n'), { body: '\r\n0\r\n\r' }],
  [
    'extensions of a chunk are left out (RFC 9112 §7.1.1)',
    inChunks('2;a="\\"\t;\\\\\xe9";b;c=d\r\nok\r\n0;e\r\n\r\n'),
    whole,
  ],
  [
    'trailers are left out (RFC 9112 §7.1.2)',
    inChunks('2\r\nok\r\n0\r\nA: b\r\nConnection: close\r\n\r\n'),
    { fields: ['Transfer-Encoding', 'chunked'], ...whole, isPersistent: true },
  ],
  ['chunks end behind the trailers, not before', inChunks('0\r\nA: b\r\n'), { complete: false }],
  [
    'another coding below the chunks is framed as they are, for a 501 (RFC 9112 §6.1)',
    'POST / HTTP/1.1\r\nTransfer-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0\r\n\r\n',
    { length: null, body: 'x', complete: true },
  ],

  [
    'requests may come one behind the other (RFC 9112 §9.3.2)',
    ofLength('ok') + inChunks('1\r\n!\r\n0\r\nA: b\r\n\r\n') + get('') + ofLength('x'),
    { target: '/a', ...two },
    { target: '/', length: null, body: '!', complete: true },
    { method: 'GET', length: 0, body: '' },
    { target: '/a', body: 'x', complete: true },
  ],
  [
    'what one request says of its connection or body is not said of the next',
    get('Connection: close\r\nContent-Length: 0\r\n') + get(''),
    { isPersistent: false },
    { fields: [], length: 0, isPersistent: true },
  ],
]

const persistent: readonly (readonly [version: string, lines: string, isPersistent: boolean])[] = [
  ['1.1', '', true],
  ['1.1', 'Connection: close\r\n', false],
  ['1.1', 'Connection: a,\tCLOSE \r\n', false],
  ['1.1', 'Connection: a\r\nconnection: close\r\n', false],
  ['1.1', 'Connection: close\r\nConnection: a\r\n', false],
  ['1.1', 'Connection: closed, not-close\r\n', true],
  ['1.1', 'Connection:\r\n', true],
  ['1.1', 'Proxy-Connection: close\r\n', true],
  ['1.0', '', false],
  ['1.0', 'Connection: Keep-Alive\r\n', true],
  ['1.0', 'Connection: a, keep-alive\r\n', true],
  ['1.0', 'Connection: keep-alive, close\r\n', false],
  ['1.0', 'Connection: keep-alive\r\nConnection: close\r\n', false],
  ['1.0', 'Connection: not-keep-alive\r\n', false],
  ['1.0', 'Proxy-Connection: keep-alive\r\n', false],
]

/** Rows of one rule, for each of some values. */
const each = (values: readonly string[], rule: string, bytes: (value: string) => string, reason: string) =>
  values.map((value) => [`${JSON.stringify(value.slice(0, 20))} ${rule}`, bytes(value), reason] as const)

const line = 'GET / HTTP/1.1\r\n'

// Each is rejected at its last byte, with the reason of a 400 or with a kind.
const rejected: readonly (readonly [rule: string, bytes: string, reasonOrKind: string])[] = [
  ...each(
    ['g', 'X', '\x16', '\0', ' ', '\xe9', '"', 'GX', 'PRI', 'HT', 'SET', 'POSTS', 'M-SEARCHX', 'GE ', 'GET\t', 'GET\r'],
    'is no method with a blank behind it (RFC 9112 §3, §3.1)',
    (start) => start,
    'bad-method',
  ),
  ['a target is not empty (RFC 9112 §3.2)', 'GET  ', 'bad-target'],
  ...each(
    ['\t', '\n', '\0', '\x1f', '\x7f', '\x80', '\xff'],
    'stands in no target (RFC 3986 §2)',
    (byte) => `GET /${byte}`,
    'bad-target',
  ),
  ['HTTP/0.9 is not spoken: a request line has a version (RFC 9112 §3)', 'GET /\r', 'unsupported-version'],
  ...each(
    [
      ...[' ', '\r', 'h', 'R', 'HTTPS', 'HTTP ', 'HTTP/x', 'HTTP/-', 'HTTP/11', 'HTTP/1,', 'HTTP/1.x', 'HTTP/1.\r'],
      'HTTP/\xb9',
    ],
    'begins no version (RFC 9112 §2.3)',
    (version) => `GET / ${version}`,
    'bad-version',
  ),
  ...each([' ', '\t', '0', ';', '\0'], 'follows no version', (byte) => `GET / HTTP/1.1${byte}`, 'bad-version'),
  ...each(
    ['0.9', '1.2', '2.0', '0.0'],
    'is a version that is not spoken (RFC 9110 §15.6.6)',
    (version) => `GET / HTTP/${version}\r`,
    'unsupported-version',
  ),

  ['a bare CR in front of a request is no empty line (RFC 9112 §2.2)', '\rG', 'bad-line-end'],
  ...each(['\n', `${get('')}\n`, '\r\n '], 'is no empty line in front', (text) => text, 'bad-method'),
  ...each(
    ['GET / HTTP/1.1\n', 'GET / HTTP/1.1\rA', 'GET / HTTP/1.1\r\r', `${line}A: b\rc`, `${line}A: b\r\n\rc`],
    'ends no line (RFC 9112 §2.2)',
    (text) => text,
    'bad-line-end',
  ),
  ...each(
    // A bare LF, a blank behind the request line, a fold, a blank before the colon, no name and no colon.
    ['A: b\n', 'A:\n', 'A: b\r\n\n', ' ', 'A: b\r\n ', 'A: b\r\n\t', 'A ', 'Content-Length\t', ':', 'A\r'],
    'is no field (RFC 9112 §2.2, §5.1, §5.2)',
    (text) => line + text,
    'bad-field',
  ),
  ...each(
    ['(', '"', '/', ',', ';', '@', '[', '{', '\\', '\0', '\x7f', '\x80', '\xe9'],
    'stands in no field name (RFC 9110 §5.6.2)',
    (byte) => `${line}A${byte}`,
    'bad-field',
  ),
  ...each(
    ['\0', '\x01', '\x08', '\x0b', '\x0c', '\x1f', '\x7f'],
    'stands in no value (RFC 9110 §5.5)',
    (byte) => `${line}A: b${byte}`,
    'bad-field',
  ),

  ...each(
    ['', '-2', '+2', '0x2', '2.0', '2e0', '2 2', '2,2', '2, 2', '9007199254740992', '1'.repeat(100), '\xb2'],
    'is no length (RFC 9110 §8.6)',
    (length) => get(`Content-Length: ${length}\r\n`),
    'bad-length',
  ),
  ['no two lengths differ (RFC 9112 §6.3)', get('Content-Length: 2\r\nContent-Length: 3\r\n'), 'bad-length'],
  ['no length is said twice', get('Content-Length: 2\r\ncontent-length: 2\r\n'), 'bad-length'],
  ['no length stands before chunks (RFC 9112 §6.1)', get(`Content-Length: 2\r\n${chunked}`), 'bad-transfer-coding'],
  ['no length stands behind chunks (RFC 9112 §6.1)', get(`${chunked}Content-Length: 2\r\n`), 'bad-transfer-coding'],
  ['a length beside chunks has to be a length too', get(`${chunked}Content-Length: x\r\n`), 'bad-length'],
  ...each(
    ['', ',', 'gzip', 'chunked, gzip', 'chunked, chunked', 'chunked;a=b', 'xchunked', ',chunked', '"chunked"'],
    'is no coding by which a body ends (RFC 9112 §6.3)',
    (coding) => get(`Transfer-Encoding: ${coding}\r\n`),
    'bad-transfer-coding',
  ),
  ['a body is not chunked twice (RFC 9112 §6.1)', get(chunked + chunked), 'bad-transfer-coding'],
  ['HTTP/1.0 has no codings (RFC 9112 §6.1)', get(chunked, '1.0'), 'bad-transfer-coding'],

  ...each(
    ['\r', '\n', ';', ' ', '-', 'x', 'g', '@', '`', ':', '/', '_', '1 ', '1\t', '1_', '1\n', '1\r1', '20000000000000'],
    'begins no chunk (RFC 9112 §7.1)',
    inChunks,
    'bad-chunk',
  ),
  ...each(
    ['; ', ';\r', ';;', ';=', ';a ', ';a=\r', ';a= ', ';a="\r', ';a="\\\x01', ';a="b"c', ';a=b"', ';a\0', ';a="\n'],
    'is no extension of a chunk (RFC 9112 §7.1.1)',
    (extension) => inChunks(`1${extension}`),
    'bad-chunk',
  ),
  ['a line of a chunk has no more than 16 KiB', inChunks(`1;${'a'.repeat(16 * 1024 - 1)}`), 'bad-chunk'],
  ['zeros in front of a size come to an end', inChunks('0'.repeat(16 * 1024 + 1)), 'bad-chunk'],
  ...each(['1\r\nok', '3\r\nok\r\n', '1\r\no\n', '1\r\no\r1'], 'has another size or end', inChunks, 'bad-chunk'),
  ...each(
    // A bare LF, a fold, a bare LF, and no framing (RFC 9110 §6.5.1).
    ['\n', 'A: b\r\n ', 'A: b\n', 'content-length: 2\r\n\r\n', `${chunked}\r\n`],
    'is no trailer (RFC 9112 §2.2, §5.2)',
    (text) => inChunks(`0\r\n${text}`),
    'bad-field',
  ),
  ['a bare CR ends no trailer', inChunks('0\r\nA: b\rc'), 'bad-line-end'],
  ['trailers have no more bytes than a head', inChunks(`0\r\n${'a'.repeat(400)}`), 'header-too-large'],
  ['behind a body comes a request and nothing else', `${ofLength('ok')}!`, 'bad-method'],

  ['a target is no longer than its limit (RFC 9112 §3)', `GET /${'a'.repeat(395)}`, 'uri-too-long'],
  ['a target over it is told from fields', `GET /${'a'.repeat(100)} HTTP/1.1\r\n`.padEnd(400, 'a'), 'uri-too-long'],
  ...each(
    [`GET /${'a'.repeat(99)} HTTP/1.1\r\n`.padEnd(400, 'a'), `${line}a:`.padEnd(400, ' '), line.padEnd(400, 'a:b\r\n')],
    'is no longer than its limit (RFC 9110 §5.4)',
    (head) => head,
    'header-too-large',
  ),
]

describe('a request parser', () => {
  const rows = accepted.map(([rule, bytes, ...requests]) => [rule, bytes, requests] as const)
  test.each(rows)('%s', (_, bytes, requests) => {
    expect(read(bytes)).toMatchObject({ requests, rejected: null })
    expect(read(bytes).requests).toHaveLength(requests.length)
  })

  test.each(persistent)('HTTP/%s with %j persists: %j (RFC 9112 §9.3)', (version, lines, isPersistent) => {
    expect(read(get(lines, version))).toMatchObject({ requests: [{ version, isPersistent }], rejected: null })
  })

  test.each(rejected)('%s', (_, bytes, reasonOrKind) => {
    const { rejected } = read(bytes)

    expect(read(bytes.slice(0, -1)).rejected).toBeNull()
    expect(rejected?.kind === 'bad-request' ? rejected.reason : rejected?.kind).toBe(reasonOrKind)
  })

  test('a head of exactly the limit is read', () => {
    const head = `${'GET / HTTP/1.1\r\na:'.padEnd(396, 'b')}\r\n\r\n`

    expect(head).toHaveLength(400)
    expect(read(head + head)).toMatchObject({ requests: [{}, {}], rejected: null })
  })

  test('the limit is of each head, not of bodies', () => {
    const body = 'a'.repeat(1000)

    const { requests, rejected } = read(ofLength(body) + inChunks(`3e8\r\n${body}\r\n0\r\n\r\n`) + get(''))

    expect([requests.map((each) => each.body), rejected]).toEqual([[body, body, ''], null])
  })
})

test.each([
  ...accepted.filter(([rule]) => !rule.endsWith(' is a method')).map(([rule, bytes]) => [rule, bytes, true] as const),
  ...persistent.map(
    ([version, lines]) => [`HTTP/${version} with ${JSON.stringify(lines)}`, get(lines, version), false] as const,
  ),
  ...rejected.map(([rule, bytes]) => [rule, bytes, false] as const),
])('bytes that come in parts are read like bytes that come at once: %s', (_, bytes, isCutEverywhere) => {
  const whole = JSON.stringify(read(bytes))

  expect(JSON.stringify(read(bytes, everyByte(bytes)))).toBe(whole)
  // Of what is long, its end.
  const from = isCutEverywhere ? Math.max(0, bytes.length - 100) : bytes.length - 1
  for (let cut = from; cut < bytes.length; cut++) expect(JSON.stringify(read(bytes, [cut]))).toBe(whole)
})

describe('a request parser tells', () => {
  test.each([
    ['', false, false, null],
    ['\r\n', false, false, null],
    ['\r', false, false, null],
    ['G', true, true, null],
    ['HEAD ', true, true, 'HEAD'],
    ['HEAD / HTTP/1.1\r\nA: b\r\n', true, true, 'HEAD'],
    [ofLength('ok').slice(0, -1), true, false, null],
    [inChunks('2\r\nok'), true, false, null],
    [inChunks('2\r\nok\r\n0\r\nA: b\r\n'), true, false, null],
    [ofLength('ok'), false, false, null],
    [`${ofLength('ok')}\r\nG`, true, true, null],
  ] as const)('behind %j: in a request %j, in a head %j, whose method is %j', (text, isInRequest, isInHead, method) => {
    const parser = new RequestParser(silent, () => limits)

    parser.read(Buffer.from(text))

    expect(parser).toMatchObject({ isInRequest, isInHead, method, isStopped: false })
  })
})

const silent: RequestEvents = { head: () => {}, body: () => {}, end: () => {} }

// One request that gets a 431, and its connection then idle for 75 s: `listen.maxConnections` of them.
test('a parser keeps nothing of a head with very many fields once the head is read', () => {
  const used = (): number => {
    for (let i = 0; i < 2; i++) collectGarbage() // the memory of buffers is counted down by the next one
    const { heapUsed, arrayBuffers } = process.memoryUsage()
    return heapUsed + arrayBuffers
  }
  const usual = getRequestLimits({ maxTarget: 8 * 1024, maxHeaders: 32 * 1024 })
  const head = Buffer.from(get('a:\r\n'.repeat(10_000)))
  const before = used()

  const parsers = Array.from({ length: 50 }, () => new RequestParser(silent, () => usual))
  for (const parser of parsers) {
    parser.read(head.subarray(0, -1))
    parser.read(head.subarray(-1))
  }

  expect((used() - before) / parsers.length).toBeLessThan(32 * 1024) // its offsets alone would be 320 KB
  expect(parsers.map(({ isInRequest }) => isInRequest)).not.toContain(true)
})

describe('an event', () => {
  const record = (on: keyof RequestEvents | null, act: (parser: RequestParser) => void = () => {}) => {
    const events: string[] = []
    const note = (name: keyof RequestEvents, what = ''): void => {
      events.push(name + what)
      if (name === on) act(parser)
    }
    const parser = new RequestParser(
      {
        head: () => note('head'),
        body: (bytes, from, to) => note('body', ` ${bytes.toString('latin1', from, to)}`),
        end: () => note('end'),
      },
      () => limits,
    )
    return { parser, events }
  }

  test.each([
    ['head', ofLength('ok'), ['head']],
    ['head', inChunks('1\r\no\r\n0\r\n\r\n'), ['head']],
    ['body', inChunks('1\r\no\r\n0\r\n\r\n'), ['head', 'body o']],
    ['end', ofLength('ok'), ['head', 'body ok', 'end']],
    ['end', inChunks('1\r\no\r\n0\r\n\r\n'), ['head', 'body o', 'end']],
  ] as const)('(%s) that stops the parser is the last one: no further byte is read', (on, text, expected) => {
    const { parser, events } = record(on, () => parser.stop())

    parser.read(Buffer.from(text + text))
    parser.read(Buffer.from('no request'))

    expect(events).toEqual(expected)
    expect(parser).toMatchObject({ isStopped: true, isInRequest: false, isInHead: false })
  })

  test('a body event has the bytes of one read, with small chunks of that read joined', () => {
    const { parser, events } = record(null)

    parser.read(Buffer.from(inChunks('1\r\na\r\n2\r\nbc\r\n4\r\nd')))
    parser.read(Buffer.from('ef'))
    parser.read(Buffer.from('g\r\n0\r\n\r\n'))

    expect(events).toEqual(['head', 'body abcd', 'body ef', 'body g', 'end'])
  })

  test('the end event follows a body; a request without a body has none', () => {
    const { parser, events } = record(null)

    parser.read(Buffer.from(get('') + ofLength('ok') + ofLength('')))

    expect(events).toEqual(['head', 'head', 'body ok', 'end', 'head'])
  })
})
