import { describe, expect, test } from 'vitest'
import { parseByteRange, planResponse, storedFields } from '../../../../src/features/cache/cache-response.ts'
import { pairWith } from '../../../helpers/table.ts'
import { at, createRequest, createStoredHead, noon } from './helper.ts'

const base = ['Cache-Control', 'max-age=10', 'Date', at(0)]
const stored = (...fields: string[]) =>
  createStoredHead([...base, 'Content-Type', 'a/b', 'Content-Length', '10', ...fields])

const served = (head: ReturnType<typeof stored>, request: string[], bodyBytes: number | null = 10) =>
  planResponse(head, bodyBytes, createRequest(request), head.fields)
const statusOf = (head: ReturnType<typeof stored>, request: string[]): number => served(head, request).status

test('a response from memory has its age, in whole seconds', () => {
  const head = createStoredHead([...base, 'Age', '3'])

  expect(storedFields(head, noon + 1999)).toEqual([...base, 'Age', '4'])
  expect(storedFields(head, noon - 99_000)).toEqual([...base, 'Age', '0'])
  expect(storedFields(head, noon + 1e15)).toEqual([...base, 'Age', '2147483648'])
})

test('a request without demands gets the whole, with the very fields', () => {
  const head = stored('ETag', '"a"')

  expect(served(head, [])).toEqual({ status: 200, fields: head.fields, body: 'whole' })
})

describe('conditions', () => {
  const tagged = stored('ETag', '"a"', 'Last-Modified', at(-100))

  test.each([
    // RFC 9110 §13.1.2
    [['If-None-Match', '"a"'], 304],
    [['If-None-Match', 'W/"a"'], 304],
    [['If-None-Match', '"b", "a"'], 304],
    [['If-None-Match', '"b"', 'If-None-Match', '"a"'], 304],
    [['If-None-Match', ' * '], 304],
    [['If-None-Match', '"b"'], 200],
    [['If-None-Match', 'a'], 200],
    [['If-None-Match', ''], 200],
    // §13.1.3
    [['If-Modified-Since', at(-100)], 304],
    [['If-Modified-Since', at(0)], 304],
    [['If-Modified-Since', at(-101)], 200],
    [['If-Modified-Since', 'yesterday'], 200],
    [['If-Modified-Since', at(0), 'If-Modified-Since', at(0)], 200],
    // If-None-Match alone counts (§13.2.2)
    [['If-None-Match', '"b"', 'If-Modified-Since', at(0)], 200],
    [['If-None-Match', '"a"', 'If-Modified-Since', at(-101)], 304],
    // before the Range
    [['If-None-Match', '"a"', 'Range', 'bytes=0-1'], 304],
    [['If-None-Match', '"b"', 'Range', 'bytes=0-1'], 206],
  ])('%j: %d', (request, status) => {
    expect(statusOf(tagged, request)).toBe(status)
  })

  test('do not count without what they are compared with', () => {
    expect(statusOf(stored(), ['If-None-Match', '"a"'])).toBe(200)
    expect(statusOf(stored(), ['If-None-Match', '*'])).toBe(304)
    const dated = stored('Last-Modified', at(-100))
    expect(statusOf(dated, ['If-None-Match', '"a"', 'If-Modified-Since', at(0)])).toBe(200)
  })

  test('without Last-Modified, the Date is compared', () => {
    expect(statusOf(stored(), ['If-Modified-Since', at(0)])).toBe(304)
    expect(statusOf(stored(), ['If-Modified-Since', at(-1)])).toBe(200)
  })

  test.each([404, 301, 500])('do not count for a %d', (status) => {
    const head = createStoredHead([...base, 'ETag', '"a"'], { status })

    expect(statusOf(head, ['If-None-Match', '"a"'])).toBe(status)
    expect(statusOf(head, ['Range', 'bytes=0-1'])).toBe(status)
  })

  test('are evaluated before the body is complete', () => {
    expect(served(tagged, ['If-None-Match', '"a"'], null).status).toBe(304)
    expect(served(tagged, ['Range', 'bytes=0-1'], null).status).toBe(200)
  })
})

test('a 304 has what guides caches, and no other field that describes the representation', () => {
  const guiding = ['ETag', '"a"', 'Vary', 'X', 'Content-Location', '/x', 'Expires', at(9), 'X-A', '1']
  const head = stored(...guiding, 'Last-Modified', at(-9), 'Content-Encoding', 'br', 'Content-Language', 'de')

  expect(served(head, ['If-None-Match', '"a"'])).toEqual({ status: 304, fields: [...base, ...guiding], body: 'none' })
})

test('a 304 keeps Last-Modified where there is no ETag', () => {
  const head = stored('Last-Modified', at(-9))

  expect(served(head, ['If-Modified-Since', at(0)]).fields).toEqual([...base, 'Last-Modified', at(-9)])
})

describe('a range', () => {
  test.each([
    [{ start: 0, end: 2 }, ['bytes=0-1', 'Bytes = 0-1', 'bytes=,0-1,']],
    [{ start: 9, end: 10 }, ['bytes=9-9']],
    [{ start: 3, end: 10 }, ['bytes=3-', 'bytes=3-999999999999999999999999']],
    [{ start: 7, end: 10 }, ['bytes=-3']],
    [{ start: 0, end: 10 }, ['bytes=-99']],
    ['unsatisfiable', ['bytes=10-', 'bytes=10-11', 'bytes=-0']],
    [null, ['bytes=1-0', 'bytes=0-1,3-4', 'bytes=0-1,x', 'bytes=', 'bytes=-', 'bytes=a-b', 'bytes=0 -1']],
    [null, ['bytes 0-1', 'lines=0-1', '']],
  ])('of ten bytes is %j: %j', (expected, ranges) => {
    expect(pairWith(ranges, (range) => parseByteRange(range, 10))).toEqual(pairWith(ranges, () => expected))
  })

  test('of an empty body is none, and its end is no range', () => {
    expect([parseByteRange('bytes=0-', 0), parseByteRange('bytes=-1', 0)]).toEqual(['unsatisfiable', null])
  })

  test('is served with its position', () => {
    const head = stored('ETag', '"a"', 'Content-Digest', 'x')

    expect(served(head, ['Range', 'bytes=2-4'])).toEqual({
      status: 206,
      fields: [...base, 'Content-Type', 'a/b', 'ETag', '"a"', 'Content-Range', 'bytes 2-4/10', 'Content-Length', '3'],
      body: { start: 2, end: 5 },
    })
  })

  test('beyond the end gets the length', () => {
    expect(served(stored(), ['Range', 'bytes=10-'])).toEqual({
      status: 416,
      fields: ['Content-Range', 'bytes */10', 'Content-Length', '0'],
      body: 'none',
    })
  })

  test('by If-Range omits what the client has', () => {
    const head = stored('ETag', '"a"', 'Last-Modified', at(-9))

    expect(served(head, ['Range', 'bytes=2-4', 'If-Range', '"a"']).fields).toEqual([
      ...[...base, 'ETag', '"a"', 'Content-Range', 'bytes 2-4/10', 'Content-Length', '3'],
    ])
  })

  // RFC 9110 §13.1.5
  test.each([
    [['ETag', '"a"'], '"a"', 206],
    [['ETag', '"a"'], '"b"', 200],
    [['ETag', 'W/"a"'], 'W/"a"', 200],
    [['ETag', '"a"'], 'W/"a"', 200],
    [['ETag', 'W/"a"'], '"a"', 200],
    [[], '"a"', 200],
    [['Last-Modified', at(-1)], at(-1), 206],
    [['Last-Modified', at(-1)], at(0), 200],
    [['Last-Modified', at(0)], at(0), 200],
    [['Last-Modified', at(-1)], 'x', 200],
    [[], at(0), 200],
  ])('of a response with %j, if it is %j: %d', (fields, ifRange, status) => {
    expect(statusOf(stored(...fields), ['Range', 'bytes=0-1', 'If-Range', ifRange])).toBe(status)
    expect(statusOf(stored(...fields), ['If-Range', ifRange])).toBe(200)
  })
})
