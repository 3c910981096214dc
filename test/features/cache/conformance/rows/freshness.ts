import {
  again,
  and,
  cache,
  cc,
  confirmed,
  forwarded,
  freshFor,
  get,
  ok,
  type Row,
  requirements,
  reused,
  validating,
} from '../script.ts'

/** RFC 9111 §4.2 and §5.1: how long a response is fresh, and the Age that a client gets. */
export const freshness: Row[] = []
const { must, mustNot, should } = requirements(freshness, 9111)

// §4.2.1: the first of these that is there.
must('4.2', 'max-age: fresh while its lifetime is greater than its age', freshFor(cc('max-age=60'), 60))
must('4.2.1', 'Expires counts from Date', freshFor(ok('Expires', '@now+60'), 60))
// §4.2: local time zones play no part; §5.2.2.4.
mustNot('4', 'a response with no-cache is reused without validation', [
  get(cc('no-cache, max-age=60', 'ETag', '"a"')),
  again({ asked: true }),
])
must('4', 'a newer response takes the place of an older one', [
  get(cc('max-age=10')),
  again(forwarded, { at: 20 }),
  again(and(reused, { body: 2 }), { at: 25 }),
])
must('4', 'the most recent response is used', [
  get(cc('max-age=100')),
  get(cc('max-age=100'), forwarded, { at: 5, fields: ['Cache-Control', 'no-cache'] }),
  again(and(reused, { body: 2 }), { at: 6 }),
])

const aged = (seconds: number) => and(reused, { fields: { age: seconds } })
must('4', 'the Age that came is replaced, not joined', [get(cc('max-age=60', 'Age', '7')), again(aged(17), { at: 10 })])
must('4.2.3', 'a Date in the past is in the Age that is sent', [
  get(cc('max-age=60', 'Date', '@now-20')),
  again(aged(25), { at: 5 }),
])
must('4.2.3', 'the time that the response took is added to the Age that came', [
  get({ fields: ['Cache-Control', 'max-age=60', 'Age', '20'], takes: 10 }),
  again(aged(30)),
  again(aged(59), { at: 39 }),
  again({ asked: true }, { at: 40 }),
])
must('4.2.3', 'a successful validation makes the response young again', [
  get(validating(cc('max-age=10', 'ETag', '"a"'))),
  again(confirmed, { at: 20 }),
  again(aged(5), { at: 25 }),
])
must('4.2.3', 'after a validation the Age of the 304 counts', [
  get(validating(cc('max-age=60', 'ETag', '"a"', 'Age', '50'))),
  get(validating(cc('max-age=60', 'ETag', '"a"', 'Age', '30')), confirmed, { at: 20 }),
  again(aged(35), { at: 25 }),
])
must('5.1', 'a response that comes from the origin now says nothing of an age in the cache', [
  get(cc('max-age=60'), and(forwarded, { fields: { age: null } })),
])
should(
  '4.2.2',
  'heuristics give no more than a tenth of the time since Last-Modified',
  [get(ok('Last-Modified', '@t0-1000')), again(reused, { at: 50 }), again({ asked: true }, { at: 101 })],
  cache({ heuristic: true }),
)
