import { describe, expect, test } from 'vitest'
import { parseExpectation, parseRequestHead } from '../../../../src/core/downstream/request/request-head.ts'
import {
  compileAuthorityMatcher,
  operationsByPath,
  parseRequestTarget,
  validateFraming,
  validateRequest,
} from '../../../../src/core/downstream/request/validate-request.ts'
import { allOperations } from '../../../../src/operations.ts'

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
  const options = {
    matchesAuthority: compileAuthorityMatcher({ hosts: names }),
    pseudonym: 'me',
    secure: false,
  }
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
  test.each(allOperations)('has $id, the raw query and the host', (operation) => {
    expect(match({ method: operation.method, url: `${operation.path}?a=%20b` })).toEqual({
      operation,
      query: '?a=%20b',
      authority: 'a',
    })
  })

  test.each<[string, TestRequest, string]>([
    ['the authority of an absolute-form over Host', { url: 'http://b:1/market/insights' }, 'b:1'],
    ['nothing for HTTP/1.0 without Host', { httpVersion: '1.0', rawHeaders: [] }, ''],
    ['Host on HTTP/1.0', { httpVersion: '1.0' }, 'a'],
  ])('carries %s', (_, request, authority) => {
    expect(match(request)).toMatchObject({ authority })
  })

  test.each(['1.1 you', '1.1 me2', '1.1 xme', 'me you', '1.1 you (me)', '1.1 ME'])(
    'may have come by way of %j',
    (via) => {
      expect(match({ rawHeaders: ['Host', 'a', 'Via', via] })).toHaveProperty('operation')
    },
  )
})

describe('a request that is rejected', () => {
  const te = (value: string) => ({ rawHeaders: ['Host', 'a', 'Transfer-Encoding', value] })
  test.each<[string, TestRequest]>([
    ['uri-too-long', { url: '/'.padEnd(101, 'a') }],
    ['header-too-large', { rawHeaders: Array.from({ length: 22 }, (_, i) => (i % 2 === 0 ? 'A' : 'b')) }],
    ['header-too-large', { rawHeaders: ['Host', 'a', 'A', 'b'.repeat(1000)] }],
    ['bad-request', { rawHeaders: [] }],
    ['bad-request', { rawHeaders: ['Host', ''] }],
    ['bad-request', { rawHeaders: ['Host', 'a', 'host', 'a'] }],
    ['bad-request', { rawHeaders: ['Host', 'a,b'] }],
    ['bad-request', { httpVersion: '1.0', rawHeaders: ['Host', 'a/b'] }],
    ['bad-request', { url: '*' }],
    ['bad-request', { url: '/market/insights#x' }],
    ['bad-request', { url: 'http://u@a/market/insights' }],
    ['bad-request', { httpVersion: '1.0', ...te('chunked') }],
    ['bad-request', te('gzip')],
    ['bad-request', te('chunked, gzip')],
    ['bad-request', te('chunked, chunked')],
    ['bad-request', te(', chunked')],
    ['bad-request', { rawHeaders: ['Host', 'a', 'Content-Length', '9007199254740993'] }],
    ['unsupported-coding', te('gzip, chunked')],
    ['misdirected', { names: ['b'] }],
    ['misdirected', { names: ['a'], url: 'http://b/market/insights' }],
    ['misdirected', { names: ['a'], httpVersion: '1.0', rawHeaders: [] }],
    ['not-found', { url: '/market/insights/' }],
    ['not-found', { url: '/MARKET/insights' }],
    ['not-found', { method: 'BREW', url: '/x' }],
    ['method-not-allowed', { method: 'HEAD' }],
    ['method-not-allowed', { method: 'POST' }],
    ['loop', { rawHeaders: ['Host', 'a', 'Via', '1.1 me'] }],
    ['loop', { rawHeaders: ['Host', 'a', 'Via', '1.0 you, HTTP/1.1\tme (comment), 1.1 them'] }],
    ['loop', { rawHeaders: ['Host', 'a', 'Via', '1.1 you', 'Via', '1.1 me'] }],
  ])('is %s: %j', (kind, request) => {
    expect(match(request)).toMatchObject({ kind })
  })

  test.each<[string | null, TestRequest]>([
    ['bad-host', { rawHeaders: [] }],
    ['bad-host', { rawHeaders: ['Host', 'a', 'host', 'a'] }],
    ['bad-target', { url: '*' }],
    ['bad-transfer-coding', te('gzip')],
    ['bad-transfer-coding', { httpVersion: '1.0', ...te('chunked') }],
    ['bad-length', { rawHeaders: ['Host', 'a', 'Content-Length', '9007199254740993'] }],
    ['fields-too-large', { rawHeaders: ['Host', 'a', 'A', 'b'.repeat(1000)] }],
    [null, { url: '/x' }],
  ])('has the reason %s', (reason, request) => {
    expect(match(request)).toMatchObject({ reason })
  })

  test.each(allOperations)('is sent the one method of $id', ({ method, path }) => {
    expect(match({ method: 'DELETE', url: path })).toMatchObject({
      kind: 'method-not-allowed',
      reason: null,
      fields: ['Allow', method],
    })
  })

  test.each<[string, string, TestRequest]>([
    ['malformed', 'unknown', { url: '/x', rawHeaders: [] }],
    ['malformed', 'misdirected', { names: ['b'], rawHeaders: ['Host', 'a/b'] }],
    ['misdirected', 'unknown', { names: ['b'], url: '/x' }],
    ['unknown', 'the wrong method', { url: '/x', method: 'DELETE' }],
    ['too long', 'malformed', { url: '#'.padEnd(101, 'a') }],
    ['the wrong method', 'a loop', { method: 'PUT', rawHeaders: ['Host', 'a', 'Via', '1.1 me'] }],
  ])('is %s before it is %s', (first, _, request) => {
    const kinds: Record<string, string> = {
      malformed: 'bad-request',
      misdirected: 'misdirected',
      unknown: 'not-found',
      'too long': 'uri-too-long',
      'the wrong method': 'method-not-allowed',
    }

    expect(match(request)).toMatchObject({ kind: kinds[first] })
  })
})

// A pattern that tries each blank anew would take days.
test('a coding with a million blanks in it is rejected as fast as it is read', () => {
  const coding = `a${' '.repeat(1_000_000)}b`

  expect(validateFraming({ transferEncoding: coding, contentLength: null }, '1.1')).toMatchObject({
    reason: 'bad-transfer-coding',
  })
})
