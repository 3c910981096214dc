import {
  again,
  and,
  asking,
  cache,
  cc,
  forwarded,
  get,
  type Row,
  requirements,
  reused,
  status,
  storesNot,
} from '../script.ts'

/** RFC 9111 §3: what may be stored, and for whom. */
export const storing: Row[] = []
const { mustNot, must, may } = requirements(storing, 9111)
const http = requirements(storing, 9110)
/** RFC 9111 §3.5: a cache that is configured to share responses to requests with credentials. */
const sharing = requirements(storing, 9111, cache({ shared: true }))
/** What docs/caching.md says beyond the specifications. */
const own = requirements(storing, 'own')

mustNot('3', 'the response to a request that says no-store is stored', [
  get(cc('max-age=60'), forwarded, asking('Cache-Control', 'no-store')),
  again(forwarded),
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
// §3.3
mustNot('3.3', 'a response that was cut is used', [get('truncated', {}), get(cc('max-age=60'), forwarded)])
mustNot('3.3', 'what was stored before is lost to a response that was cut and is used in part', [
  get(cc('max-age=10')),
  get('truncated', {}, { at: 20 }),
  get(cc('max-age=60'), forwarded, { at: 21 }),
])
http.must('9.3.1', 'an empty body is stored as one', [
  get({ fields: ['Cache-Control', 'max-age=60'], body: '' }),
  again(and(reused, { status: 200 })),
])
own.may(
  'caching',
  'a response larger than maxEntry is not stored and still comes whole',
  storesNot({ fields: ['Cache-Control', 'max-age=60'], body: 'x'.repeat(2048) }),
  cache({ maxEntry: 1024 }),
)

must('3.1', 'fields that are unknown are stored and sent', [
  get(cc('max-age=60', 'X-Never-Seen', 'a, b;c="d"', 'Content-Type', 'application/json')),
  again(and(reused, { fields: { 'x-never-seen': 'a, b;c="d"', 'content-type': 'application/json' } })),
])
must('3.1', 'a field of several lines keeps them all, in order', [
  get(cc('max-age=60', 'Link', '<a>', 'X-Other', '1', 'Link', '<b>')),
  again(and(reused, { fields: { link: '<a>, <b>' } })),
])
mustNot('5.2.2.7', 'a shared cache stores the fields that private names', [
  get(cc('max-age=60, private="x-mine"', 'X-Mine', 'secret')),
  again({ either: [and(reused, { fields: { 'x-mine': null } }), forwarded] }),
])
mustNot('5.2.2.4', 'the fields that no-cache names are sent without validation', [
  get(cc('max-age=60, no-cache="x-mine"', 'X-Mine', 'once')),
  again({ either: [and(reused, { fields: { 'x-mine': null } }), { asked: true }] }),
])

const bearer = asking('Authorization', 'Bearer one')
const other = asking('Authorization', 'Bearer two')
for (const value of ['public, max-age=60', 's-maxage=60', 'max-age=60, must-revalidate'])
  sharing.may('3.5', `a response to Authorization that says ${value} is stored for all`, [
    get(cc(value), forwarded, bearer),
    again(reused, bearer),
    again(reused, other),
    again(reused),
  ])
sharing.must('3.5', 'the credentials of the request go on to the upstream', [
  get(cc('public, max-age=10'), and(forwarded, { sent: { authorization: 'Bearer one' } }), bearer),
  again(and(forwarded, { sent: { authorization: 'Bearer two' } }), { at: 20, ...other }),
])
sharing.must('4.1', 'Vary: Authorization keeps them apart', [
  get(cc('public, max-age=60', 'Vary', 'Authorization'), forwarded, bearer),
  again(forwarded, other),
  again(forwarded),
])
// Without `shared`, a request with credentials bypasses the cache.
const bringing = {
  Authorization: 'Bearer one',
  Cookie: 'a=1',
  'X-Api-Key': 'k',
} as const
for (const [name, value] of Object.entries(bringing)) {
  own.mustNot('caching', `the response to a request with ${name} is stored`, [
    get(cc('public, max-age=60'), forwarded, asking(name, value)),
    again(forwarded),
  ])
  own.mustNot('caching', `a request with ${name} is served from the cache`, [
    get(cc('public, max-age=60')),
    again(forwarded, asking(name, value)),
  ])
  own.must('caching', `${name} goes on to the upstream`, [
    get(cc('max-age=60'), and(forwarded, { sent: { [name.toLowerCase()]: value } }), asking(name, value)),
  ])
}
own.mustNot('caching', 'a request with a body is served from the cache', [
  get(cc('max-age=60')),
  again(forwarded, { body: 'x' }),
])
const known = (client: string) => ({ client })
own.may('caching', 'a client is served what it was sent before', [
  get(cc('max-age=60'), forwarded, known('a')),
  again(reused, known('a')),
])
own.mustNot('caching', 'a client is served what another was sent', [
  get(cc('public, max-age=60'), forwarded, known('a')),
  again(forwarded, known('b')),
  again(and(reused, { body: 1 }), known('a')),
  again(and(reused, { body: 2 }), known('b')),
])
own.mustNot('caching', 'a client’s condition is served what another was sent', [
  get(cc('max-age=60', 'ETag', '"a"'), forwarded, known('a')),
  get(
    cc('max-age=60', 'ETag', '"b"'),
    { asked: true, status: 200 },
    { ...known('b'), ...asking('If-None-Match', '"a"') },
  ),
])
own.mustNot('caching', 'a client is served stale what another was sent', [
  get(cc('max-age=10, stale-if-error=100'), forwarded, known('a')),
  get('refused', { status: [502, 503, 504] }, { at: 20, ...known('b') }),
])
