import {
  again,
  and,
  asking,
  cache,
  cc,
  forwarded,
  get,
  ok,
  requirements,
  reused,
  status,
  stores,
  storesNot,
} from '../script.ts'

/** RFC 9111 §3: what may be stored, and what of it. */
export const storing = requirements(9111)
const { mustNot, should, may } = storing

const finals = [
  200, 203, 204, 226, 299, 300, 301, 302, 303, 307, 308, 400, 403, 404, 405, 410, 414, 418, 451, 500, 501, 503,
]
for (const code of finals)
  may('3', `a ${code} with explicit freshness is stored`, [
    get(status(code, 'Cache-Control', 'max-age=60'), and(forwarded, { status: code })),
    again(and(reused, { status: code })),
  ])

for (const code of [298, 498, 599])
  may('3', `a ${code}, which nobody knows, is stored with explicit freshness: only must-understand asks for more`, [
    get(status(code, 'Cache-Control', 'max-age=60'), and(forwarded, { status: code })),
    again(and(reused, { status: code })),
  ])

mustNot('3', 'a response that says no-store is stored', storesNot(cc('no-store')))
mustNot('3', 'a response that says no-store and max-age is stored', storesNot(cc('max-age=60, no-store')))
mustNot('3', 'a response that says no-store and public is stored', storesNot(cc('public, max-age=60, no-store')))
mustNot('3', 'a response with no-store is stored because of Expires', storesNot(cc('no-store', 'Expires', '@now+60')))
mustNot('3', 'a response that says private is stored by a shared cache', storesNot(cc('private, max-age=60')))
mustNot('3', 'a response that says private is stored because of s-maxage', storesNot(cc('private, s-maxage=60')))
mustNot('3', 'a response that says private and public is stored', storesNot(cc('private, public, max-age=60')))
mustNot('3', 'an error that says no-store is stored', storesNot(status(404, 'Cache-Control', 'no-store, max-age=60')))
mustNot('3', 'a redirect that says private is stored', storesNot(status(301, 'Cache-Control', 'private, max-age=60')))
mustNot(
  '3',
  'a response whose status is not cacheable by default is stored without explicit freshness',
  storesNot(status(302)),
)
mustNot('3', 'a 201 without explicit freshness is stored', storesNot(status(201)))
mustNot('3', 'a 503 without explicit freshness is stored', storesNot(status(503)))
mustNot('3', 'the response to a request that says no-store is stored', [
  get(cc('max-age=60'), forwarded, asking('Cache-Control', 'no-store')),
  again(forwarded),
])
mustNot('3', 'a part of a representation is stored as if it was the whole', [
  get(
    { status: 206, fields: ['Cache-Control', 'max-age=60', 'Content-Range', 'bytes 0-4/10'], body: 'start' },
    and(forwarded, { status: 206 }),
    asking('Range', 'bytes=0-4'),
  ),
  get(cc('max-age=60'), and(forwarded, { status: 200 })),
])
mustNot('3', 'a 206 to a request without Range is stored and served to the next', [
  get({ status: 206, fields: ['Cache-Control', 'max-age=60', 'Content-Range', 'bytes 0-4/10'], body: 'start' }, {}),
  get(cc('max-age=60'), and(forwarded, { status: 200 })),
])
mustNot('3', 'a 304 is stored and served to a request without a condition', [
  get(status(304, 'Cache-Control', 'max-age=60', 'ETag', '"x"'), {}, asking('If-None-Match', '"x"')),
  get(cc('max-age=60'), and(forwarded, { status: 200 })),
])
mustNot('3', 'a 416 to one client’s Range is served to a request for the whole', [
  get(
    status(416, 'Cache-Control', 'max-age=60', 'Content-Range', 'bytes */3'),
    and(forwarded, { status: 416 }),
    asking('Range', 'bytes=9-'),
  ),
  get(cc('max-age=60'), and(forwarded, { status: 200 })),
])
mustNot('3', 'a 412 to one client’s condition is served to a request without one', [
  get(status(412, 'Cache-Control', 'max-age=60'), and(forwarded, { status: 412 }), asking('If-Match', '"x"')),
  get(cc('max-age=60'), and(forwarded, { status: 200 })),
])
mustNot('3', 'a response without any word on freshness is reused', storesNot(ok()))
mustNot('3', 'a response with a validator and no word on freshness is reused as fresh', [
  get(ok('ETag', '"a"', 'Last-Modified', '@now-1000000')),
  again({ asked: true }),
])
may('3', 'a response with Expires is stored', stores(ok('Expires', '@now+60')))
may('3', 'a response with max-age is stored', stores(cc('max-age=60')))
may('3', 'a response with s-maxage is stored by a shared cache', stores(cc('s-maxage=60')))
may('3', 'the query is part of what is asked for', [
  get(cc('max-age=60')),
  again(forwarded, { query: 'other' }),
  again(reused),
])
may('3', 'another operation is another resource', [
  get(cc('max-age=60')),
  again(forwarded, { operation: 'leads.pipeline' }),
  again(reused),
])

// §3: only must-understand requires an understood status, and then overrides no-store.
mustNot(
  '5.2.2.3',
  'a status that is not known is stored when the response says must-understand',
  storesNot(status(299, 'Cache-Control', 'must-understand, max-age=60')),
)
mustNot(
  '5.2.2.3',
  'a status that is not known is stored when the response says must-understand and no-store',
  storesNot(status(599, 'Cache-Control', 'must-understand, no-store, max-age=60')),
)
should(
  '5.2.2.3',
  'no-store is ignored beside must-understand when the status is known',
  stores(cc('must-understand, no-store, max-age=60')),
)
should(
  '5.2.2.3',
  'no-store is ignored beside must-understand for a known redirect',
  stores(status(301, 'Cache-Control', 'no-store, must-understand, max-age=60')),
)
mustNot(
  '5.2.2.3',
  'must-understand lets a shared cache store what is private',
  storesNot(cc('must-understand, no-store, private, max-age=60')),
)
mustNot('5.2.2.3', 'must-understand takes away a client’s no-store', [
  get(cc('must-understand, no-store, max-age=60'), forwarded, asking('Cache-Control', 'no-store')),
  again(forwarded),
])
may(
  '5.2.2.3',
  'a known status is stored when the response says must-understand',
  stores(cc('must-understand, max-age=60')),
)

// §3.3
mustNot('3.3', 'a response that was cut is used', [get('truncated', {}), get(cc('max-age=60'), forwarded)])
mustNot('3.3', 'what was stored before is lost to a response that was cut and is used in part', [
  get(cc('max-age=10')),
  get('truncated', {}, { at: 20 }),
  get(cc('max-age=60'), forwarded, { at: 21 }),
])
mustNot('3.3', 'a partial response is sent without 206', [
  get(cc('max-age=60')),
  again({ asked: false, status: 206, body: { text: 'answ' } }, asking('Range', 'bytes=0-3')),
])

// §5.2.2.6, §5.2.2.9
mustNot('5.2.2.6', 'no-transform is broken: the body changes on its way', [
  get({
    fields: ['Cache-Control', 'max-age=60, no-transform', 'Content-Type', 'text/html'],
    body: '<p>  a  </p>\r\n\0',
  }),
  again(and(reused, { fields: { 'content-type': 'text/html', 'content-encoding': null } })),
])
may('5.2.2.9', 'public alone makes nothing fresh', storesNot(cc('public')))

// RFC 9110 §6.6.1
export const dates = requirements(9110)
dates.must('6.6.1', 'a response without Date gets one when it is stored: the time it came', [
  get({ fields: ['Cache-Control', 'max-age=60'], date: false }),
  again(and(reused, { fields: { date: '@t0' } }), { at: 30 }),
])
dates.must(
  '8.6',
  'a response from the cache has the length of its body',
  [
    get({ fields: ['Cache-Control', 'max-age=60'], body: 'four' }),
    again(and(reused, { fields: { 'content-length': 4 } })),
  ],
  { notOn: { policy: 'framing is the flow’s', layer: 'the public room writes the length of what is whole' } },
)
dates.must('9.3.1', 'an empty body is stored as one', [
  get({ fields: ['Cache-Control', 'max-age=60'], body: '' }),
  again(and(reused, { status: 200 })),
])

/** What docs/caching.md says beyond the specifications. */
export const cookies = requirements('own')
cookies.mustNot(
  'caching',
  'a response with Set-Cookie is stored without public',
  storesNot(cc('max-age=60', 'Set-Cookie', 'a=b')),
)
cookies.mustNot(
  'caching',
  'a response with Set-Cookie is stored for s-maxage alone',
  storesNot(cc('s-maxage=60', 'Set-Cookie', 'a=b')),
)
cookies.may(
  'caching',
  'a response with Set-Cookie that says public is stored',
  stores(cc('public, max-age=60', 'Set-Cookie', 'a=b')),
)
cookies.may(
  'caching',
  'without heuristics only explicit freshness counts',
  storesNot(ok('Last-Modified', '@now-1000000')),
)
cookies.may(
  'caching',
  'a response larger than maxEntry is not stored and still comes whole',
  storesNot({ fields: ['Cache-Control', 'max-age=60'], body: 'x'.repeat(2048) }),
  cache({ maxEntry: '1KiB' }),
)
