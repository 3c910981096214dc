import {
  again,
  and,
  asking,
  cc,
  type Expectation,
  forwarded,
  get,
  type Reply,
  type Row,
  requirements,
  reused,
  status,
  validating,
} from '../script.ts'

/** RFC 9211: how a cache reports what it did. */
export const cacheStatus: Row[] = []
const { must, mustNot, should, may } = requirements(cacheStatus, 9211)

const says = (cacheStatus: NonNullable<Expectation['cacheStatus']>): Expectation => ({ cacheStatus })
const hit = says({ hit: true, fwd: null })
may('2', 'a miss says so', [get(cc('max-age=60'), and(forwarded, says({ fwd: 'uri-miss', hit: null })))])
must('2.1', 'a hit says hit, and no fwd', [get(cc('max-age=60')), again(and(reused, hit))])
must('2.1', 'a 206 that the cache made is a hit', [
  get(cc('max-age=60')),
  again(and({ asked: false, status: 206 }, hit), asking('Range', 'bytes=0-1')),
])
must('2.2', 'another variant: vary-miss', [
  get(cc('max-age=60', 'Vary', 'X-A'), forwarded, asking('X-A', '1')),
  again(and(forwarded, says({ fwd: 'vary-miss', hit: null })), asking('X-A', '2')),
])
must('2.2', 'what is stored is stale: stale', [
  get(cc('max-age=10')),
  again(and(forwarded, says({ fwd: 'stale', hit: null })), { at: 20 }),
])
must('2.2', 'the client did not want it: request', [
  get(cc('max-age=60')),
  again(and(forwarded, says({ fwd: 'request', hit: null })), asking('Cache-Control', 'no-cache')),
])
must('2.2', 'the cache was not asked at all: bypass', [
  get(cc('max-age=60'), and(forwarded, says({ fwd: 'bypass' })), asking('Authorization', 'Bearer x')),
])
must('2.3', 'fwd-status is what the upstream said, where it is not what the client gets', [
  get(validating(cc('max-age=10', 'ETag', '"a"'))),
  again(and({ asked: true, status: 200 }, says({ fwd: 'stale', 'fwd-status': 304 })), { at: 20 }),
])
must('2.3', 'fwd-status says what error is hidden', [
  get(cc('max-age=10, stale-if-error=20')),
  get(status(503), and({ asked: true, status: 200 }, says({ fwd: 'stale', 'fwd-status': 503 })), { at: 15 }),
])
must('2.4', 'ttl is what is left of the freshness', [
  get(cc('max-age=60')),
  again(and(reused, says({ ttl: { near: 35 } })), { at: 25 }),
])
must('2.4', 'ttl is negative where what is sent is stale', [
  get(cc('max-age=10')),
  again(and(reused, says({ ttl: { near: -5 } })), { at: 15, ...asking('Cache-Control', 'max-stale') }),
])
must('2.5', 'stored says that the response was stored', [get(cc('max-age=60'), and(forwarded, says({ stored: true })))])
mustNot('2.6', 'collapsed is said of a request of its own', [
  get(cc('max-age=60'), and(forwarded, { either: [says({ collapsed: null }), says({ collapsed: false })] })),
])
const detail = (word: string | null): Expectation => says({ detail: word, stored: null })
const unstored: Readonly<Record<string, Reply>> = {
  'no-store': cc('no-store'),
  private: cc('private, max-age=60'),
  'set-cookie': cc('max-age=60', 'Set-Cookie', 'a=b'),
  vary: cc('max-age=60', 'Vary', '*'),
  'no-lifetime': status(200),
  'already-stale': cc('max-age=0, must-revalidate'),
}
for (const [word, reply] of Object.entries(unstored))
  may('2.8', `detail says why it is not stored: ${word}`, [get(reply, and(forwarded, detail(word)))])
may('2.8', 'detail says that it is the 304 which forbids to store', [
  get(validating(cc('max-age=10', 'ETag', '"a"'))),
  get({ ...validating(cc('no-store', 'ETag', '"a"')) }, and({ asked: true, status: 200 }, detail('no-store')), {
    at: 20,
  }),
])
may('2.8', 'detail says that an error left what is stored', [
  get(cc('max-age=10, stale-if-error=1000')),
  get(status(503, 'Cache-Control', 'max-age=60'), and({ asked: true, status: 503 }, detail('stale-if-error')), {
    at: 15,
    ...asking('Cache-Control', 'no-cache'),
  }),
])
may('2.8', 'detail says that only a part was asked for', [
  get(cc('max-age=60'), and({ asked: true }, detail('range')), asking('Range', 'bytes=0-1')),
])
for (const [word, fields] of Object.entries({
  credentials: ['Authorization', 'Bearer x'],
  condition: ['If-Match', '"a"'],
  'no-store': ['Cache-Control', 'no-store'],
}))
  may('2.8', `detail says why the cache was not asked: ${word}`, [
    get(cc('max-age=60'), and({ asked: true }, detail(word)), asking(...fields)),
  ])
should('2', 'what other caches said stays before it in a hit', [
  get(cc('max-age=60', 'Cache-Status', 'Origin; hit; ttl=5')),
  again({ asked: false, fields: { 'cache-status': /^Origin; ?hit; ?ttl=5, [^,]+hit/ } }),
])
must('2', 'a miss that was stored does not make its own member part of what is stored', [
  get(cc('max-age=60')),
  again({ asked: false, fields: { 'cache-status': /^[^,]+$/ } }),
])
should('2', 'a 504 that the cache made for only-if-cached is no hit', [
  get(
    cc('max-age=60'),
    { status: 504, fields: { 'cache-status': /^(?!.*hit).*$/ } },
    asking('Cache-Control', 'only-if-cached'),
  ),
])
