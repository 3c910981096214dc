import { again, cache, cc, get, ok, requirements, reused, status, stores, storesNot } from '../script.ts'

/** RFC 9111 §4.2.2: how long a response counts as fresh that does not say it itself. */
export const heuristics = requirements(9111)
const { mustNot, should, may } = heuristics

const stale = { asked: true }
const heuristic = cache({ heuristic: true })
mustNot(
  '4.2.2',
  'heuristics are used where max-age is explicit',
  [get(cc('max-age=10', 'Last-Modified', '@t0-100000')), again(stale, { at: 11 })],
  heuristic,
)
mustNot(
  '4.2.2',
  'heuristics are used where s-maxage is explicit',
  [get(cc('s-maxage=0', 'Last-Modified', '@t0-100000')), again(stale)],
  heuristic,
)
mustNot(
  '4.2.2',
  'heuristics are used where Expires is explicit',
  [get(ok('Expires', '@now-1', 'Last-Modified', '@t0-100000')), again(stale)],
  heuristic,
)
mustNot(
  '4.2.2',
  'heuristics are used where Expires is invalid',
  [get(ok('Expires', '0', 'Last-Modified', '@t0-100000')), again(stale)],
  heuristic,
)
mustNot(
  '4.2.2',
  'heuristics are used where max-age is invalid',
  [get(cc('max-age=x', 'Last-Modified', '@t0-100000')), again(stale)],
  heuristic,
)
for (const code of [302, 303, 307, 400, 403, 500, 502, 503])
  mustNot(
    '4.2.2',
    `heuristics are used for ${code}, which is not cacheable by default`,
    storesNot(status(code, 'Last-Modified', '@t0-100000')),
    heuristic,
  )
for (const code of [200, 203, 204, 300, 301, 308, 404, 405, 410, 414, 501])
  may('4.2.2', `a ${code} may be fresh by heuristics`, stores(status(code, 'Last-Modified', '@t0-100000')), heuristic)
should(
  '4.2.2',
  'heuristics give no more than a tenth of the time since Last-Modified',
  [get(ok('Last-Modified', '@t0-1000')), again(reused, { at: 50 }), again(stale, { at: 101 })],
  heuristic,
)
should(
  '4.2.2',
  'heuristics count from Date where there is one',
  [get(ok('Date', '@t0-500', 'Last-Modified', '@t0-1500')), again(stale)],
  heuristic,
)
may(
  '4.2.2',
  'heuristics give at most a day',
  [get(ok('Last-Modified', '@t0-100000000')), again(reused, { at: 80_000 }), again(stale, { at: 86_401 })],
  heuristic,
)
may('4.2.2', 'heuristics need a Last-Modified', storesNot(ok('ETag', '"a"')), heuristic)
may('4.2.2', 'a Last-Modified in the future gives nothing', storesNot(ok('Last-Modified', '@t0+1000')), heuristic)
may('4.2.2', 'a Last-Modified that is no date gives nothing', storesNot(ok('Last-Modified', 'yesterday')), heuristic)
mustNot(
  '4.2.2',
  'heuristics make fresh what says no-cache',
  [get(cc('no-cache', 'Last-Modified', '@t0-100000')), again(stale)],
  heuristic,
)
mustNot(
  '4.2.2',
  'heuristics store what says no-store',
  storesNot(cc('no-store', 'Last-Modified', '@t0-100000')),
  heuristic,
)
mustNot('4.2.2', 'heuristics share what is private', storesNot(cc('private', 'Last-Modified', '@t0-100000')), heuristic)
