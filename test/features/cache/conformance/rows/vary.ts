import { again, and, asking, cc, forwarded, get, requirements, reused, status, stores } from '../script.ts'

/** RFC 9111 §4.1: which of several responses belongs to a request. */
export const vary = requirements(9111)
const { must, mustNot, should, may } = vary

const on = (names: string, ...fields: readonly string[]) => cc('max-age=60', 'Vary', names, ...fields)
/** Stored for the first, requested by the second. */
const pair = (names: string, first: readonly string[], second: readonly string[], expect: typeof forwarded) => [
  get(on(names), forwarded, asking(...first)),
  again(expect, asking(...second)),
]

must('4.1', 'the same value matches', pair('X-A', ['X-A', '1'], ['X-A', '1'], reused))
mustNot('4.1', 'another value matches', pair('X-A', ['X-A', '1'], ['X-A', '2'], forwarded))
mustNot('4.1', 'a field that is absent matches one that is there', pair('X-A', ['X-A', '1'], [], forwarded))
mustNot('4.1', 'a field that is there matches one that is absent', pair('X-A', [], ['X-A', '1'], forwarded))
mustNot('4.1', 'an empty field matches one that is absent', pair('X-A', [], ['X-A', ''], forwarded))
must('4.1', 'a field that is absent both times matches', pair('X-A', [], [], reused))
must(
  '4.1',
  'fields that Vary does not name play no part',
  pair('X-A', ['X-A', '1', 'X-B', '1'], ['X-A', '1', 'X-B', '2'], reused),
)
must('4.1', 'names in Vary are compared whatever their case', pair('x-a', ['X-A', '1'], ['X-a', '1'], reused))
mustNot('4.1', 'a name in Vary of another case is forgotten', pair('x-A', ['X-a', '1'], ['X-a', '2'], forwarded))
mustNot(
  '4.1',
  'of several names one is forgotten: the first',
  pair('X-A, X-B', ['X-A', '1', 'X-B', '1'], ['X-A', '2', 'X-B', '1'], forwarded),
)
mustNot(
  '4.1',
  'of several names one is forgotten: the last',
  pair('X-A, X-B', ['X-A', '1', 'X-B', '1'], ['X-A', '1', 'X-B', '2'], forwarded),
)
must('4.1', 'several names that all match', pair('X-A,X-B', ['X-A', '1', 'X-B', '2'], ['X-B', '2', 'X-A', '1'], reused))
mustNot(
  '4.1',
  'values of two fields are mixed up',
  pair('X-A, X-B', ['X-A', '1', 'X-B', '2'], ['X-A', '2', 'X-B', '1'], forwarded),
)
mustNot('4.1', 'of two Vary lines one is forgotten: the first', [
  get(cc('max-age=60', 'Vary', 'X-A', 'Vary', 'X-B'), forwarded, asking('X-A', '1', 'X-B', '1')),
  again(forwarded, asking('X-A', '2', 'X-B', '1')),
])
mustNot('4.1', 'of two Vary lines one is forgotten: the second', [
  get(cc('max-age=60', 'Vary', 'X-A', 'Vary', 'X-B'), forwarded, asking('X-A', '1', 'X-B', '1')),
  again(forwarded, asking('X-A', '1', 'X-B', '2')),
])
mustNot('4.1', 'Vary: * matches', pair('*', [], [], forwarded))
mustNot('4.1', 'Vary: * among names matches', pair('X-A, *', ['X-A', '1'], ['X-A', '1'], forwarded))
mustNot('4.1', 'Vary: * in a line of its own matches', [
  get(cc('max-age=60', 'Vary', 'X-A', 'Vary', '*'), forwarded, asking('X-A', '1')),
  again(forwarded, asking('X-A', '1')),
])
mustNot('4.1', 'Vary: * with blanks around matches', pair(' * ', [], [], forwarded))
must('4.1', 'empty members of Vary name nothing', pair(', X-A, ,', ['X-A', '1'], ['X-A', '1'], reused))
mustNot('4.1', 'empty members of Vary hide the names', pair(', X-A, ,', ['X-A', '1'], ['X-A', '2'], forwarded))
may('4.1', 'an empty Vary names nothing', stores(cc('max-age=60', 'Vary', '')))
mustNot(
  '4.1',
  'values are compared as if their case did not matter where it does',
  pair('X-A', ['X-A', 'a'], ['X-A', 'A'], forwarded),
)
mustNot('4.1', 'a value that begins like another matches', pair('X-A', ['X-A', 'a'], ['X-A', 'ab'], forwarded))
mustNot(
  '4.1',
  'one line with two values matches two fields that only look so',
  pair('X-A, X-B', ['X-A', '1, 2'], ['X-A', '1', 'X-B', '2'], forwarded),
)
mustNot('4.1', 'more lines match fewer', pair('X-A', ['X-A', '1', 'X-A', '2'], ['X-A', '1'], forwarded))
mustNot(
  '4.1',
  'lines in another order match',
  pair('X-A', ['X-A', '1', 'X-A', '2'], ['X-A', '2', 'X-A', '1'], forwarded),
)
may('4.1', 'two lines match one that joins them', pair('X-A', ['X-A', '1', 'X-A', '2'], ['X-A', '1, 2'], reused))
may(
  '4.1',
  'blanks where a list allows them play no part',
  pair('Accept', ['Accept', 'a/b,c/d'], ['Accept', 'a/b, c/d'], reused),
)
may(
  '4.1',
  'the codings of Accept-Encoding in another order match',
  pair('Accept-Encoding', ['Accept-Encoding', 'gzip, br'], ['Accept-Encoding', 'br, gzip'], reused),
)
may(
  '4.1',
  'codings are compared whatever their case',
  pair('Accept-Encoding', ['Accept-Encoding', 'gzip'], ['Accept-Encoding', 'GZIP'], reused),
)
mustNot(
  '4.1',
  'codings with other weights match',
  pair(
    'Accept-Encoding',
    ['Accept-Encoding', 'gzip;q=1, br;q=0.1'],
    ['Accept-Encoding', 'gzip;q=0.1, br;q=1'],
    forwarded,
  ),
)
mustNot(
  '4.1',
  'a coding that is refused matches one that is asked for',
  pair('Accept-Encoding', ['Accept-Encoding', 'gzip'], ['Accept-Encoding', 'gzip;q=0'], forwarded),
)
mustNot(
  '4.1',
  'Accept-Encoding that is absent matches one that is there',
  pair('Accept-Encoding', [], ['Accept-Encoding', 'gzip'], forwarded),
)
mustNot(
  '4.1',
  'User-Agent is normalised away',
  pair('User-Agent', ['User-Agent', 'a/1'], ['User-Agent', 'a/2'], forwarded),
)
mustNot(
  '4.1',
  'another language matches',
  pair('Accept-Language', ['Accept-Language', 'de'], ['Accept-Language', 'en'], forwarded),
)
mustNot('4.1', 'a comma in a quoted string parts a value', pair('X-A', ['X-A', '"1,2"'], ['X-A', '"1, 2"'], forwarded))
mustNot(
  '4.1',
  'a response to a request with a field of Vary that has the cache’s own name for absence',
  pair('X-A', [], ['X-A', 'undefined'], forwarded),
)
mustNot(
  '4.1',
  'another Origin matches',
  pair('Origin', ['Origin', 'https://a.example'], ['Origin', 'https://b.example'], forwarded),
)

may('4.1', 'several variants are stored beside each other', [
  get(on('X-A'), forwarded, asking('X-A', '1')),
  again(forwarded, asking('X-A', '2')),
  again(and(reused, { body: 1 }), asking('X-A', '1')),
  again(and(reused, { body: 2 }), asking('X-A', '2')),
])
must('4.1', 'what a new response says of Vary counts', [
  get(cc('max-age=10')),
  get(on('X-A'), forwarded, { at: 20, ...asking('X-A', '1') }),
  again(forwarded, { at: 21, ...asking('X-A', '2') }),
])
should('4.1', 'a response that forgets Vary does not take the place of one that has it', [
  get(on('X-A'), forwarded, asking('X-A', '1')),
  get(cc('max-age=60'), forwarded, { at: 1, ...asking('X-A', '2') }),
  again({ asked: false, body: 1 }, { at: 2, ...asking('X-A', '1') }),
])
must('4', 'of several that match the most recent is used', [
  get(on('X-A'), forwarded, asking('X-A', '1', 'X-B', '1')),
  get(on('X-B'), forwarded, { at: 5, ...asking('X-A', '2', 'X-B', '1') }),
  again({ asked: false, body: 2 }, { at: 6, ...asking('X-A', '1', 'X-B', '1') }),
])
must('4', 'of several that match the one with the latest Date is used, whichever came last', [
  get(on('X-A', 'Date', '@t0-5'), forwarded, asking('X-A', '1', 'X-B', '1')),
  get(on('X-B', 'Date', '@t0-20'), forwarded, { at: 5, ...asking('X-A', '2', 'X-B', '1') }),
  again({ asked: false, body: 1 }, { at: 6, ...asking('X-A', '1', 'X-B', '1') }),
])
must('4.1', 'errors vary as well', [
  get(status(404, 'Cache-Control', 'max-age=60', 'Vary', 'X-A'), forwarded, asking('X-A', '1')),
  again(forwarded, asking('X-A', '2')),
])
mustNot('4.1', 'a client’s condition is evaluated on another variant', [
  get(on('X-A', 'ETag', '"a"'), forwarded, asking('X-A', '1')),
  get(on('X-A', 'ETag', '"b"'), { asked: true, status: 200 }, asking('X-A', '2', 'If-None-Match', '"a"')),
])
mustNot('4.1', 'a range is served from another variant', [
  get(on('X-A'), forwarded, asking('X-A', '1')),
  get(
    { status: 206, fields: ['Content-Range', 'bytes 0-1/9'], body: 'zz' },
    { asked: true, body: { text: 'zz' } },
    asking('X-A', '2', 'Range', 'bytes=0-1'),
  ),
])
must('4.1', 'a stale variant is validated, and the others stay', [
  get(cc('max-age=10', 'Vary', 'X-A', 'ETag', '"a"'), forwarded, asking('X-A', '1')),
  get(cc('max-age=100', 'Vary', 'X-A', 'ETag', '"b"'), forwarded, asking('X-A', '2')),
  get(cc('max-age=100', 'Vary', 'X-A', 'ETag', '"c"'), forwarded, { at: 20, ...asking('X-A', '1') }),
  again({ asked: false, body: 2 }, { at: 21, ...asking('X-A', '2') }),
  again({ asked: false, body: 3 }, { at: 21, ...asking('X-A', '1') }),
])
mustNot('4.1', 'a 304 that adds a name to Vary leaves the stored response to requests that differ in it', [
  get(cc('max-age=10', 'ETag', '"a"'), forwarded, asking('X-A', '1')),
  get(
    status(304, 'ETag', '"a"', 'Vary', 'X-A', 'Cache-Control', 'max-age=100'),
    { asked: true },
    { at: 20, ...asking('X-A', '1') },
  ),
  get(cc('max-age=100', 'Vary', 'X-A'), { asked: true }, { at: 21, ...asking('X-A', '2') }),
])
