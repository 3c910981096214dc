import { describe, expect, test } from 'vitest'
import { conditionFields, freshenStored } from '../../../../src/features/cache/policy/storability.ts'
import { at, createRequest, createStoredHead, noon, rules } from './helper.ts'

const cc = (value: string): string[] => ['Cache-Control', value]
const stored = (...fields: string[]) => createStoredHead([...cc('max-age=10'), 'Date', at(0), 'X-A', '1', ...fields])

const later = noon + 100_000
const freshen = (head: ReturnType<typeof stored>, fields: string[], request: string[] = [], delay = 0) =>
  freshenStored(
    head,
    createRequest(request),
    { status: 304, reason: '', fields },
    { requestedAt: later - delay, receivedAt: later, receivedEpoch: later },
    rules(),
  )
const updatedBy = (head: ReturnType<typeof stored>, fields: string[], request: string[] = []) => {
  const result = freshen(head, fields, request)
  if (result.kind !== 'updated') throw new Error(result.kind)
  return result
}

test.each([
  [
    ['ETag', '"a"'],
    ['If-None-Match', '"a"'],
  ],
  [
    ['ETag', 'W/"a"'],
    ['If-None-Match', 'W/"a"'],
  ],
  [
    ['Last-Modified', at(-9)],
    ['If-Modified-Since', at(-9)],
  ],
  [
    ['ETag', '"a"', 'Last-Modified', at(-9)],
    ['If-None-Match', '"a"', 'If-Modified-Since', at(-9)],
  ],
  [['ETag', 'a', 'Last-Modified', 'x'], []],
])('a response with %j is validated by %j', (fields, conditions) => {
  expect(conditionFields(stored(...fields))).toEqual(conditions)
})

describe('a 304 is about the stored response', () => {
  const modified = ['Last-Modified', at(-9)]

  // RFC 9111 §4.3.4
  test.each([
    [['ETag', '"a"'], ['ETag', '"a"'], 'updated'],
    [['ETag', '"a"'], ['ETag', '"b"'], 'other'],
    [['ETag', 'W/"a"'], ['ETag', '"a"'], 'other'],
    [['ETag', 'W/"a"'], ['ETag', 'W/"a"'], 'updated'],
    [['ETag', '"a"'], ['ETag', 'W/"a"'], 'updated'],
    [['ETag', 'W/"a"'], ['ETag', 'W/"b"'], 'other'],
    [['ETag', 'W/"a"', ...modified], ['ETag', 'W/"b"', ...modified], 'other'],
    [modified, ['ETag', '"a"', ...modified], 'other'],
    [modified, ['ETag', 'W/"a"', ...modified], 'updated'],
    [modified, ['ETag', 'W/"a"'], 'other'],
    [modified, modified, 'updated'],
    [modified, ['Last-Modified', at(-8)], 'other'],
    [['ETag', '"a"', ...modified], ['ETag', '"a"', 'Last-Modified', at(-8)], 'updated'],
    [['ETag', '"a"', ...modified], modified, 'updated'],
    [['ETag', '"a"'], modified, 'other'],
    [['ETag', '"a"'], [], 'reused'],
    [modified, [], 'reused'],
  ])('%j and a 304 with %j: %s', (before, received, kind) => {
    expect(freshen(stored(...before), received).kind).toBe(kind)
  })
})

describe('an updated response', () => {
  const head = stored('ETag', '"a"', 'Content-Type', 'a/b', 'Content-Length', '12', 'X-B', '2', 'x-b', '3')

  test('has the fields of the 304 in place of those with their names', () => {
    const added = ['etag', '"a"', 'Date', at(100), 'X-b', '4', 'X-C', '5', 'content-type', 'c/d']

    const { fields, stored } = updatedBy(head, added)

    expect(fields).toEqual([...cc('max-age=10'), 'X-A', '1', 'Content-Length', '12', ...added])
    expect(stored.head?.fields).toEqual(fields)
  })

  // §3.2
  test.each(['Content-Length', 'content-encoding', 'Content-Range', 'Content-Digest'])('keeps its %s', (name) => {
    const { fields } = updatedBy(head, ['ETag', '"a"', name, '99'])

    expect(fields).toContain('12')
    expect(fields).not.toContain('99')
  })

  test('is fresh from then on, by the last lifetime', () => {
    expect(updatedBy(head, ['ETag', '"a"', 'Date', at(100)]).stored.head).toMatchObject({
      bornAt: later,
      freshUntil: later + 10_000,
    })
    expect(updatedBy(head, ['ETag', '"a"', ...cc('max-age=50')]).stored.head?.freshUntil).toBe(later + 50_000)
    expect(updatedBy(head, ['ETag', '"a"', 'Age', '3']).stored.head?.bornAt).toBe(later - 3000)
  })

  test('was made when the 304 was, or arrived', () => {
    const { stored, fields } = updatedBy(head, ['ETag', '"a"'])

    expect(stored.head).toMatchObject({ date: later, bornAt: later })
    expect(stored.head?.fields).toContain(at(100))
    expect(fields).not.toContain(at(0))
  })

  test('is sent with the Age of the 304, and stored without', () => {
    const { stored, fields } = updatedBy(head, ['ETag', '"a"', 'Age', '3'])

    expect(fields.slice(-2)).toEqual(['Age', '3'])
    expect(stored.head?.fields).not.toContain('Age')
  })

  test.each([
    [cc('no-store'), 'no-store'],
    [cc('private'), 'private'],
    [['Set-Cookie', 'a=b'], 'set-cookie'],
    [['Vary', '*'], 'vary'],
  ])('is sent and no longer stored after %j', (added, notStored) => {
    const { stored, fields } = updatedBy(head, ['ETag', '"a"', ...added])

    expect(stored).toEqual({ head: null, notStored })
    expect(fields).toEqual(expect.arrayContaining(added))
  })

  test('is selected by its new Vary', () => {
    const { stored } = updatedBy(head, ['ETag', '"a"', 'Vary', 'Accept'], ['Accept', 'x'])

    expect(stored.head).toMatchObject({ varies: ['accept'], selecting: 'accept:x\n' })
  })
})

test('a response is used once after a 304 without validators, and stays as old as it is', () => {
  const head = stored('ETag', '"a"')

  expect(freshen(head, cc('max-age=999'))).toEqual({ kind: 'reused', fields: head.fields })
})
