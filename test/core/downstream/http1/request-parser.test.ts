import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { describe, expect, test } from 'vitest'
import {
  getRequestLimits,
  type RequestEvents,
  RequestParser,
} from '../../../../src/core/downstream/http1/request-parser.ts'
import { METHODS } from '../../../../src/core/exchange/node-http.ts'
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

// The rule, bytes that follow it, and what is read of them.
const accepted: readonly (readonly [rule: string, bytes: string, ...requests: Request[]])[] = [
  [
    'a request line has a method, a target and a version (RFC 9112 §3)',
    'GET /a?b=c HTTP/1.1\r\n\r\n',
    { method: 'GET', target: '/a?b=c', version: '1.1', fields: [], length: 0, body: '', complete: true },
  ],
  ['a target may be absolute (RFC 9112 §3.2.2)', 'GET http://a:80/b HTTP/1.1\r\n\r\n', { target: 'http://a:80/b' }],
  ['a target may be an authority (RFC 9112 §3.2.3)', 'CONNECT a:443 HTTP/1.1\r\n\r\n', { target: 'a:443' }],
  ['a target may be a star (RFC 9112 §3.2.4)', 'OPTIONS * HTTP/1.1\r\n\r\n', { target: '*' }],
  [
    'a target is handed on byte for byte: its forms are told apart later',
    'GET !"#$%&\'()*+,-./09:;<=>?@AZ[\\]^_`az{|}~ HTTP/1.1\r\n\r\n',
    { target: '!"#$%&\'()*+,-./09:;<=>?@AZ[\\]^_`az{|}~' },
  ],
  ...METHODS.map((method) => [`${method} is a method`, `${method} / HTTP/1.1\r\n\r\n`, { method }] as const),
  [
    'empty lines in front are left out (RFC 9112 §2.2)',
    `\r\n\r\n${get('')}\r\n${get('')}\r\n`,
    { method: 'GET' },
    { method: 'GET' },
  ],
  [
    'fields are as they were received: names, order, repetitions, bytes above 0x7f, blanks inside (RFC 9110 §5)',
    get('B: 1\r\na:\t2 \t\r\nB:\r\nC: \t \r\nX-Y_z!: \xe9 \t "q"\r\n'),
    { fields: ['B', '1', 'a', '2', 'B', '', 'C', '', 'X-Y_z!', '\xe9 \t "q"'] },
  ],
  [
    'a field name is a token (RFC 9110 §5.6.2)',
    get("!#$%&'*+-.^_`|~09AZaz: b\r\n"),
    { fields: ["!#$%&'*+-.^_`|~09AZaz", 'b'] },
  ],
  ['a value may have a colon', get('a::b:c\r\n'), { fields: ['a', ':b:c'] }],
  [
    'fields of the connection and of the framing are handed on too',
    'POST / HTTP/1.1\r\nConnection: a\r\nA: b\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n',
    { fields: ['Connection', 'a', 'A', 'b', 'Transfer-Encoding', 'chunked'] },
  ],

  ['a body is as long as its length says (RFC 9112 §6.2)', ofLength('ok'), { length: 2, body: 'ok', complete: true }],
  ['a body of length 0 is none', ofLength(''), { length: 0, body: '', complete: true }],
  ['a request without a length has no body (RFC 9112 §6.3)', `POST / HTTP/1.1\r\n\r\n`, { length: 0, complete: true }],
  ['a length may have zeros in front', 'POST / HTTP/1.1\r\nContent-Length: 0002\r\n\r\nok', { length: 2, body: 'ok' }],
  [
    'blanks may stand around a length (RFC 9112 §5.1)',
    `${get('Content-Length: \t 2 \t\r\n')}ok`,
    { fields: ['Content-Length', '2'], body: 'ok' },
  ],
  [
    'a length may be 2^53 - 1',
    get('Content-Length: 9007199254740991\r\n'),
    { length: Number.MAX_SAFE_INTEGER, complete: false },
  ],
  ['a GET may have a body (RFC 9110 §9.3.1)', `${get('content-length: 2\r\n')}ok`, { body: 'ok', complete: true }],
  ['a body may look like a request', ofLength(get('')), { body: get('') }],
  ['a body is not complete before its last byte', ofLength('ok').slice(0, -1), { body: 'o', complete: false }],

  [
    'a body may be in chunks (RFC 9112 §7.1)',
    inChunks('2\r\nok\r\n1\r\n!\r\n0\r\n\r\n'),
    { length: null, body: 'ok!', complete: true },
  ],
  [
    'the lines of many chunks may have more than 16 KiB together',
    inChunks(`${'1\r\na\r\n'.repeat(4000)}0\r\n\r\n`),
    { body: 'a'.repeat(4000), complete: true },
  ],
  ['chunks may be none', inChunks('0\r\n\r\n'), { body: '', complete: true }],
  [
    'a coding may be in other letters, with blanks around it (RFC 9112 §7)',
    'POST / HTTP/1.1\r\ntransfer-encoding: \t cHunKed \t\r\n\r\n2\r\nok\r\n0\r\n\r\n',
    { body: 'ok', complete: true },
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
    { body: 'ok', complete: true },
  ],
  [
    'trailers are left out (RFC 9112 §7.1.2)',
    inChunks('2\r\nok\r\n0\r\nA: b\r\nConnection: close\r\n\r\n'),
    { fields: ['Transfer-Encoding', 'chunked'], body: 'ok', complete: true, isPersistent: true },
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
    { target: '/a', body: 'ok', complete: true },
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

// Each is rejected at its last byte: the parser waits for nothing more. As the reason of a 400, or as a kind.
const rejected: readonly (readonly [rule: string, bytes: string, reasonOrKind: string])[] = [
  ...each(
    ['g', 'X', '\x16', '\0', ' ', '\xe9', '"', 'GX', 'PRI', 'HT', 'SET', 'POSTS', 'M-SEARCHX'],
    'begins no method (RFC 9112 §3.1)',
    (start) => start,
    'bad-method',
  ),
  ['a method is not cut short', 'GE ', 'bad-method'],
  ['a method ends with a blank (RFC 9112 §3)', 'GET\t', 'bad-method'],
  ['a method ends with a blank, and no line does there', 'GET\r', 'bad-method'],
  ['a target is not empty (RFC 9112 §3.2)', 'GET  ', 'bad-target'],
  ...each(
    ['\t', '\n', '\0', '\x1f', '\x7f', '\x80', '\xff'],
    'stands in no target (RFC 3986 §2)',
    (byte) => `GET /${byte}`,
    'bad-target',
  ),
  ['HTTP/0.9 is not spoken: a request line has a version (RFC 9112 §3)', 'GET /\r', 'unsupported-version'],
  ['one blank stands before the version (RFC 9112 §3)', 'GET /  ', 'bad-version'],
  ['a version does not end at the target', 'GET / \r', 'bad-version'],
  ...each(
    ['h', 'R', 'HTTPS', 'HTTP ', 'HTTP/x', 'HTTP/-', 'HTTP/11', 'HTTP/1,', 'HTTP/1.x', 'HTTP/1.\r', 'HTTP/\xb9'],
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
  ['a bare LF in front of a request is no empty line (RFC 9112 §2.2)', '\n', 'bad-method'],
  ['a bare LF in front of a second request is no empty line', `${get('')}\n`, 'bad-method'],
  ['blanks in front of a request are none of it', '\r\n ', 'bad-method'],
  ['a bare LF ends no request line (RFC 9112 §2.2)', 'GET / HTTP/1.1\n', 'bad-line-end'],
  ['a bare CR ends no request line (RFC 9112 §2.2)', 'GET / HTTP/1.1\rA', 'bad-line-end'],
  ['two CRs end no request line', 'GET / HTTP/1.1\r\r', 'bad-line-end'],
  ['a bare LF ends no field (RFC 9112 §2.2)', 'GET / HTTP/1.1\r\nA: b\n', 'bad-field'],
  ['a bare CR ends no field (RFC 9112 §2.2)', 'GET / HTTP/1.1\r\nA: b\rc', 'bad-line-end'],
  ['a bare LF ends no field without a value', 'GET / HTTP/1.1\r\nA:\n', 'bad-field'],
  ['a bare LF ends no head (RFC 9112 §2.2)', 'GET / HTTP/1.1\r\nA: b\r\n\n', 'bad-field'],
  ['a bare CR ends no head (RFC 9112 §2.2)', 'GET / HTTP/1.1\r\nA: b\r\n\rc', 'bad-line-end'],
  ['no blank stands behind the request line (RFC 9112 §2.2)', 'GET / HTTP/1.1\r\n ', 'bad-field'],
  ['a line is not folded with a blank (RFC 9112 §5.2)', 'GET / HTTP/1.1\r\nA: b\r\n ', 'bad-field'],
  ['a line is not folded with a tab (RFC 9112 §5.2)', 'GET / HTTP/1.1\r\nA: b\r\n\t', 'bad-field'],
  ['no blank stands before the colon (RFC 9112 §5.1)', 'GET / HTTP/1.1\r\nA ', 'bad-field'],
  ['no tab stands before the colon (RFC 9112 §5.1)', 'GET / HTTP/1.1\r\nContent-Length\t', 'bad-field'],
  ['a field has a name', 'GET / HTTP/1.1\r\n:', 'bad-field'],
  ['a field has a colon', 'GET / HTTP/1.1\r\nA\r', 'bad-field'],
  ...each(
    ['(', '"', '/', ',', ';', '@', '[', '{', '\\', '\0', '\x7f', '\x80', '\xe9'],
    'stands in no field name (RFC 9110 §5.6.2)',
    (byte) => `GET / HTTP/1.1\r\nA${byte}`,
    'bad-field',
  ),
  ...each(
    ['\0', '\x01', '\x08', '\x0b', '\x0c', '\x1f', '\x7f'],
    'stands in no value (RFC 9110 §5.5)',
    (byte) => `GET / HTTP/1.1\r\nA: b${byte}`,
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
  ['a chunk is not longer than its size', inChunks('1\r\nok'), 'bad-chunk'],
  ['a chunk is not shorter than its size', inChunks('3\r\nok\r\n'), 'bad-chunk'],
  ['a bare LF ends no chunk', inChunks('1\r\no\n'), 'bad-chunk'],
  ['a bare CR ends no chunk', inChunks('1\r\no\r1'), 'bad-chunk'],
  ['a bare LF does not end the chunks', inChunks('0\r\n\n'), 'bad-field'],
  ['a trailer is not folded (RFC 9112 §5.2)', inChunks('0\r\nA: b\r\n '), 'bad-field'],
  ['a bare LF ends no trailer', inChunks('0\r\nA: b\n'), 'bad-field'],
  ['a bare CR ends no trailer', inChunks('0\r\nA: b\rc'), 'bad-line-end'],
  ['no length stands among the trailers (RFC 9110 §6.5.1)', inChunks('0\r\ncontent-length: 2\r\n\r\n'), 'bad-field'],
  ['no coding stands among the trailers (RFC 9110 §6.5.1)', inChunks(`0\r\n${chunked}\r\n`), 'bad-field'],
  ['trailers have no more bytes than a head', inChunks(`0\r\n${'a'.repeat(400)}`), 'header-too-large'],
  ['behind a body comes a request and nothing else', `${ofLength('ok')}!`, 'bad-method'],

  ['a target is no longer than its limit (RFC 9112 §3)', `GET /${'a'.repeat(395)}`, 'uri-too-long'],
  [
    'a target over its limit is told from fields',
    `GET /${'a'.repeat(100)} HTTP/1.1\r\n`.padEnd(400, 'a'),
    'uri-too-long',
  ],
  [
    'a head is no longer than its limit (RFC 9110 §5.4)',
    `GET /${'a'.repeat(99)} HTTP/1.1\r\n`.padEnd(400, 'a'),
    'header-too-large',
  ],
  ['a value comes to an end', 'GET / HTTP/1.1\r\na:'.padEnd(400, ' '), 'header-too-large'],
  [
    'small fields are too large together',
    `GET / HTTP/1.1\r\n${'a:b\r\n'.repeat(100)}`.slice(0, 400),
    'header-too-large',
  ],
]

describe('a request parser', () => {
  test.each(accepted.map(([rule, bytes, ...requests]) => [rule, bytes, requests] as const))(
    '%s',
    (_, bytes, requests) => {
      expect(read(bytes)).toMatchObject({ requests, rejected: null })
      expect(read(bytes).requests).toHaveLength(requests.length)
    },
  )

  test.each(persistent)('HTTP/%s with %j persists: %j (RFC 9112 §9.3)', (version, lines, isPersistent) => {
    expect(read(get(lines, version))).toMatchObject({ requests: [{ version, isPersistent }], rejected: null })
  })

  test.each(rejected)('%s', (_, bytes, reasonOrKind) => {
    const { rejected } = read(bytes)

    expect(read(bytes.slice(0, -1)).rejected).toBeNull()
    expect(rejected?.kind === 'bad-request' ? rejected.reason : rejected?.kind).toBe(reasonOrKind)
  })

  test('a head of just the limit is read', () => {
    const head = `${'GET / HTTP/1.1\r\na:'.padEnd(396, 'b')}\r\n\r\n`

    expect(head).toHaveLength(400)
    expect(read(head + head)).toMatchObject({ requests: [{}, {}], rejected: null })
  })

  test('a limit is of each head by itself, not of bodies', () => {
    const body = 'a'.repeat(1000)

    expect(read(`${ofLength(body)}${inChunks(`3e8\r\n${body}\r\n0\r\n\r\n`)}${get('')}`)).toMatchObject({
      requests: [{ body }, { body }, {}],
      rejected: null,
    })
  })
})

test.each([
  ...accepted.filter(([rule]) => !rule.endsWith(' is a method')).map(([rule, bytes]) => [rule, bytes, true] as const),
  ...persistent.map(
    ([version, lines]) => [`HTTP/${version} with ${JSON.stringify(lines)}`, get(lines, version), false] as const,
  ),
  ...rejected.map(([rule, bytes]) => [rule, bytes, false] as const),
])('what comes in parts is read as what comes at once: %s', (_, bytes, isCutEverywhere) => {
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

// One request that gets a 431, and its connection then idle: as many as `listen.maxConnections`, each for 75 s.
test('a parser keeps nothing of a head of very many fields once that has been read', () => {
  setFlagsFromString('--expose-gc')
  const collect = runInNewContext('gc') as () => void
  const used = (): number => {
    for (let i = 0; i < 2; i++) collect() // the memory of buffers is counted down by the next one
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

  test('of a body has the bytes of one read; small chunks of one read are moved together', () => {
    const { parser, events } = record(null)

    parser.read(Buffer.from(inChunks('1\r\na\r\n2\r\nbc\r\n4\r\nd')))
    parser.read(Buffer.from('ef'))
    parser.read(Buffer.from('g\r\n0\r\n\r\n'))

    expect(events).toEqual(['head', 'body abcd', 'body ef', 'body g', 'end'])
  })

  test('of the end comes behind a body; a request without one has none', () => {
    const { parser, events } = record(null)

    parser.read(Buffer.from(get('') + ofLength('ok') + ofLength('')))

    expect(events).toEqual(['head', 'head', 'body ok', 'end', 'head'])
  })
})
