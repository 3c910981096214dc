import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { MalformedResponseError } from '../../../../src/core/upstream/classify-error.ts'
import { type ResponseEvents, ResponseParser } from '../../../../src/core/upstream/http1/response-parser.ts'
import { type ParsedResponse, runResponseParser } from '../../../helpers/run-response-parser.ts'

const read = (text: string, cuts?: readonly number[], options?: { ends: boolean }): ParsedResponse =>
  runResponseParser(Buffer.from(text, 'latin1'), cuts, options)

/** Reads a head and no more, of a response without content unless a field says otherwise. */
const readFields = (lines: string, status = 204): ParsedResponse => read(`HTTP/1.1 ${status} A\r\n${lines}\r\n`)

const head = (lines: string): string => `HTTP/1.1 200 OK\r\n${lines}\r\n`
const ok = `${head('Content-Length: 2\r\n')}ok`
const chunks = (body: string): string => head('Transfer-Encoding: chunked\r\n') + body

describe('a response', () => {
  const named = ['Content-Length', '2']
  test.each<[string, string, Partial<ParsedResponse>]>([
    ['with a length', ok, { status: 200, reason: 'OK', fields: named, body: 'ok', ended: 'yes', reusable: true }],
    [
      'in chunks, behind the trailers',
      chunks('2;a=b;c="d"\r\nok\r\n1\r\n!\r\n0\r\nX: y\r\n\r\n'),
      { body: 'ok!', fields: [], ended: 'yes', reusable: true },
    ],
    ['without either, when the connection ends', `${head('')}ok`, { body: 'ok', ended: 'closed', reusable: false }],
  ])('is whole %s', (_, text, expected) => {
    expect(read(text)).toMatchObject({ rejected: null, ...expected })
  })

  test.each([
    ['its head', 'HTTP/1.1 200 OK\r\nA: b\r\n'],
    ['its body', 'HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nok'],
    ['a chunk', chunks('3\r\nok')],
    ['the last chunk', chunks('2\r\nok\r\n')],
    ['its trailers', chunks('0\r\nA: b\r\n')],
  ])('that ends in %s is cut short', (_, text) => {
    expect(read(text)).toMatchObject({ ended: 'no', rejected: null })
  })
})

describe('the fields that are handed on', () => {
  test.each<[string, string, readonly string[]]>([
    [
      'as they were received: names, order, repetitions, bytes above 0x7f, blanks inside',
      'B: 1\r\na:\t2 \t\r\nB:\r\nX-Y_z!: \xe9 \t "q"\r\n',
      ['B', '1', 'a', '2', 'B', '', 'X-Y_z!', '\xe9 \t "q"'],
    ],
    [
      'those of the end alone',
      'Connection: X-A, close\r\nKeep-Alive: 1\r\nTE: a\r\nUpgrade: b\r\nx-a: 1\r\nX-B: 2\r\nconnection: x-c\r\nX-C: 3\r\n',
      ['X-B', '2'],
    ],
  ])('are %s', (_, lines, fields) => {
    expect(readFields(lines).fields).toEqual(fields)
  })

  test.each(['2 ', '2\t', ' \t 2 \t ', '2'])('have a length (%j) without its blanks', (length) => {
    expect(read(`${head(`Content-Length:${length}\r\n`)}ok`)).toMatchObject({
      ...{ body: 'ok', fields: ['Content-Length', '2'] },
    })
  })
})

describe('an interim response', () => {
  test('is handed on before the final one, one of status 100 too, without a length (RFC 9110 §8.6)', () => {
    const early = 'HTTP/1.1 103 Early Hints\r\nLink: a\r\nContent-Length: 5\r\nConnection: close\r\n\r\n'
    const response = read(`${early}HTTP/1.1 102\r\n\r\nHTTP/1.1 100 Continue\r\nA: b\r\n\r\nHTTP/1.0 100\r\n\r\n${ok}`)

    expect(response.interim.map(String)).toEqual(['103,Link,a', '102,', '100,A,b', '100,'])
    expect(response).toMatchObject({ status: 200, body: 'ok', reusable: true })
  })

  test('of status 101 is rejected: no switch was asked for', () => {
    expect(read(`HTTP/1.1 101 Switching Protocols\r\nUpgrade: a\r\n\r\n`).rejected).toBe('response-status')
  })
})

describe('content that a status does not have', () => {
  test.each([
    [204, '', true],
    [304, '', true],
    [204, 'Content-Length: 2\r\n', false],
    [204, 'Content-Length: 0\r\n', true],
    [304, 'Content-Length: 2\r\n', false],
    [304, 'Transfer-Encoding: chunked\r\n', false],
    [205, '', false],
    [205, 'Content-Length: 0\r\n', true],
    [205, 'Content-Length: 2\r\n', false],
    [205, 'Transfer-Encoding: chunked\r\n', false],
  ])('(%d, %j) is not awaited, and what may come nevertheless is no next response', (status, lines, reusable) => {
    expect(readFields(lines, status)).toMatchObject({ body: '', ended: 'yes', reusable })
  })

  test('of a 205 has the length 0 for the client (RFC 9110 §15.3.6)', () => {
    expect(readFields('A: b\r\nContent-Length: 2\r\n', 205).fields).toEqual(['A', 'b', 'Content-Length', '0'])
  })
})

describe('the connection', () => {
  test.each([
    ['1.1', '', true],
    ['1.9', '', true],
    ['1.1', 'Connection: a,\tCLOSE \r\n', false],
    ['1.1', 'Connection: a\r\nConnection: close\r\n', false],
    ['1.1', 'Connection: closed\r\n', true],
    ['1.0', '', false],
    ['1.0', 'Connection: Keep-Alive\r\n', true],
    ['1.0', 'Connection: keep-alive, close\r\n', false],
  ])('(HTTP/%s, %j) is used again or not (RFC 9112 §9.3)', (version, lines, reusable) => {
    const response = read(`HTTP/${version} 200 OK\r\nContent-Length: 2\r\n${lines}\r\nok`)

    expect(response).toMatchObject({ ended: 'yes', reusable })
  })

  test.each([head('Content-Length: 0\r\n'), chunks('0\r\n\r\n')])(
    'is not used again when bytes stand behind the response, which stands (RFC 9112 §9.2)',
    (text) => {
      expect(read(`${text}x`)).toMatchObject({ status: 200, ended: 'yes', reusable: false, rejected: null })
    },
  )

  test.each([
    ['timeout=5', 5000],
    ['max=100, Timeout=7', 7000],
    ['timeout=0', 0],
    ['max=100', null],
    ['notimeout=4', null],
  ])('rests for as long as Keep-Alive (%s) says', (value, keepAliveMs) => {
    expect(readFields(`Keep-Alive: ${value}\r\n`).keepAliveMs).toBe(keepAliveMs)
  })
})

const each = (reason: string, texts: readonly string[], bytes: (text: string) => string = (text) => text) =>
  texts.map((text) => [JSON.stringify(text.slice(0, 30)), bytes(text), reason] as const)

// Each is rejected at its last byte: the parser waits for nothing more.
const rejected = [
  ...each('not-http', ['\r', 'S', 'h', 'HTTP/2', 'HTTP/0', 'HTTP/1.10', 'HTTP/1.1  ', 'HTTP/1.1\t', 'HTTP/1.1 20 ']),
  ...each('not-http', ['HTTP/1.1 2000', 'HTTP/1.1 -', 'HTTP/1.1 200\t', 'HTTP/1.1 200\n', 'HTTP/1.1 200 OK\n']),
  ...each('not-http', ['HTTP/1.1 200 OK\rA', 'HTTP/1.1 200 O\0']),
  ...each('response-status', ['HTTP/1.1 099']),
  ['a line without an end', `HTTP/1.1 200 OK\r\nA: ${'a'.repeat(64 * 1024 - 20)}`, 'response-fields-too-large'],
  ['more than 10,100 fields', `HTTP/1.1 200 OK\r\n${'A: b\r\n'.repeat(10_100)}A`, 'response-fields-too-large'],
  ['a trailer without an end', chunks(`0\r\n${'a'.repeat(64 * 1024)}`), 'response-fields-too-large'],
  ['more than 10,100 trailers', chunks(`0\r\n${'A: b\r\n'.repeat(10_100)}A`), 'response-fields-too-large'],
  // Fields, lengths and chunks are scanned as those of requests are: request-parser.test.ts has the rest of them.
  ...each('not-http', ['A: b\r\n ', 'A ', 'A: b\x01', 'A: b\n', 'A: b\r\n\ro'], (text) => `HTTP/1.1 200 OK\r\n${text}`),
  ...each('response-length', ['', '-2', '2, 2', '9007199254740992', '1'.repeat(400)], (length) =>
    head(`Content-Length: ${length}\r\n`),
  ),
  ['the same length twice', head('Content-Length: 2\r\ncontent-length: 2\r\n'), 'response-length'],
  ['Content-Length twice', head('Content-Length: 2\r\nContent-Length: 3\r\n'), 'response-length'],
  ['a length and chunks', head('Content-Length: 2\r\nTransfer-Encoding: chunked\r\n'), 'response-length'],
  ['chunks and a length', head('Transfer-Encoding: chunked\r\nContent-Length: 2\r\n'), 'response-length'],
  ...each('response-coding', ['', 'gzip', 'gzip, chunked', 'chunked, gzip', 'chunked;a=b', 'xchunked'], (coding) =>
    head(`Transfer-Encoding: ${coding}\r\n`),
  ),
  ['chunked twice', head('Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n'), 'response-coding'],
  ['a coding in HTTP/1.0', 'HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n', 'response-coding'],
  ...each('not-http', ['\r', '1;;', '1\r\nok'], chunks),
  ['a length among the trailers', chunks('0\r\ncontent-length: 2\r\n\r\n'), 'response-length'],
  ['a coding among the trailers', chunks('0\r\nA: b\r\nTransfer-Encoding: chunked\r\n\r\n'), 'response-length'],
] as const

describe('rejected is', () => {
  test.each(rejected)('%s, at once', (_, bytes, reason) => {
    expect(read(bytes.slice(0, -1), [], { ends: false }).rejected).toBeNull()
    expect(read(bytes, [], { ends: false }).rejected).toBe(reason)
  })

  test('a length beside a coding, in these words', () => {
    const parser = new ResponseParser(silent)
    parser.awaitResponse()
    const bytes = Buffer.from(head('Content-Length: 2\r\nTransfer-Encoding: chunked\r\n'))

    expect(() => parser.read(bytes, bytes.length)).toThrow('a length and a transfer coding')
  })

  test('what no request has asked for, also behind a response', () => {
    const parser = new ResponseParser(silent)

    expect(() => parser.read(Buffer.from(ok), ok.length)).toThrow(MalformedResponseError)
    parser.awaitResponse()
    parser.read(Buffer.from(ok), ok.length)
    expect(() => parser.read(Buffer.from('x'), 1)).toThrow(MalformedResponseError)
  })
})

describe('docs/design/rejected-responses.md lists what is rejected', () => {
  const page = readFileSync(new URL('../../../../docs/design/rejected-responses.md', import.meta.url), 'utf8')
  const rows = [...page.matchAll(/^\| ([^|]+) \| `(HTTP[^`]*|\\r[^`]*)` \| `([a-z-]+)` \|/gm)]

  test.each(rows.map(([, what = '', example = '', reason]) => [what, JSON.parse(`"${example}"`), reason]))(
    '%s',
    (_, example, reason) => {
      expect(read(example, [], { ends: false }).rejected).toBe(reason)
    },
  )

  test('of every reason', () => {
    expect(new Set(rows.map(([, , , reason]) => reason))).toEqual(
      new Set(rejected.map(([, , reason]) => reason).filter((reason) => reason !== 'response-fields-too-large')),
    )
  })
})

const silent: ResponseEvents = { interim: () => {}, head: () => {}, body: () => {}, end: () => {} }

describe('not rejected is', () => {
  const withBody = '\r\nContent-Length: 2\r\n\r\nok'
  test.each([
    ['a head of 64 KiB', `HTTP/1.1 200 OK\r\nA: ${'a'.repeat(64 * 1024 - 43)}${withBody}`],
    ['a head of 10,100 fields', `HTTP/1.1 200 OK\r\n${'A: b\r\n'.repeat(10_099)}${withBody.slice(2)}`],
    ['a status line without a phrase', `HTTP/1.1 200${withBody}`],
    ['a status line without a phrase and with the blank', `HTTP/1.1 200 ${withBody}`],
    ['a later minor version (RFC 9110 §2.5)', `HTTP/1.9 200 OK${withBody}`],
    ['a status of another class', `HTTP/1.1 999 Odd${withBody}`],
    [
      'a coding in other letters, with blanks',
      `HTTP/1.1 200 OK\r\nTransfer-Encoding: \t cHunked \t\r\n\r\n2\r\nok\r\n0\r\n\r\n`,
    ],
    ['an extension of 16 KiB', chunks(`2;${'a'.repeat(16 * 1024 - 4)}\r\nok\r\n0\r\n\r\n`)],
  ])('%s', (_, bytes) => {
    expect(read(bytes)).toMatchObject({ body: 'ok', ended: 'yes', reusable: true, rejected: null })
  })
})

test('a response that comes in parts is the same wherever it is cut', () => {
  const whole = [
    `HTTP/1.1 100 Continue\r\n\r\nHTTP/1.2 103 Early Hints\r\nLink: <a>\r\n\r\n${head('A:  b \r\nContent-Length: 3 \r\n')}yes`,
    chunks('2;a=b;c="d"\r\nok\r\n0001\r\n!\r\n0;e\r\nX: y\r\n\r\n'),
    'HTTP/1.0 404 Not Found\r\nConnection: keep-alive\r\nKeep-Alive: timeout=5\r\nContent-Length: 0\r\n\r\n',
    'HTTP/1.1 205 A\r\nContent-Length: 0\r\n\r\n',
    'HTTP/1.1 200 OK\r\nServer: x\r\n\r\nto the end',
    ...rejected.map(([, bytes]) => bytes).filter((bytes) => bytes.length < 60),
  ]
  for (const text of whole) {
    const expected = read(text)
    const everywhere = Array.from(text, (_, at) => at)
    for (const cuts of [...everywhere.map((at) => [at]), everywhere]) expect(read(text, cuts)).toEqual(expected)
  }
})

describe('what an event does', () => {
  const record = (on: keyof ResponseEvents, act: (parser: ResponseParser) => void) => {
    const events: string[] = []
    const note = (name: keyof ResponseEvents) => () => {
      events.push(name)
      if (name === on) act(parser)
    }
    const parser = new ResponseParser({
      ...{ interim: note('interim'), head: note('head'), body: note('body'), end: note('end') },
    })
    parser.awaitResponse()
    return { parser, events, read: (text: string) => parser.read(Buffer.from(text), text.length) }
  }
  const text = `HTTP/1.1 103 A\r\n\r\n${chunks('1\r\no\r\n1\r\nk\r\n0\r\n\r\n')}`

  test.each([
    ['interim', ['interim']],
    ['head', ['interim', 'head']],
    ['body', ['interim', 'head', 'body']],
  ] as const)('stop() in %s ends the reading', (on, expected) => {
    const { parser, events, read } = record(on, () => parser.stop())

    read(text)
    read(text)

    expect(events).toEqual(expected)
    expect(parser.finish()).toBe(false)
  })

  test('stop() at the first of two chunks ends the reading of the other', () => {
    const large = `2000\r\n${'x'.repeat(0x2000)}\r\n`
    const { parser, events, read } = record('body', () => parser.stop())

    read(chunks(large + large))

    expect(events).toEqual(['head', 'body'])
  })

  test('another request may begin in end(), and its first byte is its start', () => {
    const { parser, events, read } = record('end', () => parser.awaitResponse())

    read(text)
    const before = parser.hasStarted
    read(text.slice(0, 1))
    const after = parser.hasStarted
    read(text.slice(1))

    expect([before, after]).toEqual([false, true])
    expect(events).toEqual([1, 2].flatMap(() => ['interim', 'head', 'body', 'end']))
  })
})

describe('chunks that come together', () => {
  const readChunks = (...reads: readonly string[]): string[] => {
    const pieces: string[] = []
    const body = (bytes: Buffer, from: number, to: number) => pieces.push(bytes.toString('latin1', from, to))
    const parser = new ResponseParser({ ...silent, body })
    parser.awaitResponse()
    for (const text of reads) parser.read(Buffer.from(text, 'latin1'), text.length)
    return pieces
  }

  test('are handed on each by itself where they are large', () => {
    const large = 'x'.repeat(0x2000)

    expect(readChunks(chunks(`1\r\na\r\n2000\r\n${large}\r\n1\r\nb\r\n`))).toEqual(['a', `${large}b`])
  })

  test('are handed on with the read that brought them, and before what is rejected', () => {
    expect(readChunks(chunks('2\r\nok\r\n3\r\nma'), 'y\r\n1\r\n!')).toEqual(['okma', 'y!'])
    expect(read(chunks('2\r\nok\r\n1\r\n!\r\nx'))).toMatchObject({ body: 'ok!', rejected: 'not-http' })
  })
})
