import { again, and, asking, cc, forwarded, get, type Row, requirements, reused, validating } from '../script.ts'

/** RFC 9111 §5.2.1: a client's directives on the response to its request. */
export const requests: Row[] = []
const { must, mustNot, should, may } = requirements(requests, 9111)

const saying = (value: string) => asking('Cache-Control', value)
const notCached = { asked: false, status: 504 }
may('5.2.1.2', 'max-stale with the response’s own age known: Age says how stale it is', [
  get(cc('max-age=10')),
  again(and(reused, { fields: { age: 15 } }), { at: 15, ...saying('max-stale=10') }),
])
// §5.2.1.4
should('5.2.1.4', 'no-cache: a stored response is not used without validation', [
  get(cc('max-age=60')),
  again(forwarded, saying('no-cache')),
])
should('5.2.1.4', 'no-cache: a response that was validated is used', [
  get(validating(cc('max-age=60', 'ETag', '"a"'))),
  again({ asked: true, status: 200 }, saying('no-cache')),
])
should('5.2.1.4', 'no-cache: what comes is stored for the next', [
  get(cc('max-age=60')),
  again(forwarded, { at: 1, ...saying('no-cache') }),
  again(and(reused, { body: 2 }), { at: 2 }),
])
// §5.2.1.5
mustNot('5.2.1.5', 'no-store: the response is stored', [
  get(cc('max-age=60'), forwarded, saying('no-store')),
  again(forwarded),
])
mustNot('5.2.1.5', 'no-store: the response takes the place of what is stored', [
  get(cc('max-age=60')),
  again({}, { at: 1, ...saying('no-store') }),
  again(and(reused, { body: 1 }), { at: 2 }),
])
// §5.2.1.7
should('5.2.1.7', 'only-if-cached: where nothing is stored, 504', [
  get(cc('max-age=60'), notCached, saying('only-if-cached')),
])
should('5.2.1.7', 'only-if-cached: where what is stored is stale, 504', [
  get(cc('max-age=10')),
  again(notCached, { at: 20, ...saying('only-if-cached') }),
])
should('5.2.1.7', 'only-if-cached: where what is stored is another variant, 504', [
  get(cc('max-age=60', 'Vary', 'Accept'), forwarded, asking('Accept', 'a/b')),
  again(notCached, asking('Accept', 'c/d', 'Cache-Control', 'only-if-cached')),
])
for (const [name, value] of Object.entries({ Authorization: 'Bearer x', 'If-Match': '"a"', 'X-Api-Key': 'k' }))
  should('5.2.1.7', `only-if-cached: a request with ${name}, which the cache responses nothing, is 504`, [
    get(cc('max-age=60')),
    again(notCached, asking(name, value, 'Cache-Control', 'only-if-cached')),
  ])
should('5.2.1.7', 'only-if-cached beside no-store: what is stored is the response', [
  get(cc('max-age=60')),
  again(reused, saying('no-store, only-if-cached')),
])
should('5.2.1.7', 'only-if-cached with a Range: where nothing is stored, 504', [
  get(cc('max-age=60'), notCached, asking('Range', 'bytes=0-1', 'Cache-Control', 'only-if-cached')),
])
must('5.2', 'what a client says goes on to the upstream', [
  get(
    cc('max-age=60'),
    and(forwarded, { sent: { 'cache-control': 'max-age=5, x-own=1' } }),
    saying('max-age=5, x-own=1'),
  ),
])
must('5.2', 'what is said with no-store goes on to the upstream', [
  get(cc('max-age=60'), and(forwarded, { sent: { 'cache-control': /no-store/ } }), saying('no-store')),
])
