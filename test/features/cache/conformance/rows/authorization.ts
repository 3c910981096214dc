import { again, and, asking, cache, cc, forwarded, get, requirements, reused, stores } from '../script.ts'

/** RFC 9111 §3.5: responses to requests with credentials, in a cache that is configured to share them. */
export const authorization = requirements(9111, cache({ shared: true }))
/** What docs/caching.md says of credentials and clients beyond it. */
export const credentials = requirements('own')
const { must, mustNot, may } = authorization

const bearer = asking('Authorization', 'Bearer one')
const other = asking('Authorization', 'Bearer two')

for (const value of [
  'max-age=60',
  'max-age=60, stale-while-revalidate=10',
  'max-age=60, x-own',
  'max-age=60, must-understand',
])
  mustNot('3.5', `a response to Authorization that says ${value} is stored`, [
    get(cc(value), forwarded, bearer),
    again(forwarded, bearer),
  ])
mustNot('3.5', 'a response to Authorization that says max-age is served to a request without', [
  get(cc('max-age=60'), forwarded, bearer),
  again(forwarded),
])
mustNot('3.5', 'a response to Authorization with Expires is stored', [
  get({ fields: ['Expires', '@now+60'] }, forwarded, bearer),
  again(forwarded, bearer),
])
mustNot('3.5', 'a response to Authorization that says private is stored', [
  get(cc('private, max-age=60'), forwarded, bearer),
  again(forwarded, bearer),
])
mustNot('3.5', 'a response to Authorization that says private and must-revalidate is stored', [
  get(cc('private, max-age=60, must-revalidate'), forwarded, bearer),
  again(forwarded, bearer),
])
mustNot('3.5', 'a response to Authorization that says public within a quoted string is stored', [
  get(cc('max-age=60, x="public"'), forwarded, bearer),
  again(forwarded, bearer),
])
for (const value of ['public, max-age=60', 's-maxage=60', 'max-age=60, must-revalidate'])
  may('3.5', `a response to Authorization that says ${value} is stored for all`, [
    get(cc(value), forwarded, bearer),
    again(reused, bearer),
    again(reused, other),
    again(reused),
  ])
may('3.5', 'PUBLIC is public', [get(cc('PUBLIC, max-age=60'), forwarded, bearer), again(reused, other)])
must('3.5', 'what must-revalidate lets be stored is validated once it is stale', [
  get(cc('max-age=10, must-revalidate'), forwarded, bearer),
  again(forwarded, { at: 20, ...other }),
])
must('3.5', 'what s-maxage lets be stored is validated once it is stale', [
  get(cc('s-maxage=10, max-age=1000'), forwarded, bearer),
  again(forwarded, { at: 20, ...other }),
])
must('3.5', 'the credentials of the request go on to the upstream', [
  get(cc('public, max-age=10'), and(forwarded, { sent: { authorization: 'Bearer one' } }), bearer),
  again(and(forwarded, { sent: { authorization: 'Bearer two' } }), { at: 20, ...other }),
])
must('4.1', 'Vary: Authorization keeps them apart', [
  get(cc('public, max-age=60', 'Vary', 'Authorization'), forwarded, bearer),
  again(forwarded, other),
  again(forwarded),
])
must('4.1', 'Vary: Cookie keeps them apart', [
  get(cc('public, max-age=60', 'Vary', 'Cookie'), forwarded, asking('Cookie', 'a=1')),
  again(forwarded, asking('Cookie', 'a=2')),
  again(forwarded),
])
may(
  '3.5',
  'a request with a Cookie is served a response with explicit freshness',
  stores(cc('max-age=60'), asking('Cookie', 'a=1')),
)
mustNot(
  '3.5',
  'heuristics share the response to a request with a Cookie',
  [
    get({ fields: ['Last-Modified', '@t0-100000'] }, forwarded, asking('Cookie', 'a=1')),
    again(forwarded, asking('Cookie', 'a=1')),
  ],
  cache({ shared: true, heuristic: true }),
)

// Without `shared`, a request with credentials bypasses the cache.
const bringing = {
  Authorization: 'Bearer one',
  Cookie: 'a=1',
  'X-Api-Key': 'k',
} as const
for (const [name, value] of Object.entries(bringing)) {
  credentials.mustNot('caching', `the response to a request with ${name} is stored`, [
    get(cc('public, max-age=60'), forwarded, asking(name, value)),
    again(forwarded),
  ])
  credentials.mustNot('caching', `a request with ${name} is served from the cache`, [
    get(cc('public, max-age=60')),
    again(forwarded, asking(name, value)),
  ])
  credentials.must('caching', `${name} goes on to the upstream`, [
    get(cc('max-age=60'), and(forwarded, { sent: { [name.toLowerCase()]: value } }), asking(name, value)),
  ])
  credentials.mustNot('caching', `${name} in lower case is not seen`, [
    get(cc('public, max-age=60'), forwarded, asking(name.toLowerCase(), value)),
    again(forwarded),
  ])
}
credentials.mustNot('caching', 'a request with a body is served from the cache', [
  get(cc('max-age=60')),
  again(forwarded, { body: 'x' }),
])
credentials.mustNot('caching', 'the response to a request with a body is stored', [
  get(cc('max-age=60'), forwarded, { body: 'x' }),
  again(forwarded),
])
const known = (client: string) => ({ client })
credentials.may('caching', 'a client is served what it was sent before', [
  get(cc('max-age=60'), forwarded, known('a')),
  again(reused, known('a')),
])
credentials.mustNot('caching', 'a client is served what another was sent', [
  get(cc('public, max-age=60'), forwarded, known('a')),
  again(forwarded, known('b')),
  again(and(reused, { body: 1 }), known('a')),
  again(and(reused, { body: 2 }), known('b')),
])
credentials.mustNot('caching', 'a client’s condition is served what another was sent', [
  get(cc('max-age=60', 'ETag', '"a"'), forwarded, known('a')),
  get(
    cc('max-age=60', 'ETag', '"b"'),
    { asked: true, status: 200 },
    { ...known('b'), ...asking('If-None-Match', '"a"') },
  ),
])
credentials.mustNot('caching', 'a client is served stale what another was sent', [
  get(cc('max-age=10, stale-if-error=100'), forwarded, known('a')),
  get('refused', { status: [502, 503, 504] }, { at: 20, ...known('b') }),
])
