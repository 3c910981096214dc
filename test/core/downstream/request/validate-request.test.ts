import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { parseExpectation, parseRequestHead } from '../../../../src/core/downstream/request/request-head.ts'
import {
  compileAuthorityMatcher,
  isValidHost,
  operationsByPath,
  parseRequestTarget,
  validateFraming,
  validateRequest,
} from '../../../../src/core/downstream/request/validate-request.ts'
import { allOperations } from '../../../../src/operations.ts'
import { anyCharacter } from '../../../helpers/any-character.ts'

interface TestRequest {
  readonly method?: string
  readonly url?: string
  readonly httpVersion?: string
  readonly rawHeaders?: string[]
  readonly names?: string[]
}

const limits = { maxTarget: 100, maxHeaders: 1000, maxHeaderFields: 10 }

const match = ({
  method = 'GET',
  url = '/market/insights',
  httpVersion = '1.1',
  rawHeaders = ['Host', 'a'],
  names = [],
}: TestRequest) => {
  const head = parseRequestHead(rawHeaders, 'x-request-id', false)
  const options = { matchesAuthority: compileAuthorityMatcher({ hosts: names }), pseudonym: 'me', secure: false }
  const target = parseRequestTarget(url)
  const request = { method, originalUrl: url, target, httpVersion, rawHeaders }
  return validateRequest(
    { request, head, expectation: parseExpectation(head.expect, httpVersion) },
    limits,
    options,
    operationsByPath.get(target?.path ?? '') ?? null,
  )
}

describe('a request that is matched', () => {
  test.each(allOperations)('a request for $id has its operation, the raw query and the host', (operation) => {
    const expected = { operation, query: '?a=%20b', authority: 'a' }
    expect(match({ method: operation.method, url: `${operation.path}?a=%20b` })).toEqual(expected)
  })

  test.each<[string, TestRequest, string]>([
    ['the authority of an absolute-form over Host', { url: 'http://b:1/market/insights' }, 'b:1'],
    ['nothing for HTTP/1.0 without Host', { httpVersion: '1.0', rawHeaders: [] }, ''],
    ['Host on HTTP/1.0', { httpVersion: '1.0' }, 'a'],
  ])('a matched request carries %s', (_, request, authority) => {
    expect(match(request)).toMatchObject({ authority })
  })

  test.each(['1.1 you', '1.1 me2', '1.1 xme', 'me you', '1.1 you (me)', '1.1 ME'])(
    'a request that came by way of %j is no loop',
    (via) => {
      expect(match({ rawHeaders: ['Host', 'a', 'Via', via] })).toHaveProperty('operation')
    },
  )
})

describe('a request that is rejected', () => {
  const te = (value: string) => ({ rawHeaders: ['Host', 'a', 'Transfer-Encoding', value] })
  test.each<[string, string | null, TestRequest]>([
    ['uri-too-long', null, { url: '/'.padEnd(101, 'a') }],
    ['header-too-large', null, { rawHeaders: Array.from({ length: 22 }, (_, i) => (i % 2 === 0 ? 'A' : 'b')) }],
    ['header-too-large', 'fields-too-large', { rawHeaders: ['Host', 'a', 'A', 'b'.repeat(1000)] }],
    ['bad-request', 'bad-host', { rawHeaders: [] }],
    ['bad-request', 'bad-host', { rawHeaders: ['Host', ''] }],
    ['bad-request', 'bad-host', { rawHeaders: ['Host', 'a', 'host', 'a'] }],
    ['bad-request', 'bad-host', { rawHeaders: ['Host', 'a,b'] }],
    ['bad-request', 'bad-host', { httpVersion: '1.0', rawHeaders: ['Host', 'a/b'] }],
    ['bad-request', 'bad-target', { url: '*' }],
    ['bad-request', 'bad-target', { url: '/market/insights#x' }],
    ['bad-request', 'bad-target', { url: 'http://u@a/market/insights' }],
    ['bad-request', 'bad-transfer-coding', { httpVersion: '1.0', ...te('chunked') }],
    ['bad-request', 'bad-transfer-coding', te('gzip')],
    ['bad-request', 'bad-transfer-coding', te('chunked, gzip')],
    ['bad-request', 'bad-transfer-coding', te('chunked, chunked')],
    ['bad-request', 'bad-transfer-coding', te(', chunked')],
    ['bad-request', 'bad-length', { rawHeaders: ['Host', 'a', 'Content-Length', '9007199254740993'] }],
    ['unsupported-coding', null, te('gzip, chunked')],
    ['misdirected', null, { names: ['b'] }],
    ['misdirected', null, { names: ['a'], url: 'http://b/market/insights' }],
    ['misdirected', null, { names: ['a'], httpVersion: '1.0', rawHeaders: [] }],
    ['not-found', null, { url: '/market/insights/' }],
    ['not-found', null, { url: '/MARKET/insights' }],
    ['not-found', null, { method: 'BREW', url: '/x' }],
    ['method-not-allowed', null, { method: 'HEAD' }],
    ['method-not-allowed', null, { method: 'POST' }],
    ['loop', null, { rawHeaders: ['Host', 'a', 'Via', '1.1 me'] }],
    ['loop', null, { rawHeaders: ['Host', 'a', 'Via', '1.0 you, HTTP/1.1\tme (comment), 1.1 them'] }],
    ['loop', null, { rawHeaders: ['Host', 'a', 'Via', '1.1 you', 'Via', '1.1 me'] }],
  ])('a request is rejected with %s, for the reason %s: %j', (kind, reason, request) => {
    expect(match(request)).toMatchObject(reason === null ? { kind } : { kind, reason })
  })

  test.each(allOperations)('a request for $id with another method is sent the one method', ({ method, path }) => {
    const rejection = { kind: 'method-not-allowed', reason: null, fields: ['Allow', method] }
    expect(match({ method: 'DELETE', url: path })).toMatchObject(rejection)
  })

  test.each<[string, string, TestRequest]>([
    ['bad-request', 'for no operation', { url: '/x', rawHeaders: [] }],
    ['bad-request', 'misdirected', { names: ['b'], rawHeaders: ['Host', 'a/b'] }],
    ['misdirected', 'for no operation', { names: ['b'], url: '/x' }],
    ['not-found', 'of the wrong method', { url: '/x', method: 'DELETE' }],
    ['uri-too-long', 'malformed', { url: '#'.padEnd(101, 'a') }],
    ['method-not-allowed', 'a loop', { method: 'PUT', rawHeaders: ['Host', 'a', 'Via', '1.1 me'] }],
  ])('a request is rejected with %s before %s', (kind, _, request) => {
    expect(match(request)).toMatchObject({ kind })
  })
})

// A pattern that tries each blank anew would take days.
test('a coding with a million blanks is rejected as fast as it is read', () => {
  const coding = `a${' '.repeat(1_000_000)}b`

  expect(validateFraming({ transferEncoding: coding, contentLength: null }, '1.1')).toMatchObject({
    reason: 'bad-transfer-coding',
  })
})

describe('authorities', () => {
  const matches = compileAuthorityMatcher({
    hosts: ['gateway.example', 'other.example:8443', 'plain.example:80', '[::1]', 'dotted.example.'],
  })

  test.each([
    ...['gateway.example', 'GATEWAY.example', 'gateway.example.', 'gateway.example:1', 'gateway.example:'],
    ...['gateway.example.:8080', 'dotted.example', 'other.example:8443', 'other.example:08443', 'plain.example'],
    '[::1]:8080',
  ])('the authority %j is served', (authority) => expect(matches(authority, false)).toBe(true))

  test.each([
    ...['other.example:844', 'other.example', 'evil.gateway.example', 'gateway.example.evil', 'gateway.example..'],
    ...['gateway%2eexample', ''],
  ])('the authority %j is misdirected', (authority) => expect(matches(authority, false)).toBe(false))

  test('a missing port is the default port of the scheme', () => {
    const secure = compileAuthorityMatcher({ hosts: ['a:443'] })

    expect([secure('a', true), secure('a', false), matches('plain.example', true)]).toEqual([true, false, false])
  })

  test('without names every authority matches, even an empty one', () => {
    expect(compileAuthorityMatcher({ hosts: [] })('', false)).toBe(true)
  })
})

describe('a valid host', () => {
  test.each([
    ...['a', 'A.b-c', 'a_b', '127.0.0.1', '1.2.3.4.5', 'a:', 'a:0', 'a:80', 'a:65535', '[::1]', '[::1]:8080'],
    ...['[::ffff:1.2.3.4]', 'a%20b', "!$&'()*+;=", 'xn--bcher-kva.example'],
  ])('%j is a valid host', (value) => expect(isValidHost(value)).toBe(true))

  test.each([
    ...['', ' ', 'a ', ' a', 'a b', ':', ':80', 'a:b', 'a:-1', 'a:+1', 'a:65536', 'a:100000', 'a:1:2', 'a,b', 'a, a'],
    ...['u@a', 'user@a.example', 'a/b', 'a?b', 'a#b', 'a\\b', 'a%', 'a%2', 'a%zz', '::1', '[]', '[::1', '::1]'],
    ...['[::1]a', '[::1]:x'],
    ...['[1.2.3.4]', '[::1%25lo]', '[v1.a]', 'é', 'a\x00', 'a\r\n', 'a\n', '"a"', '<a>', 'http://a'],
  ])('%j is no valid host', (value) => expect(isValidHost(value)).toBe(false))

  test('a valid host never holds a character that ends the field, the authority or a log line', () => {
    fc.assert(
      fc.property(fc.string({ unit: anyCharacter }), (value) => {
        if (/[^!-~]|[@/\\?#,"<>^`{|}]/.test(value)) expect(isValidHost(value)).toBe(false)
      }),
    )
  })
})

test.each([
  // The origin-form is split at the first question mark only.
  ['/', '/', '', null],
  ['/a/b', '/a/b', '', null],
  ['/a?', '/a', '?', null],
  ['/a?b?c', '/a', '?b?c', null],
  ['//a/b', '//a/b', '', null],
  ['/%2f%00', '/%2f%00', '', null],
  ['/http://a/b', '/http://a/b', '', null],
  ['/a@b:80', '/a@b:80', '', null],
  ['/\x80\xff \t?\0', '/\x80\xff \t', '?\0', null],
  // In absolute-form it names its authority.
  ['http://a/b?c', '/b', '?c', 'a'],
  ['https://a:443/b', '/b', '', 'a:443'],
  ['HTTP://A/B', '/B', '', 'A'],
  ['http://a', '', '', 'a'],
  ['http://a?b', '', '?b', 'a'],
  ['http://a?b/c', '', '?b/c', 'a'],
  ['http://[::1]:80/b', '/b', '', '[::1]:80'],
  ['http://a//b', '//b', '', 'a'],
  ['http://a/@/b', '/@/b', '', 'a'],
])('the target %j has the path %j, the query %j and the authority %j', (raw, path, query, authority) => {
  expect(parseRequestTarget(raw)).toEqual({ path, query, authority })
})

test.each([
  ...['', '*', 'a', 'a:80', '?a', '.', 'ftp://a/b', 'ws://a/b', 'http:/a', 'http:a', 'xhttp://a/b', ' /a', '\\a'],
  ...['%2fa', '/#', '/a#b', '#/a', '/a?b#c', 'http://a/#', 'http://a/b#c', 'http://a/b?c#d', 'http://a#b'],
  ...['http://', 'http:///b', 'http://:80/b', 'http://u@a/b', 'http://u:p@a/b', 'http://a:99999/b', 'http://a:x/b'],
  ...['http://[::1/b', 'http://a,b/c', 'http://a b/c', 'http://a\\b/c', 'http://a\\@b/c'],
])('%j is no target of http, or has a fragment or no valid authority', (raw) => {
  expect(parseRequestTarget(raw)).toBeNull()
})
