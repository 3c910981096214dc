import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { MalformedResponseError } from '../../../../src/core/upstream/classify-error.ts'
import { type ResponseEvents, ResponseParser } from '../../../../src/core/upstream/http1/response-parser.ts'
import { type ParsedResponse, runResponseParser } from '../../../helpers/run-response-parser.ts'

const read = (text: string, cuts?: readonly number[], options?: { ends: boolean }): ParsedResponse =>
  runResponseParser(Buffer.from(text, 'latin1'), cuts, options)

/** Reads a head and no more, of a response without content unless a field says otherwise. */
const readFields = (lines: string, status = 204): ParsedResponse => read(`HTTP/1.1 ${status} A\r\n${lines}\r\n`)

describe('a response', () => {
  test('with a length is whole when that much has come', () => {
    const response = read('HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 2\r\n\r\nok')

    expect(response).toMatchObject({
      status: 200,
      reason: 'OK',
      body: 'ok',
      ended: 'yes',
      reusable: true,
      rejected: null,
    })
    expect(response.fields).toEqual(['Content-Type', 'text/plain', 'Content-Length', '2'])
  })

  test('in chunks is whole behind the trailers', () => {
    const response = read(
      'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2;a=b;c="d"\r\nok\r\n1\r\n!\r\n0\r\nX: y\r\n\r\n',
    )

    expect(response).toMatchObject({ body: 'ok!', fields: [], ended: 'yes', reusable: true })
  })

  test('without either is whole when the connection ends', () => {
    expect(read('HTTP/1.1 200 OK\r\n\r\nok')).toMatchObject({ body: 'ok', ended: 'closed', reusable: false })
  })

  test.each([
    ['its head', 'HTTP/1.1 200 OK\r\nA: b\r\n'],
    ['its body', 'HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nok'],
    ['a chunk', 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nok'],
    ['the last chunk', 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n'],
    ['its trailers', 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nA: b\r\n'],
  ])('that ends in %s is cut short', (_, text) => {
    expect(read(text)).toMatchObject({ ended: 'no', rejected: null })
  })
})

describe('the fields that are handed on', () => {
  test('are as they were received: names, order, repetitions, bytes above 0x7f, blanks inside', () => {
    expect(readFields('B: 1\r\na:\t2 \t\r\nB:\r\nX-Y_z!: \xe9 \t "q"\r\n').fields).toEqual([
      ...['B', '1', 'a', '2', 'B', '', 'X-Y_z!', '\xe9 \t "q"'],
    ])
  })

  test('are those of the end alone', () => {
    const response = readFields(
      'Connection: X-A, close\r\nKeep-Alive: 1\r\nTE: a\r\nUpgrade: b\r\nx-a: 1\r\nX-B: 2\r\nconnection: x-c\r\nX-C: 3\r\n',
    )

    expect(response.fields).toEqual(['X-B', '2'])
  })

  test.each(['2 ', '2\t', ' \t 2 \t ', '2'])('have a length (%j) without its blanks', (length) => {
    const response = read(`HTTP/1.1 200 OK\r\nContent-Length:${length}\r\n\r\nok`)

    expect(response).toMatchObject({ body: 'ok', fields: ['Content-Length', '2'] })
  })
})

describe('an interim response', () => {
  const final = 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok'

  test('is handed on before the final one, without a length (RFC 9110 §8.6)', () => {
    const response = read(
      `HTTP/1.1 103 Early Hints\r\nLink: a\r\nContent-Length: 5\r\nConnection: close\r\n\r\nHTTP/1.1 102\r\n\r\n${final}`,
    )

    expect(response).toMatchObject({
      interim: [
        [103, ['Link', 'a']],
        [102, []],
      ],
      status: 200,
      body: 'ok',
      reusable: true,
    })
  })

  test('of status 100 is one of them: what takes them counts them', () => {
    const response = read(`HTTP/1.1 100 Continue\r\nA: b\r\n\r\nHTTP/1.0 100\r\n\r\n${final}`)

    expect(response.interim).toMatchObject([
      [100, ['A', 'b']],
      [100, []],
    ])
    expect(response).toMatchObject({ status: 200, body: 'ok' })
  })

  test('of status 101 is rejected: no switch was asked for', () => {
    expect(read(`HTTP/1.1 101 Switching Protocols\r\nUpgrade: a\r\n\r\n`).rejected).toBe('answer-status')
  })
})

describe('content that a status does not have', () => {
  test.each([204, 304])('(%d) is not awaited', (status) => {
    expect(readFields('', status)).toMatchObject({ body: '', ended: 'yes', reusable: true })
  })

  test.each([
    [204, 'Content-Length: 2\r\n', false],
    [204, 'Content-Length: 0\r\n', true],
    [304, 'Content-Length: 2\r\n', false],
    [304, 'Transfer-Encoding: chunked\r\n', false],
    [205, '', false],
    [205, 'Content-Length: 0\r\n', true],
    [205, 'Content-Length: 2\r\n', false],
    [205, 'Transfer-Encoding: chunked\r\n', false],
  ])('(%d, %j) and may come nevertheless is not taken for the next response', (status, lines, reusable) => {
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

  test.each([
    'HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n',
    'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n',
  ])('is not used again when bytes stand behind the response, which stands (RFC 9112 §9.2)', (text) => {
    expect(read(`${text}x`)).toMatchObject({ status: 200, ended: 'yes', reusable: false, rejected: null })
  })

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

const head = (lines: string): string => `HTTP/1.1 200 OK\r\n${lines}\r\n`
const ok = `${head('Content-Length: 2\r\n')}ok`
const chunks = (body: string): string => head('Transfer-Encoding: chunked\r\n') + body

// Each is rejected at its last byte: the parser waits for nothing more.
const rejected: readonly (readonly [what: string, bytes: string, reason: string])[] = [
  ['an empty line in front', '\r', 'not-http'],
  ['another protocol', 'S', 'not-http'],
  ['a name in lower case', 'h', 'not-http'],
  ['HTTP/2', 'HTTP/2', 'not-http'],
  ['HTTP/0.9', 'HTTP/0', 'not-http'],
  ['a version of two digits', 'HTTP/1.10', 'not-http'],
  ['two blanks before the status', 'HTTP/1.1  ', 'not-http'],
  ['a tab before the status', 'HTTP/1.1\t', 'not-http'],
  ['a status of two digits', 'HTTP/1.1 20 ', 'not-http'],
  ['a status of four digits', 'HTTP/1.1 2000', 'not-http'],
  ['a status below 100', 'HTTP/1.1 099', 'answer-status'],
  ['a status with a sign', 'HTTP/1.1 -', 'not-http'],
  ['a tab behind the status', 'HTTP/1.1 200\t', 'not-http'],
  ['a bare LF behind the status line', 'HTTP/1.1 200 OK\n', 'not-http'],
  ['a bare LF behind the status', 'HTTP/1.1 200\n', 'not-http'],
  ['a bare CR behind the status line', 'HTTP/1.1 200 OK\rA', 'not-http'],
  ['NUL in the reason phrase', 'HTTP/1.1 200 O\0', 'not-http'],
  ['a line without an end', `HTTP/1.1 200 OK\r\nA: ${'a'.repeat(64 * 1024 - 20)}`, 'answer-fields-too-large'],
  ['more than 10,100 fields', `HTTP/1.1 200 OK\r\n${'A: b\r\n'.repeat(10_100)}A`, 'answer-fields-too-large'],
  ['a trailer without an end', chunks(`0\r\n${'a'.repeat(64 * 1024)}`), 'answer-fields-too-large'],
  ['more than 10,100 trailers', chunks(`0\r\n${'A: b\r\n'.repeat(10_100)}A`), 'answer-fields-too-large'],
  // Fields, lengths and chunks are scanned as those of requests are: request-parser.test.ts has the rest of them.
  ['a folded line', 'HTTP/1.1 200 OK\r\nA: b\r\n ', 'not-http'],
  ['a blank before the colon', 'HTTP/1.1 200 OK\r\nA ', 'not-http'],
  ['a control character in a value', 'HTTP/1.1 200 OK\r\nA: b\x01', 'not-http'],
  ['a bare LF behind a value', 'HTTP/1.1 200 OK\r\nA: b\n', 'not-http'],
  ['a bare CR behind the head', 'HTTP/1.1 200 OK\r\nA: b\r\n\ro', 'not-http'],
  ...['', '-2', '2, 2', '9007199254740992', '1'.repeat(400)].map(
    (length) => [`a length of ${length.slice(0, 20)}`, head(`Content-Length: ${length}\r\n`), 'answer-length'] as const,
  ),
  ['the same length twice', head('Content-Length: 2\r\ncontent-length: 2\r\n'), 'answer-length'],
  ['a length twice', head('Content-Length: 2\r\nContent-Length: 3\r\n'), 'answer-length'],
  ['a length and chunks', head('Content-Length: 2\r\nTransfer-Encoding: chunked\r\n'), 'answer-length'],
  ['chunks and a length', head('Transfer-Encoding: chunked\r\nContent-Length: 2\r\n'), 'answer-length'],
  ...['', 'gzip', 'gzip, chunked', 'chunked, gzip', 'chunked;a=b', 'xchunked'].map(
    (coding) => [`a coding of ${coding}`, head(`Transfer-Encoding: ${coding}\r\n`), 'answer-coding'] as const,
  ),
  ['chunked twice', head('Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n'), 'answer-coding'],
  ['a coding in HTTP/1.0', 'HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n', 'answer-coding'],
  ['a chunk without a size', chunks('\r'), 'not-http'],
  ['an extension without a name', chunks('1;;'), 'not-http'],
  ['a chunk that is longer than its size', chunks('1\r\nok'), 'not-http'],
  ['a length among the trailers', chunks('0\r\ncontent-length: 2\r\n\r\n'), 'answer-length'],
  ['a coding among the trailers', chunks('0\r\nA: b\r\nTransfer-Encoding: chunked\r\n\r\n'), 'answer-length'],
]

describe('rejected is', () => {
  test.each(rejected)('%s, at once', (_, bytes, reason) => {
    expect(read(bytes.slice(0, -1), [], { ends: false }).rejected).toBeNull()
    expect(read(bytes, [], { ends: false }).rejected).toBe(reason)
  })

  test('what no request has asked for', () => {
    const parser = new ResponseParser(silent)

    expect(() => parser.read(Buffer.from(ok), ok.length)).toThrow(MalformedResponseError)
  })

  test('what comes behind a response, before the next request', () => {
    const parser = new ResponseParser(silent)
    parser.awaitResponse()
    parser.read(Buffer.from(ok), ok.length)

    expect(() => parser.read(Buffer.from('x'), 1)).toThrow(MalformedResponseError)
  })
})

describe('docs/upstreams.md lists what is rejected', () => {
  const page = readFileSync(new URL('../../../../docs/upstreams.md', import.meta.url), 'utf8')
  const rows = [...page.matchAll(/^\| ([^|]+) \| `(HTTP[^`]*|\\r[^`]*)` \| `([a-z-]+)` \|/gm)]

  test.each(rows.map(([, what = '', example = '', reason]) => [what, JSON.parse(`"${example}"`), reason]))(
    '%s',
    (_, example, reason) => {
      expect(read(example, [], { ends: false }).rejected).toBe(reason)
    },
  )

  test('of every reason', () => {
    expect(new Set(rows.map(([, , , reason]) => reason))).toEqual(
      new Set(rejected.map(([, , reason]) => reason).filter((reason) => reason !== 'answer-fields-too-large')),
    )
  })
})

const silent: ResponseEvents = { interim: () => {}, head: () => {}, body: () => {}, end: () => {} }

describe('not rejected is', () => {
  test.each([
    ['a head of 64 KiB', `HTTP/1.1 200 OK\r\nContent-Length: 2\r\nA: ${'a'.repeat(64 * 1024 - 43)}\r\n\r\nok`],
    ['a head of 10,100 fields', `HTTP/1.1 200 OK\r\nContent-Length: 2\r\n${'A: b\r\n'.repeat(10_099)}\r\nok`],
    ['a status line without a phrase', 'HTTP/1.1 200\r\nContent-Length: 2\r\n\r\nok'],
    ['a status line without a phrase and with the blank', 'HTTP/1.1 200 \r\nContent-Length: 2\r\n\r\nok'],
    ['a later minor version (RFC 9110 §2.5)', 'HTTP/1.9 200 OK\r\nContent-Length: 2\r\n\r\nok'],
    ['a status of another class', 'HTTP/1.1 999 Odd\r\nContent-Length: 2\r\n\r\nok'],
    ['an extension of 16 KiB', chunks(`2;${'a'.repeat(16 * 1024 - 4)}\r\nok\r\n0\r\n\r\n`)],
  ])('%s', (_, bytes) => {
    expect(read(bytes)).toMatchObject({ ended: 'yes', reusable: true, rejected: null })
    expect(read(bytes).body).toMatch(/^okk*$/)
  })
})

describe('a response that comes in two parts', () => {
  const whole = [
    'HTTP/1.1 100 Continue\r\n\r\nHTTP/1.2 103 Early Hints\r\nLink: <a>\r\n\r\nHTTP/1.1 200 OK\r\nA:  b \r\nContent-Length: 3 \r\n\r\nyes',
    chunks('2;a=b;c="d"\r\nok\r\n0001\r\n!\r\n0;e\r\nX: y\r\n\r\n'),
    'HTTP/1.0 404 Not Found\r\nConnection: keep-alive\r\nKeep-Alive: timeout=5\r\nContent-Length: 0\r\n\r\n',
    'HTTP/1.1 205 A\r\nContent-Length: 0\r\n\r\n',
    'HTTP/1.1 200 OK\r\nServer: x\r\n\r\nto the end',
    ...rejected.map(([, bytes]) => bytes).filter((bytes) => bytes.length < 60),
  ]

  test('is the same wherever it is cut', () => {
    for (const text of whole) {
      const expected = read(text)
      for (let cut = 0; cut <= text.length; cut++) expect(read(text, [cut])).toEqual(expected)
      expect(
        read(
          text,
          Array.from(text, (_, at) => at),
        ),
      ).toEqual(expected)
    }
  })
})

describe('what an event does', () => {
  const record = (on: keyof ResponseEvents, act: (parser: ResponseParser) => void) => {
    const events: string[] = []
    const note = (name: keyof ResponseEvents) => () => {
      events.push(name)
      if (name === on) act(parser)
    }
    const parser = new ResponseParser({
      interim: note('interim'),
      head: note('head'),
      body: note('body'),
      end: note('end'),
    })
    return { parser, events }
  }
  const text = `HTTP/1.1 103 A\r\n\r\n${chunks('1\r\no\r\n1\r\nk\r\n0\r\n\r\n')}`

  test.each([
    ['interim', ['interim']],
    ['head', ['interim', 'head']],
    ['body', ['interim', 'head', 'body']],
  ] as const)('stop() in %s ends the reading', (on, expected) => {
    const { parser, events } = record(on, () => parser.stop())
    parser.awaitResponse()

    parser.read(Buffer.from(text), text.length)
    parser.read(Buffer.from(text), text.length)

    expect(events).toEqual(expected)
    expect(parser.finish()).toBe(false)
  })

  test('stop() at the first of two chunks ends the reading of the other', () => {
    const large = `2000\r\n${'x'.repeat(0x2000)}\r\n`
    const { parser, events } = record('body', () => parser.stop())
    parser.awaitResponse()

    parser.read(Buffer.from(chunks(large + large)), chunks(large + large).length)

    expect(events).toEqual(['head', 'body'])
  })

  test('another request may begin in end()', () => {
    const { parser, events } = record('end', () => parser.awaitResponse())
    parser.awaitResponse()

    parser.read(Buffer.from(text), text.length)
    expect(parser.hasStarted).toBe(false)
    parser.read(Buffer.from(text), text.length)

    expect(events).toEqual([1, 2].flatMap(() => ['interim', 'head', 'body', 'end']))
  })

  test('a first byte is the start, whatever it begins', () => {
    const { parser } = record('end', () => {})
    parser.awaitResponse()
    const before = parser.hasStarted

    parser.read(Buffer.from(text), 1)

    expect([before, parser.hasStarted]).toEqual([false, true])
  })
})

describe('chunks that come together', () => {
  const readChunks = (...reads: readonly string[]): string[] => {
    const pieces: string[] = []
    const events = {
      ...silent,
      body: (bytes: Buffer, from: number, to: number) => pieces.push(bytes.toString('latin1', from, to)),
    }
    const parser = new ResponseParser(events)
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
