import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  createRequestId,
  isValidRequestId,
  parseExpectation,
  parseRequestHead,
  randomId,
} from '../../../../src/core/downstream/request/request-head.ts'

const parse = (raw: readonly string[], trusted = false) => parseRequestHead(raw, 'x-request-id', trusted)

describe('the end-to-end fields', () => {
  test('end-to-end fields keep order, casing, repetitions and every byte', () => {
    const raw = [
      ...['aCCept', '*/*', 'X-b', '1', 'Cookie', 'a=b', 'X-B', '2', 'cookie', 'c=\xe9\xff', 'X-b', '1', 'Empty', ''],
      ...["y!#$%&'*+.^_`|~-", '\x00 \xff'],
    ]

    expect(parse(raw).fields).toEqual(raw)
  })

  const omitted = [
    ...['Connection', 'Keep-Alive', 'Proxy-Authenticate', 'Proxy-Authorization', 'Proxy-Connection', 'TE', 'Trailer'],
    ...['Transfer-Encoding', 'Upgrade', 'HTTP2-Settings', 'Proxy-Authentication-Info', 'Host', 'Content-Length'],
    ...['Expect', 'X-Request-Id'],
  ]
  test.each(omitted)('end-to-end fields are without %s, in any case', (name) => {
    const value = name === 'Connection' ? 'close' : '1'

    for (const spelled of [name, name.toLowerCase(), name.toUpperCase()])
      expect(parse(['A', 'b', spelled, value, 'C', 'd']).fields).toEqual(['A', 'b', 'C', 'd'])
  })

  const forged = [
    ...['Forwarded', 'X-Forwarded-For', 'X-Forwarded-Proto', 'X-Forwarded-Host', 'X-Forwarded-Port'],
    ...['X-Forwarded-Anything', 'X-Forwarded', 'X-Real-IP'],
  ]
  test.each(forged)(
    'end-to-end fields are without %s of an untrusted peer, and without its underscore twins',
    (name) => {
      const underscored = [name.replaceAll('-', '_'), name.replace('-', '_'), name.replace(/-(?!.*-)/, '_')]
      const twins = [name, name.toLowerCase(), name.toUpperCase(), ...underscored]

      for (const twin of twins) expect(parse(['A', 'b', twin, 'x', 'C', 'd']).fields).toEqual(['A', 'b', 'C', 'd'])
    },
  )

  const reserved = [
    ...[...forged, 'Client-Cert', 'Client-Cert-Chain', 'X-HTTP-Method-Override', 'X-Original-URL', 'Front-End-Https'],
    ...['Content-Length', 'Content-Type', 'Content-Encoding', 'Content-MD5', 'Content-Security-Policy-Report-Only'],
    ...['Transfer-Encoding', 'Keep-Alive', 'Proxy-Authorization', 'Proxy-Authentication-Info', 'HTTP2-Settings'],
  ].filter((name) => name.includes('-'))
  test('end-to-end fields are without twins of reserved fields, in any spelling, of any peer', () => {
    const spellings = fc.array(fc.boolean(), { minLength: 40, maxLength: 40 })
    fc.assert(
      fc.property(fc.constantFrom(...reserved), spellings, spellings, fc.boolean(), (name, low, fold, trusted) => {
        const cased = [...name].map((each, i) => (low[i] ? each.toLowerCase() : each.toUpperCase()))
        const twin = cased.map((each, i) => (each === '-' && fold[i] ? '_' : each)).join('')
        fc.pre(twin.includes('_'))

        const head = parseRequestHead(['A', 'b', twin, 'x', 'C', 'd'], 'x-request-id', trusted, false, true)

        const none = { contentLength: null, transferEncoding: null, forwarded: { for: null, host: null } }
        expect(head).toMatchObject({ fields: ['A', 'b', 'C', 'd'], ...none })
      }),
      { seed: 49 },
    )
  })

  test.each([
    ...['X-Forwardedx', 'Forwarded-For', 'XForwarded-For', 'X-Real-IP2', 'X-Really', 'Not-X-Forwarded-For'],
    ...['Forwardedx'],
  ])('end-to-end fields keep %s, which is another field', (name) => {
    expect(parse([name, 'x']).fields).toEqual([name, 'x'])
  })

  test('end-to-end fields keep those of a trusted proxy, except the three that the gateway sets, and never a twin', () => {
    const raw = [
      ...['Forwarded', 'for=a', 'X-Forwarded-For', 'a', 'X-Forwarded-Port', '1', 'X_Forwarded_For', 'b', 'X_Real_IP'],
      ...['c', 'X-Real-IP', 'd', 'X-Forwarded-Host', 'h', 'X-Forwarded-Proto', 'p'],
    ]

    const head = parse(raw, true)

    expect(head.fields).toEqual(['Forwarded', 'for=a', 'X-Forwarded-Port', '1', 'X-Real-IP', 'd'])
    expect(head.forwarded).toEqual({ for: 'a', host: 'h', proto: 'p', forwarded: null })
  })
})

describe('the fields that Connection names', () => {
  const all = ['X-A', '1', 'B', '2', 'x-a', '3']
  test.each<[string, readonly string[], readonly string[]]>([
    ['by a line', ['Connection', 'x-a'], ['B', '2']],
    ['beside close', ['Connection', 'X-A , close'], ['B', '2']],
    ['by another line', ['connection', 'close', 'CONNECTION', 'x-A'], ['B', '2']],
    ['between commas', ['Connection', ',, x-a,b ,'], []],
    ['and no others beside close', ['Connection', 'close'], all],
    ['and no others beside other options', ['Connection', 'keep-alive, Upgrade'], all],
    ['and none that only begins so', ['Connection', 'x'], all],
    ['in any spelling', ['Connection', 'X-a ,b'], []],
  ])('the fields that Connection names end here, wherever they stand: %s', (_, connection, left) => {
    expect(parse([...all, ...connection]).fields).toEqual(left)
    expect(parse([...connection, ...all]).fields).toEqual(left)
  })

  test('the fields that Connection names do not hide lengths, hosts or Via from the gateway', () => {
    const head = parse([
      ...['Connection', 'host, content-length, via, x-request-id', 'Host', 'a', 'Content-Length', '5', 'Via', '1.1 x'],
      ...['X-Request-Id', 'i'],
    ])

    expect(head).toMatchObject({ hosts: ['a'], contentLength: '5', via: '1.1 x', requestId: 'i' })
  })
})

describe('what the gateway parses', () => {
  test('the gateway parses every Host line, and joins several lines of Via and Transfer-Encoding', () => {
    const head = parse([
      ...['Host', 'a', 'hOST', 'b', 'Via', '1.0 a', 'via', '1.1 b'],
      ...['Transfer-Encoding', 'gzip', 'transfer-encoding', 'chunked'],
    ])

    expect(head).toMatchObject({ hosts: ['a', 'b'], via: '1.0 a, 1.1 b', transferEncoding: 'gzip, chunked' })
  })

  test.each<[string[], string | null]>([
    [['X-Request-Id', 'a'], 'a'],
    [['x-request-ID', 'a'], 'a'],
    [[], null],
    [['X-Request-Id', 'a', 'X-Request-Id', 'b'], null],
    [['X-Request-Id', 'a b'], null],
    [['X-Request-Id', ''], null],
  ])('the request id of %j is %j', (raw, id) => {
    expect(parse(raw).requestId).toBe(id)
  })

  test('the field of the request id is like any other when request ids are off', () => {
    const head = parseRequestHead(['X-Request-Id', 'a'], null, false)

    expect(head.requestId).toBeNull()
    expect(head.fields).toEqual(['X-Request-Id', 'a'])
  })

  test('the size is that of the whole section, dropped fields included', () => {
    const lines = ['Host: a', 'X-A: \xe9\xff', 'Connection: x-a', 'X_Forwarded_For: b', 'B: ']

    const { bytes } = parse(lines.flatMap((line) => line.split(': ')))

    expect(bytes).toBe(lines.map((line) => `${line}\r\n`).join('').length)
  })
})

describe('a request id that is created', () => {
  test('a created request id has 32 hexadecimal digits, and differs each time', () => {
    const ids = Array.from({ length: 2000 }, randomId)

    expect(ids.every((id) => /^[0-9a-f]{32}$/.test(id))).toBe(true)
    expect(new Set(ids).size).toBe(ids.length)
  })

  test.each(['hex', 'uuid'] as const)('would be kept if a client sent it: %s', (format) => {
    expect(isValidRequestId(createRequestId[format]())).toBe(true)
  })
})

describe('a request id of a client', () => {
  test.each([
    ...['a', '7f3e9a52-0a3c-4d29-9a41-9d8f3c1b2a10', 'Root=1-67891233-abcdef012345678912345678', 'QWxhZGRpbg=='],
    ...['a/b+c~d:e@f_g.h', 'x'.repeat(128)],
  ])('a valid request id of a client is kept: %j', (id) => expect(isValidRequestId(id)).toBe(true))

  test.each([
    ...['', ' ', 'a b', 'a,b', 'a;b', '"a"', '<a>', '{a}', '$a', 'a\r\nb', 'a\n', 'a\tb', 'a\x00', 'é'],
    'x'.repeat(129),
  ])('an invalid request id of a client is replaced: %j', (id) => expect(isValidRequestId(id)).toBe(false))

  test('no other character is valid in the request id of a client', () => {
    const others = Array.from({ length: 0x3000 }, (_, code) => String.fromCharCode(code)).filter(isValidRequestId)

    expect(others.join('')).toBe('+-./0123456789:=@ABCDEFGHIJKLMNOPQRSTUVWXYZ_abcdefghijklmnopqrstuvwxyz~')
  })
})

describe('expectations', () => {
  test.each<[string, string, readonly (string | null)[]]>([
    ['continue', '1.1', ['100-continue', '100-Continue', ' 100-continue ', ', 100-continue,, 100-continue']],
    ['unknown', '1.1', ['x', '100', '100-continued', '100-continue;a=b', '100-continue, x', '"100-continue"']],
    ['none', '1.1', [null, '', ' ', ',', ' , ,']],
    ['none', '1.0', ['100-continue', 'x']],
  ])('the expectation is %s in HTTP/%s by Expect: %j', (expected, version, fields) => {
    expect(fields.map((field) => parseExpectation(field, version))).toEqual(fields.map(() => expected))
  })
})
