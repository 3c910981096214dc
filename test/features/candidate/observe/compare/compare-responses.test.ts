import { brotliCompressSync, deflateSync, gzipSync, zstdCompressSync } from 'node:zlib'
import { describe, expect, test } from 'vitest'
import { createComparison } from '../../../../../src/features/candidate/observe/compare/compare-responses.ts'
import type {
  ComparedResponse,
  ComparisonRules,
} from '../../../../../src/features/candidate/observe/compare/comparison.ts'
import { comparedResponse, comparedResponseWith, createRules, longResponse } from './response.ts'

const maxBytes = 64 * 1024

const compare = (
  primary: ComparedResponse,
  candidate: ComparedResponse,
  rules: Partial<ComparisonRules> = {},
): readonly string[] => {
  const found = createComparison(createRules(rules), maxBytes)(primary, candidate)
  if (found.kind === 'uncompared') return [found.why]
  return found.differences.map(({ kind, pointer, primary, candidate, isSafe }) => {
    return `${kind} ${pointer}: ${primary} → ${candidate}${isSafe ? '' : ' (a value)'}`
  })
}

const json = 'application/json'

describe('the heads', () => {
  test('of another status say that, and nothing else is compared', () => {
    const candidate = comparedResponse('<html>', {
      status: 502,
      fields: ['Content-Type', 'text/html', 'Cache-Control', 'none'],
    })

    expect(compare(comparedResponse('{}'), candidate, { fields: ['Cache-Control'] })).toEqual(['status : 200 → 502'])
  })

  test('are compared in the fields that the rules name, whatever their case', () => {
    const primary = comparedResponseWith('{}', 'CACHE-CONTROL', 'max-age=60', 'Vary', 'A', 'Vary', 'B', 'ETag', '"1"')
    const candidate = comparedResponseWith('{}', 'cache-control', 'no-store', 'Vary', 'A, B', 'ETag', '"2"')
    const found = compare(primary, candidate, { fields: ['Cache-Control', 'Vary', 'Last-Modified'] })

    expect(found).toEqual(['field Cache-Control: max-age=60 → no-store (a value)'])
  })

  test.each([
    ['another type', 'text/html', 'text/html'],
    ['a parameter of JSON', 'application/json; charset=UTF-8', null],
    ['another case', 'Application/JSON', null],
    ['another charset', 'application/json; charset=latin1', 'application/json; charset=latin1'],
    ['another type of JSON', 'application/hal+json', 'application/hal+json'],
    ['what is no type', 'Jane Doe <jane@example.org>', 'malformed'],
  ])('are compared in their type: %s', (_, type, told) => {
    const found = compare(
      comparedResponseWith('[]', 'Content-Type', json),
      comparedResponseWith('[]', 'Content-Type', type),
    )

    expect(found).toEqual(told === null ? [] : [`content-type : application/json → ${told}`])
  })

  test('without a type, or with several, say so', () => {
    const several = comparedResponseWith('[]', 'Content-Type', json, 'content-type', 'text/html')

    expect(compare(comparedResponseWith('[]'), comparedResponse('[]'))).toEqual([
      'content-type : none → application/json',
    ])
    expect(compare(comparedResponse('[]'), several)).toEqual(['content-type : application/json → several'])
  })

  test('of a candidate that fails are told by the failure', () => {
    const rejected = comparedResponse('', { status: null, fields: [], failure: 'connect-failed' })
    const cut = comparedResponse('{"a":', { failure: 'truncated' })

    expect(compare(comparedResponse('{}'), rejected)).toEqual(['failure : 200 → connect-failed'])
    expect(compare(comparedResponse('{}'), cut)).toEqual(['failure : 200 → truncated'])
  })

  test('of a primary that fails are not compared', () => {
    const failed = comparedResponse('', { status: null, fields: [], failure: 'headers-timeout' })

    expect(compare(failed, comparedResponse('{}'))).toEqual(['primary-failed'])
    expect(compare(failed, failed)).toEqual(['primary-failed'])
  })

  test.each([
    [304, 200],
    [200, 304],
  ])('of %d and %d are not compared: a client’s validator is that of one upstream', (primary, candidate) => {
    expect(compare(comparedResponse('{}', { status: primary }), comparedResponse('{}', { status: candidate }))).toEqual(
      ['not-modified'],
    )
  })

  test('that differ are told also where the bodies cannot be compared', () => {
    const candidate = comparedResponseWith('{}', 'Content-Type', json, 'Vary', 'A')

    const primary = longResponse(10 * maxBytes, null, json)
    expect(compare(primary, candidate, { fields: ['Vary'] })).toEqual(['field Vary:  → A (a value)'])
  })
})

describe('the bodies', () => {
  const hash = 'a'.repeat(64)
  const pdf = (text: string) => comparedResponseWith(text, 'Content-Type', 'application/pdf')

  test('of another type than JSON are compared by their bytes, and told by length and hash', () => {
    expect(compare(pdf('%PDF 1'), pdf('%PDF 1'))).toEqual([])
    expect(compare(pdf('%PDF 1'), pdf('%PDF 12'))).toEqual([
      'bytes : 6 bytes, SHA-256 24c92237fd6269ee → 7 bytes, SHA-256 12f5a6094d1b0df1 (a value)',
    ])
  })

  test('that are longer than is kept are compared by hash and length', () => {
    expect(compare(longResponse(1000, hash), longResponse(1000, hash))).toEqual([])
    expect(compare(longResponse(1000, hash), longResponse(999, 'b'.repeat(64)))).toEqual([
      'bytes : 1000 bytes, SHA-256 aaaaaaaaaaaaaaaa → 999 bytes, SHA-256 bbbbbbbbbbbbbbbb (a value)',
    ])
    expect(compare(longResponse(1000, hash), pdf('%PDF 1'))).toHaveLength(1)
  })

  test.each([
    ['longer than is read', longResponse(1000, null), longResponse(1000, null)],
    ['JSON', longResponse(1000, hash, json), longResponse(999, 'b'.repeat(64), json)],
    ['JSON, and one of them is kept', longResponse(1000, hash, json), comparedResponse('{}')],
  ])('that are longer than is kept are not compared: %s', (_, primary, candidate) => {
    expect(compare(primary, candidate)).toEqual(['too-large'])
  })

  const withCoding = (body: Buffer, coding: string) =>
    comparedResponseWith(body, 'Content-Type', json, 'Content-Encoding', coding)
  const bomb = gzipSync(Buffer.alloc(10 * maxBytes, ' '))
  const gzipped = withCoding(gzipSync('{}'), 'gzip')
  const snappy = withCoding(Buffer.from('x'), 'snappy')
  const corrupt = withCoding(Buffer.from('{}'), 'gzip')

  test('that the candidate makes so long that the rest was not read differ, unless a coding makes them shorter', () => {
    const cut = longResponse(70_000, null, json)
    const more = '→ more than 70000 bytes (a value)'

    expect(compare(comparedResponse('{}'), cut)).toEqual([`bytes : 2 bytes, SHA-256 44136fa355b3678a ${more}`])
    expect(compare(gzipped, cut)).toEqual(['too-large'])
    expect(compare(longResponse(1000, hash, json), cut)).toEqual(['too-large'])
    expect(compare(longResponse(1000, hash), longResponse(70_000, null))).toEqual([
      `bytes : 1000 bytes, SHA-256 aaaaaaaaaaaaaaaa ${more}`,
    ])
  })

  test.each([
    ['gzip', gzipSync],
    ['deflate', deflateSync],
    ['br', brotliCompressSync],
    ['zstd', zstdCompressSync],
  ])('are decoded: one document with %s, and without', (coding, encode) => {
    const coded = (body: string) => withCoding(encode(Buffer.from(body)), coding)

    expect(compare(coded('{"a":1,"b":2}'), comparedResponse('{"b":2,"a":1}'))).toEqual([])
    expect(compare(coded('{"a":1}'), coded('{"a":2}'))).toEqual(['value /a: 1 → 2 (a value)'])
  })

  test.each<[string, ComparedResponse, ComparedResponse, string | null]>([
    ['larger than the bound when decoded', withCoding(bomb, 'gzip'), comparedResponse('{}'), 'too-large'],
    ['of a coding that the gateway does not know', snappy, comparedResponse('{}'), 'coded'],
    ['of several codings', withCoding(Buffer.from('x'), 'gzip, gzip'), comparedResponse('{}'), 'coded'],
    ['of an unknown coding, with the same bytes', snappy, snappy, null],
    ['not in the coding that they say', gzipped, corrupt, 'unreadable : readable → corrupt'],
    [
      'not in the coding that they say, beside plain ones',
      comparedResponse('{}'),
      corrupt,
      'unreadable : readable → corrupt',
    ],
  ])('that are %s', (_, primary, candidate, told) => {
    expect(compare(primary, candidate)).toEqual(told === null ? [] : [told])
  })

  test('that are a part of a document are compared by their bytes', () => {
    const part = (body: string) => comparedResponse(body, { status: 206 })

    expect(compare(part('{"a":1,"b'), part('{"a":1,"b'))).toEqual([])
    expect(compare(part('{"a":1}'), part('{"a": 1}'))).toHaveLength(1)
  })

  test('with more differences than are told apart say so', () => {
    const members = (value: number) =>
      JSON.stringify(Object.fromEntries(Array.from({ length: 60 }, (_, n) => [`m${n}`, value])))
    const found = createComparison(createRules(), maxBytes)(comparedResponse(members(1)), comparedResponse(members(2)))

    expect(found).toMatchObject({ kind: 'compared', isCut: true })
    expect(found.kind === 'compared' && found.differences.length).toBe(50)
  })
})
