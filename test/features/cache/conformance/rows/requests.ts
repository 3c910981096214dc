import { again, and, asking, cc, forwarded, get, requirements, reused, validating } from '../script.ts'

/** RFC 9111 §5.2.1: a client's directives on the response to its request. */
export const requests = requirements(9111)
const { must, mustNot, should, may } = requests

const asked = { asked: true }
const saying = (value: string) => asking('Cache-Control', value)
const notCached = { asked: false, status: 504 }

// §5.2.1.1
should('5.2.1.1', 'max-age: an older response is not reused', [
  get(cc('max-age=60')),
  again(asked, { at: 20, ...saying('max-age=10') }),
])
should('5.2.1.1', 'max-age: a response that is not older is reused', [
  get(cc('max-age=60')),
  again(reused, { at: 10, ...saying('max-age=10') }),
])
should('5.2.1.1', 'max-age=0: a response of an age of one second is not reused', [
  get(cc('max-age=60')),
  again(asked, { at: 1, ...saying('max-age=0') }),
])
should('5.2.1.1', 'max-age looks at the whole age, not at that in this cache', [
  get(cc('max-age=60', 'Age', '30')),
  again(asked, saying('max-age=20')),
])
should('5.2.1.1', 'a large max-age makes nothing fresh that is stale', [
  get(cc('max-age=10')),
  again(asked, { at: 20, ...saying('max-age=3600') }),
])
should('5.2.1.1', 'max-age in a quoted string counts', [
  get(cc('max-age=60')),
  again(asked, { at: 20, ...saying('max-age="10"') }),
])
should('5.2', 'max-age in capitals counts', [get(cc('max-age=60')), again(asked, { at: 20, ...saying('MAX-AGE=10') })])
should('5.2.1.1', 'max-age on a line of its own counts', [
  get(cc('max-age=60')),
  again(asked, { at: 20, ...asking('Cache-Control', 'no-transform', 'Cache-Control', 'max-age=10') }),
])
may('5.2.1.1', 'a max-age beyond all bounds forbids nothing', [
  get(cc('max-age=60')),
  again(reused, { at: 5, ...saying('max-age=99999999999999999999') }),
])

// §5.2.1.2
may('5.2.1.2', 'max-stale: a response within it is reused', [
  get(cc('max-age=10')),
  again(reused, { at: 15, ...saying('max-stale=10') }),
])
should('5.2.1.2', 'max-stale: a response beyond it is not reused', [
  get(cc('max-age=10')),
  again(asked, { at: 25, ...saying('max-stale=10') }),
])
may('5.2.1.2', 'max-stale without a value: however stale', [
  get(cc('max-age=10')),
  again(reused, { at: 3000, ...saying('max-stale') }),
])
may('5.2.1.2', 'max-stale with the response’s own age known: Age says how stale it is', [
  get(cc('max-age=10')),
  again(and(reused, { fields: { age: 15 } }), { at: 15, ...saying('max-stale=10') }),
])
should('5.2.1.2', 'max-stale that is no number is not taken as without bound', [
  get(cc('max-age=10')),
  again(asked, { at: 3000, ...saying('max-stale=x') }),
])
for (const directive of ['must-revalidate', 'proxy-revalidate'])
  mustNot('4.2.4', `max-stale is stronger than ${directive}`, [
    get(cc(`max-age=10, ${directive}`)),
    again(asked, { at: 15, ...saying('max-stale=100') }),
  ])
mustNot('4.2.4', 'max-stale is stronger than s-maxage', [
  get(cc('s-maxage=10')),
  again(asked, { at: 15, ...saying('max-stale') }),
])
mustNot('4.2.4', 'max-stale is stronger than no-cache', [
  get(cc('no-cache, max-age=10', 'ETag', '"a"')),
  again(asked, { at: 15, ...saying('max-stale') }),
])

// §5.2.1.3
should('5.2.1.3', 'min-fresh: a response that is not fresh for so long is not reused', [
  get(cc('max-age=60')),
  again(asked, { at: 50, ...saying('min-fresh=20') }),
])
should('5.2.1.3', 'min-fresh: a response that is fresh for so long is reused', [
  get(cc('max-age=60')),
  again(reused, { at: 30, ...saying('min-fresh=20') }),
])
should('5.2.1.3', 'min-fresh counts what is left, the age that came included', [
  get(cc('max-age=60', 'Age', '45')),
  again(asked, saying('min-fresh=20')),
])
should('5.2.1.3', 'a min-fresh beyond all bounds finds nothing fresh enough', [
  get(cc('max-age=60')),
  again(asked, saying('min-fresh=99999999999999999999')),
])

// §5.2.1.4
should('5.2.1.4', 'no-cache: a stored response is not used without validation', [
  get(cc('max-age=60')),
  again(forwarded, saying('no-cache')),
])
should('5.2', 'No-Cache is no-cache', [get(cc('max-age=60')), again(forwarded, saying('No-Cache'))])
should('5.2.1.4', 'no-cache: a response that was validated is used', [
  get(validating(cc('max-age=60', 'ETag', '"a"'))),
  again({ asked: true, status: 200 }, saying('no-cache')),
])
should('5.2.1.4', 'no-cache beside max-stale counts', [
  get(cc('max-age=60')),
  again(forwarded, saying('max-stale=10, no-cache')),
])
should('5.2.1.4', 'no-cache: what comes is stored for the next', [
  get(cc('max-age=60')),
  again(forwarded, { at: 1, ...saying('no-cache') }),
  again(and(reused, { body: 2 }), { at: 2 }),
])
should('5.4', 'Pragma: no-cache without Cache-Control is no-cache', [
  get(cc('max-age=60')),
  again(forwarded, asking('Pragma', 'no-cache')),
])
may('5.4', 'Pragma is nothing beside Cache-Control', [
  get(cc('max-age=60')),
  again(reused, asking('Pragma', 'no-cache', 'Cache-Control', 'max-age=30')),
])
may('5.4', 'Pragma says nothing in a response', [get(cc('max-age=60', 'Pragma', 'no-cache')), again(reused)])

// §5.2.1.5
mustNot('5.2.1.5', 'no-store: the response is stored', [
  get(cc('max-age=60'), forwarded, saying('no-store')),
  again(forwarded),
])
mustNot('5.2.1.5', 'NO-STORE: the response is stored', [
  get(cc('max-age=60'), forwarded, saying('NO-STORE')),
  again(forwarded),
])
mustNot('5.2.1.5', 'no-store among others: the response is stored', [
  get(cc('max-age=60'), forwarded, saying('max-age=5, no-store')),
  again(forwarded),
])
mustNot('5.2.1.5', 'no-store: the response takes the place of what is stored', [
  get(cc('max-age=60')),
  again({}, { at: 1, ...saying('no-store') }),
  again(and(reused, { body: 1 }), { at: 2 }),
])
mustNot('5.2.1.5', 'no-store with public in the response: it is stored', [
  get(cc('public, max-age=60'), forwarded, saying('no-store')),
  again(forwarded),
])

// §5.2.1.6
should('5.2.1.6', 'no-transform: the body stays', [
  get({ fields: ['Cache-Control', 'max-age=60'], body: ' a\r\n\r\n' }),
  again(and(reused, { fields: { 'content-encoding': null } }), saying('no-transform')),
])

// §5.2.1.7
should('5.2.1.7', 'only-if-cached: where nothing is stored, 504', [
  get(cc('max-age=60'), notCached, saying('only-if-cached')),
])
should('5.2.1.7', 'only-if-cached: what is stored and fresh is the response', [
  get(cc('max-age=60')),
  again(reused, saying('only-if-cached')),
])
should('5.2.1.7', 'only-if-cached: where what is stored is stale, 504', [
  get(cc('max-age=10')),
  again(notCached, { at: 20, ...saying('only-if-cached') }),
])
should('5.2.1.7', 'only-if-cached: where what is stored is another variant, 504', [
  get(cc('max-age=60', 'Vary', 'Accept'), forwarded, asking('Accept', 'a/b')),
  again(notCached, asking('Accept', 'c/d', 'Cache-Control', 'only-if-cached')),
])
should('5.2.1.7', 'only-if-cached: where what is stored says no-cache, 504', [
  get(cc('no-cache', 'ETag', '"a"')),
  again(notCached, saying('only-if-cached')),
])
should('5.2.1.7', 'only-if-cached with max-age: what is too old is not sent', [
  get(cc('max-age=60')),
  again(notCached, { at: 20, ...saying('only-if-cached, max-age=10') }),
])
may('5.2.1.7', 'only-if-cached with max-stale: what is stale is sent', [
  get(cc('max-age=10')),
  again(reused, { at: 15, ...saying('only-if-cached, max-stale=60') }),
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
should('5.2.1.7', 'Only-If-Cached is only-if-cached', [get(cc('max-age=60'), notCached, saying('Only-If-Cached'))])

must('5.2.3', 'a directive that is unknown is ignored in a request', [
  get(cc('max-age=60')),
  again(reused, saying('x-unknown="no-cache, no-store", other')),
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
must('5.2', 'directives of responses mean nothing in requests', [
  get(cc('max-age=60'), forwarded, saying('private, must-revalidate, s-maxage=0')),
  again(reused, saying('private, must-revalidate, s-maxage=0')),
])
