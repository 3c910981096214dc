import { describe, expect, test } from 'vitest'
import { conditionFields, freshenStored } from '../../../../src/features/cache/policy/storability.ts'
import { withContentLength } from '../../../../src/features/cache/policy/stored-head.ts'
import { pairWith } from '../../../helpers/table.ts'
import { at, createRequest, createStoredHead, getReason, noon, rules } from './helper.ts'

const cc = (value: string): string[] => ['Cache-Control', value]
const modified = ['Last-Modified', at(-1000)]

describe('a response by its status', () => {
  const [lasting, guessed] = [{ fields: cc('max-age=1') }, { fields: modified, heuristic: true }]
  const understanding = { fields: cc('must-understand, max-age=1') }
  const ofRange = { ...lasting, request: ['Range', 'bytes=9-'] }

  test.each([
    ['stored', lasting, null, [200, 203, 204, 299, 300, 302, 307, 400, 404, 418, 499, 500, 503, 599]],
    ['not stored', lasting, 'status', [101, 199, 206, 304, 600, 999]],
    ['not stored where it is about a range', ofRange, 'status', [416]],
    // RFC 9110 §15.1
    ['heuristically cacheable', guessed, null, [200, 203, 204, 300, 301, 308, 404, 405, 410, 414, 501]],
    ['not heuristically cacheable', guessed, 'no-lifetime', [201, 302, 303, 307, 400, 403, 418, 500, 502, 503]],
    // RFC 9111 §5.2.2.3
    ['understood', understanding, null, [200, 205, 307, 408, 426, 505]],
    ['not understood', understanding, 'status', [226, 298, 299, 418, 451, 511]],
    [
      'not understood, though no-store stands there',
      { fields: cc('must-understand, no-store, max-age=1') },
      'status',
      [299],
    ],
  ])('is %s', (_, { fields, ...given }, reason, statuses) => {
    const reasons = pairWith(statuses, (status) => getReason(fields, { ...given, status }))

    expect(reasons).toEqual(pairWith(statuses, () => reason))
  })
})

describe('a response by its directives', () => {
  test.each([
    [null, ['max-age=1', 's-maxage=1', 'max-age=1, x="no-store"', 'private="x-a", max-age=1', 'max-age=0']],
    [null, ['max-age=x', 'must-understand, max-age=1', 'must-understand, no-store, max-age=1']],
    ['no-lifetime', ['public', 'no-transform', 'no-cache']],
    ['already-stale', ['no-cache, max-age=1', 'max-age=0, must-revalidate']],
    ['no-store', ['no-store, max-age=1', 'No-Store, max-age=1', 'must-understand=x, no-store, max-age=1']],
    ['private', ['private, max-age=1', 'public, private, max-age=1', 'must-understand, no-store, private, max-age=1']],
    ['private', ['private="content-type", max-age=1', 'private="x-a, Date", max-age=1', 'private="etag", max-age=1']],
  ])('%s: %j', (reason, values) => {
    expect(pairWith(values, (value) => getReason(cc(value)))).toEqual(pairWith(values, () => reason))
  })

  test('no-cache with a validator is stored', () => {
    const head = createStoredHead([...cc('no-cache'), 'ETag', '"a"'])

    expect(head).toMatchObject({ noCache: true, mayBeStale: false, etag: '"a"' })
  })

  test('Expires alone is enough, a wrong one as well', () => {
    expect(createStoredHead(['Expires', at(5)]).freshUntil).toBe(noon + 5000)
    expect(createStoredHead(['Expires', '0']).freshUntil).toBe(noon)
  })

  test('a response that is stale already, and can never be served, is not', () => {
    expect(getReason(cc('max-age=0'), { staleWhenDisconnected: 0 })).toBe('already-stale')
    expect(getReason([...cc('max-age=0'), 'ETag', '"a"'], { staleWhenDisconnected: 0 })).toBeNull()
  })
})

describe('a response by its request', () => {
  const shared = true

  test.each([
    [null, ['max-age=1, public', 'max-age=1, must-revalidate', 's-maxage=1']],
    ['authorization', ['max-age=1', 's-maxage=x', 'max-age=1, public=1', 'max-age=1, proxy-revalidate']],
  ])('with Authorization: %s: %j', (reason, values) => {
    const request = ['Authorization', 'Bearer x']
    const reasons = pairWith(values, (value) => getReason([...cc(value), 'ETag', '"a"'], { shared, request }))

    expect(reasons).toEqual(pairWith(values, () => reason))
  })

  test.each([
    ['Cookie', 'a=b'],
    ['X-Api-Key', 'x'],
  ])('with %s, it has to name its lifetime', (name, value) => {
    const request = [name, value]

    expect(getReason([...cc('public'), ...modified], { shared, heuristic: true, request })).toBe('credentials')
    expect(getReason([...cc('no-cache'), ...modified], { shared, request })).toBe('credentials')
    expect(getReason(cc('max-age=1'), { shared, request })).toBeNull()
  })

  test.each([
    [[], 'no-lifetime'],
    [cc('max-age=0, must-revalidate'), 'already-stale'],
    [cc('max-age=0, proxy-revalidate'), 'already-stale'],
    [[...cc('max-age=1'), 'Set-Cookie', 'a=b'], 'set-cookie'],
    [[...cc('max-age=1'), 'Vary', '*'], 'vary'],
  ])('with credentials, these are no reason where there is another: %j is %s', (fields, reason) => {
    expect(getReason(fields, { shared, request: ['Authorization', 'Bearer x', 'Cookie', 'a=b'] })).toBe(reason)
  })

  test('with no-store, never', () => {
    expect(getReason(cc('max-age=1'), { request: cc('no-store') })).toBe('no-store')
  })
})

test.each([
  ['that sets a cookie', [...cc('max-age=1'), 'Set-Cookie', 'a=b'], 'set-cookie'],
  ['that sets a cookie, and is public', [...cc('max-age=1, public'), 'Set-Cookie', 'a=b'], null],
  ['that varies by everything', [...cc('max-age=1'), 'Vary', 'Accept, *'], 'vary'],
])('a response %s with %j: %s', (_, fields, reason) => {
  expect(getReason(fields)).toBe(reason)
})

/** The lifetime of a stored response, in seconds. */
const lifetime = (...given: Parameters<typeof createStoredHead>): number => {
  const { freshUntil, bornAt } = createStoredHead(...given)
  return (freshUntil - bornAt) / 1000
}

describe('freshness', () => {
  test.each([
    ['max-age', cc('max-age=10'), 10],
    ['s-maxage before max-age', cc('max-age=10, s-maxage=20'), 20],
    ['max-age before Expires', [...cc('max-age=10'), 'Expires', at(99)], 10],
    ['a wrong max-age before Expires', [...cc('max-age=x'), 'Expires', at(99)], 0],
    ['a wrong s-maxage before max-age', [...cc('max-age=10, s-maxage=x'), 'ETag', '"a"'], 0],
    ['Expires from Date', ['Date', at(-5), 'Expires', at(5)], 10],
    ['Expires from arrival, without a Date', ['Expires', at(10)], 10],
    ['Expires from arrival, with a wrong Date', ['Date', 'x', 'Expires', at(10)], 10],
    ['Expires in the past', ['Date', at(0), 'Expires', at(-10)], 0],
    ['Expires that is no date', ['Expires', 'tomorrow'], 0],
    ['Expires twice, the same', ['Expires', at(9), 'Expires', at(9)], 9],
    ['Expires twice', ['Expires', at(9), 'Expires', at(8)], 0],
    ['max-age twice', cc('max-age=9, max-age=8'), 0],
    ['a huge max-age', cc(`max-age=${'9'.repeat(99)}`), 2 ** 31],
  ])('is that of %s', (_, fields, seconds) => {
    expect(lifetime(fields)).toBe(seconds)
  })

  test.each([
    ['a tenth of the time since it was modified', {}, modified, 100],
    ['a day at most', {}, ['Last-Modified', at(-30 * 86_400)], 86_400],
    ['for a status of those', { status: 404 }, modified, 100],
    ['for what says public', { status: 202 }, [...cc('public'), ...modified], 100],
  ])('may be guessed: %s', (_, given, fields, seconds) => {
    expect(createStoredHead(fields, { heuristic: true, ...given }).isHeuristic).toBe(true)
    expect(lifetime(['Date', at(0), ...fields], { heuristic: true, ...given })).toBe(seconds)
  })

  test('is guessed from Date where there is one, and not from a Last-Modified in the future', () => {
    expect(lifetime(['Date', at(-500), 'Last-Modified', at(-1500)], { heuristic: true })).toBe(100)
    expect(lifetime(['Last-Modified', at(1000)], { heuristic: true })).toBe(0)
  })

  test.each([
    ['unless it is configured', modified, {}],
    ['without Last-Modified', ['ETag', '"a"'], { heuristic: true }],
    ['from a Last-Modified that is no date', ['Last-Modified', 'yesterday'], { heuristic: true }],
    ['for another status', modified, { heuristic: true, status: 202 }],
  ])('is not guessed %s', (_, fields, given) => {
    expect(getReason(fields, given)).toBe('no-lifetime')
  })

  test.each([
    ['a 200, and nothing else is said', { ttl: { 200: 60_000 } }, [], 60],
    ['a status beside 200', { ttl: { 200: 60_000, 404: 5_000 }, status: 404 }, [], 5],
    ['what says public, and no lifetime', { ttl: { 200: 60_000 } }, cc('public'), 60],
    ['what has Last-Modified, where nothing is guessed from it', { ttl: { 200: 60_000 } }, modified, 60],
    ['the shorter of ttl and the guess', { ttl: { 200: 60_000 }, heuristic: true }, modified, 60],
    ['the shorter of the guess and ttl', { ttl: { 200: 600_000 }, heuristic: true }, modified, 100],
  ])('is what ttl says for %s (RFC 9111 §4.2.2)', (_, given, fields, seconds) => {
    expect(createStoredHead(fields, given).isHeuristic).toBe(true)
    expect(lifetime(['Date', at(0), ...fields], given)).toBe(seconds)
  })

  test.each([
    ['a status that ttl does not name', 'no-lifetime', [], { status: 404 }],
    ['a 500', 'no-lifetime', [], { status: 500 }],
    ['a 503', 'no-lifetime', [], { status: 503 }],
    ['what says no-store', 'no-store', cc('no-store'), {}],
    ['what says private', 'private', cc('private'), {}],
    ['what sets a cookie', 'set-cookie', ['Set-Cookie', 'a=b'], {}],
    ['a request with Authorization', 'authorization', [], { shared: true, request: ['Authorization', 'x'] }],
    ['a request with a cookie', 'credentials', [], { shared: true, request: ['Cookie', 'a=b'] }],
  ])('is not what ttl says for %s', (_, why, fields, given) => {
    expect(getReason(fields, { ttl: { 200: 60_000 }, ...given })).toBe(why)
  })

  test.each([
    ['max-age', cc('max-age=5'), 5],
    ['Expires', ['Date', at(0), 'Expires', at(7)], 7],
    ['s-maxage', cc('s-maxage=9'), 9],
    ['a wrong max-age', [...cc('max-age=x'), ...modified], 0],
  ])('is the response’s own by %s, whatever ttl says', (_, fields, seconds) => {
    expect(createStoredHead(fields, { ttl: { 200: 60_000 }, heuristic: true }).isHeuristic).toBe(false)
    expect(lifetime(fields, { ttl: { 200: 60_000 }, heuristic: true })).toBe(seconds)
  })
})

describe('age', () => {
  test.each([
    ['none', [], 0, 0],
    ['the delay of the response', [], 2000, 2000],
    ['since its Date', ['Date', at(-7)], 2000, 7000],
    ['not less than nothing', ['Date', at(7)], 0, 0],
    ['its Age and the delay', ['Age', '5'], 2000, 7000],
    ['whichever is more: since its Date', ['Age', '5', 'Date', at(-60)], 2000, 60_000],
    ['whichever is more: its Age', ['Age', '60', 'Date', at(-5)], 0, 60_000],
    ['the first of several', ['Age', '5, 6', 'Age', '7'], 0, 5000],
    ['the first that is not empty (RFC 9110 §5.6.1.2)', ['Age', '', 'Age', ' , 5,'], 0, 5000],
    ['not what is no number', ['Age', '5x'], 0, 0],
    ['not what is negative', ['Age', '-5'], 0, 0],
    ['a bounded one', ['Age', '9'.repeat(99)], 0, 2 ** 31 * 1000],
  ])('is %s', (_, fields, delay, age) => {
    expect(noon - createStoredHead([...cc('max-age=9'), 'ETag', '"a"', ...fields], { delay }).bornAt).toBe(age)
  })
})

describe('staleness', () => {
  test.each([
    ['max-age=10', {}, [0, 0, 60]],
    ['max-age=10, stale-while-revalidate=20, stale-if-error=30', {}, [20, 30, 60]],
    ['max-age=10', { staleWhileRevalidate: 2000, staleIfError: 3000, staleWhenDisconnected: 4000 }, [2, 3, 4]],
    ['max-age=9, stale-if-error=0, stale-while-revalidate=x', { staleWhileRevalidate: 1, staleIfError: 1 }, [0, 0, 60]],
    ['max-age=10, must-revalidate, stale-if-error=30', { staleIfError: 9 }, [0, 0, 0]],
    ['max-age=10, proxy-revalidate, stale-if-error=30', { staleWhileRevalidate: 9 }, [0, 0, 0]],
    ['s-maxage=10, stale-while-revalidate=30', {}, [0, 0, 0]],
    ['max-age=10, s-maxage=x', {}, [0, 0, 0]],
    ['max-age=10, no-cache, stale-if-error=30', {}, [0, 0, 0]],
  ])('of %j with %j', (value, given, seconds) => {
    const head = createStoredHead([...cc(value), 'ETag', '"a"'], given)

    const until = [head.staleWhileRevalidateUntil, head.staleIfErrorUntil, head.staleWhenDisconnectedUntil]
    expect(until.map((ms) => (ms - head.freshUntil) / 1000)).toEqual(seconds)
    expect(head.mayBeStale).toBe(seconds[2] !== 0)
  })
})

describe('a stored response', () => {
  test.each([
    ['all fields but Age', ['age', '3', 'X-A', '1', 'x-a', '2'], ['X-A', '1', 'x-a', '2', 'Date', at(0)]],
    ['a Date in place of one that cannot be read', ['Date', 'x'], ['Date', at(0)]],
    ['its own Date', ['DATE', at(-1)], ['DATE', at(-1)]],
  ])('has %s', (_, fields, kept) => {
    expect(createStoredHead([...cc('max-age=9'), ...fields]).fields).toEqual([...cc('max-age=9'), ...kept])
  })

  test('has no private field, nor one that would need validation', () => {
    const kept = [...cc('max-age=9, private="X-A", no-cache="x-b"'), 'Date', at(0)]

    expect(createStoredHead([...kept, 'x-a', '1', 'X-B', '2', 'X-C', '3'])).toMatchObject({
      fields: [...kept, 'X-C', '3'],
      noCache: false,
      mayBeStale: true,
    })
  })

  test('has only sound validators', () => {
    const withFields = (...fields: string[]) => createStoredHead([...cc('max-age=9'), 'Date', at(0), ...fields])

    expect([withFields('ETag', ' W/"a" ').etag, withFields('ETag', 'a').etag]).toEqual(['W/"a"', null])
    expect(withFields('ETag', '"a"', 'ETag', '"b"').etag).toBeNull()
    expect(withFields('Last-Modified', 'x')).toMatchObject({ lastModified: null, lastModifiedAt: null })
    expect(withFields('Last-Modified', at(0))).toMatchObject({ lastModifiedAt: noon, isLastModifiedStrong: false })
    expect(withFields('Last-Modified', at(-1))).toMatchObject({ lastModified: at(-1), isLastModifiedStrong: true })
    expect(createStoredHead([...cc('max-age=9'), 'Last-Modified', at(-99)]).isLastModifiedStrong).toBe(false)
  })

  test('has to be validated each time, where no-cache names what a cache goes by', () => {
    const fields = [...cc('max-age=9, no-cache="x-a, vary"'), 'ETag', '"a"', 'Date', at(0), 'X-A', '1']

    expect(createStoredHead(fields)).toMatchObject({ noCache: true, mayBeStale: false, fields })
  })

  test('can be written as JSON', () => {
    const head = createStoredHead([...cc('max-age=9'), 'Vary', 'Accept', 'ETag', '"a"'], { request: ['Accept', 'x'] })

    expect(JSON.parse(JSON.stringify(head))).toEqual(head)
  })

  test('counts its fields and what it was selected by', () => {
    const small = createStoredHead([...cc('max-age=9')]).bytes
    const large = createStoredHead([...cc('max-age=9'), 'X-A', 'a'.repeat(1000)]).bytes
    const varied = createStoredHead([...cc('max-age=9'), 'Vary', 'X-B'], { request: ['X-B', 'b'.repeat(1000)] }).bytes

    expect(large - small).toBeGreaterThan(1000)
    expect(varied - small).toBeGreaterThan(1000)
  })
})

test('the length of a body is added where it came without, but to a 204, and has to be the declared one', () => {
  const [open, declared] = [
    createStoredHead(cc('max-age=9')),
    createStoredHead([...cc('max-age=9'), 'Content-Length', '12']),
  ]
  const empty = createStoredHead(cc('max-age=9'), { status: 204 })

  const complete = withContentLength(open, 12)

  expect(complete?.fields).toEqual([...open.fields, 'Content-Length', '12'])
  expect(complete?.bytes).toBeGreaterThan(open.bytes)
  expect([withContentLength(declared, 12), withContentLength(declared, 11)]).toEqual([declared, null])
  expect(withContentLength(empty, 0)).toBe(empty)
})

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

const [ofTag, ofWeakTag, ofDate] = [
  ['If-None-Match', '"a"'],
  ['If-None-Match', 'W/"a"'],
  ['If-Modified-Since', at(-9)],
]

test.each([
  ['a tag', ['ETag', '"a"'], ofTag],
  ['a weak tag', ['ETag', 'W/"a"'], ofWeakTag],
  ['a date', ['Last-Modified', at(-9)], ofDate],
  ['both', ['ETag', '"a"', 'Last-Modified', at(-9)], [...ofTag, ...ofDate]],
  ['none that is sound', ['ETag', 'a', 'Last-Modified', 'x'], []],
])('a response is validated by what it has: %s', (_, fields, conditions) => {
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

  test.each([
    [['Date', at(100)], { bornAt: later, freshUntil: later + 10_000 }],
    [cc('max-age=50'), { bornAt: later, freshUntil: later + 50_000 }],
    [['Age', '3'], { bornAt: later - 3000 }],
  ])('is fresh from then on, by the last lifetime: %j', (fields, expected) => {
    expect(updatedBy(head, ['ETag', '"a"', ...fields]).stored.head).toMatchObject(expected)
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
