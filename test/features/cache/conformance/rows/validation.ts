import {
  again,
  and,
  asking,
  cc,
  confirmed,
  forwarded,
  get,
  ok,
  requirements,
  reused,
  status,
  validating,
} from '../script.ts'

/** RFC 9111 §4.3 and §3.2: asking the upstream whether a stored response is still good, and what its 304 changes. */
export const validation = requirements(9111)
const { must, mustNot, should, may } = validation

const at = { at: 20 }

// §4.3.1
must('4.3.1', 'the stored entity tag is sent', [
  get(cc('max-age=10', 'ETag', '"a"')),
  again({ asked: true, sent: { 'if-none-match': '"a"' } }, at),
])
must('4.3.1', 'a weak entity tag is sent as it is', [
  get(cc('max-age=10', 'ETag', 'W/"a"')),
  again({ asked: true, sent: { 'if-none-match': 'W/"a"' } }, at),
])
must('4.3.1', 'an entity tag with a comma and bytes beyond ASCII is sent as it is', [
  get(cc('max-age=10', 'ETag', '"a,b\xe9"')),
  again({ asked: true, sent: { 'if-none-match': '"a,b\xe9"' } }, at),
])
should('4.3.1', 'the stored Last-Modified is sent', [
  get(cc('max-age=10', 'Last-Modified', '@t0-100')),
  again({ asked: true, sent: { 'if-modified-since': '@t0-100' } }, at),
])
should('4.3.1', 'with both, both are sent', [
  get(cc('max-age=10', 'Last-Modified', '@t0-100', 'ETag', '"a"')),
  again({ asked: true, sent: { 'if-modified-since': '@t0-100', 'if-none-match': '"a"' } }, at),
])
must('4.3.1', 'without a validator nothing is made up', [
  get(cc('max-age=10')),
  again({ asked: true, sent: { 'if-modified-since': null, 'if-none-match': null } }, at),
])
must('4.3.1', 'what says no-cache is validated by its entity tag', [
  get(validating(cc('no-cache', 'ETag', '"a"'))),
  again(and(confirmed, { sent: { 'if-none-match': '"a"' } })),
])
must('4.3.1', 'what says must-revalidate is validated by its entity tag', [
  get(validating(cc('max-age=10, must-revalidate', 'ETag', '"a"'))),
  again(and(confirmed, { sent: { 'if-none-match': '"a"' } }), at),
])
must('4.3.1', 'the request that validates has the client’s other fields', [
  get(cc('max-age=10', 'ETag', '"a"')),
  again(
    { asked: true, sent: { 'if-none-match': '"a"', 'x-own': '1', accept: 'a/b' } },
    { ...at, ...asking('X-Own', '1', 'Accept', 'a/b') },
  ),
])
must('4.3.1', 'a client that has another copy does not keep the stored tag from being sent', [
  get(cc('max-age=10', 'ETag', '"a"')),
  again({ asked: true, sent: { 'if-none-match': /"a"/ } }, { ...at, ...asking('If-None-Match', '"b"') }),
])

// §4.3.2
must('4.3.2', 'a 304 for the stored tag, which the client does not have, is a 200 to the client', [
  get(cc('max-age=10', 'ETag', '"a"')),
  get(status(304, 'ETag', '"a"', 'Cache-Control', 'max-age=10'), confirmed, {
    ...at,
    ...asking('If-None-Match', '"b"'),
  }),
])
must('4.3.2', 'a 304 to the cache’s own request is a 200 to a client with an unconditional request', [
  get(cc('max-age=10', 'ETag', '"a"')),
  get(status(304, 'ETag', '"a"'), confirmed, at),
])
must('4.3.2', 'a 304 by Last-Modified is a 200 to a client with an unconditional request', [
  get(validating(cc('max-age=10', 'Last-Modified', '@t0-100'))),
  get(status(304), confirmed, at),
])
should('4.3.2', 'after a validation the client’s own condition is evaluated', [
  get(validating(cc('max-age=10', 'ETag', '"a"'))),
  again({ asked: true, status: 304, body: { text: '' } }, { ...at, ...asking('If-None-Match', '"a"') }),
])

// §4.3.3
must('4.3.3', 'a full response to a validation is what the client gets', [
  get(cc('max-age=10', 'ETag', '"a"')),
  get(cc('max-age=10', 'ETag', '"b"'), and(forwarded, { fields: { etag: '"b"' } }), at),
])
may('4.3.3', 'a full response to a validation is stored', [
  get(cc('max-age=10', 'ETag', '"a"')),
  get(cc('max-age=10', 'ETag', '"b"'), forwarded, at),
  again({ asked: false, body: 2, fields: { etag: '"b"' } }, { at: 25 }),
])
must('4.3.3', 'a 404 to a validation is what the client gets', [
  get(cc('max-age=10', 'ETag', '"a"')),
  get(status(404), and(forwarded, { status: 404 }), at),
])
must('4.3.3', 'a response that may not be stored is what the client gets, and the old one does not come back', [
  get(cc('max-age=10', 'ETag', '"a"')),
  get(cc('no-store'), forwarded, at),
  again(forwarded, { at: 21 }),
])
must('4.3.3', 'a 500 to a validation is forwarded, or what is stored where that is allowed', [
  get(cc('max-age=10', 'ETag', '"a"')),
  get(status(500), and(forwarded, { status: 500 }), at),
])
may('4.3.3', 'after an error the stored response can still be validated', [
  get(validating(cc('max-age=10', 'ETag', '"a"'))),
  get(status(503), {}, at),
  get(validating(cc('max-age=10', 'ETag', '"a"')), { asked: true, status: 200 }, { at: 30 }),
])

// §4.3.4
may('4.3.4', 'a 304 makes the stored response fresh again', [
  get(validating(cc('max-age=10', 'ETag', '"a"'))),
  again(confirmed, at),
  again(reused, { at: 29 }),
  again(confirmed, { at: 31 }),
])
must('4.3.4', 'the lifetime of the 304 takes the place of the old one', [
  get(cc('max-age=10', 'ETag', '"a"')),
  get(status(304, 'ETag', '"a"', 'Cache-Control', 'max-age=100'), confirmed, at),
  again(reused, { at: 110 }),
])
must('4.3.4', 'a shorter lifetime of the 304 counts', [
  get(cc('max-age=10', 'ETag', '"a"')),
  get(status(304, 'ETag', '"a"', 'Cache-Control', 'max-age=2'), confirmed, at),
  again({ asked: true }, { at: 23 }),
])
must('4.3.4', 'an Expires of the 304 takes the place of the old one', [
  get(ok('Expires', '@now+10', 'ETag', '"a"')),
  get(status(304, 'ETag', '"a"', 'Expires', '@now+100'), confirmed, at),
  again(and(reused, { fields: { expires: '@t0+120' } }), { at: 110 }),
])
must('4.3.4', 'a 304 with no-cache: the next is validated again', [
  get(cc('max-age=10', 'ETag', '"a"')),
  get(status(304, 'ETag', '"a"', 'Cache-Control', 'no-cache'), confirmed, at),
  again({ asked: true }, { at: 21 }),
])
must('4.3.4', 'a 304 with must-revalidate: it counts from then on', [
  get(cc('max-age=10', 'ETag', '"a"')),
  get(status(304, 'ETag', '"a"', 'Cache-Control', 'max-age=10, must-revalidate'), confirmed, at),
  get(status(503), { status: [503, 504], asked: true }, { at: 40, ...asking('Cache-Control', 'max-stale') }),
])
must('4.3.4', 'a 304 with private: a shared cache no longer reuses it', [
  get(cc('max-age=10', 'ETag', '"a"')),
  get(status(304, 'ETag', '"a"', 'Cache-Control', 'private, max-age=100'), { asked: true, status: 200 }, at),
  get(cc('max-age=10', 'ETag', '"a"'), { asked: true }, { at: 21 }),
])
must('4.3.4', 'a 304 with no-store: the stored response is no longer reused', [
  get(cc('max-age=10', 'ETag', '"a"')),
  get(status(304, 'ETag', '"a"', 'Cache-Control', 'no-store, max-age=100'), { asked: true, status: 200 }, at),
  get(cc('max-age=10', 'ETag', '"a"'), { asked: true }, { at: 21 }),
])
mustNot('4.3.4', 'a 304 with a strong tag that is not stored updates anything', [
  get(cc('max-age=10', 'ETag', '"a"')),
  get(status(304, 'ETag', '"z"', 'Cache-Control', 'max-age=1000'), {}, at),
  get(cc('max-age=10'), { asked: true }, { at: 40 }),
])
must('4.3.4', 'a 304 with the same weak tag updates', [
  get(cc('max-age=10', 'ETag', 'W/"a"')),
  get(status(304, 'ETag', 'W/"a"', 'X-Own', 'new'), and(confirmed, { fields: { 'x-own': 'new' } }), at),
])
must('4.3.4', 'a 304 with the same Last-Modified updates', [
  get(cc('max-age=10', 'Last-Modified', '@t0-100')),
  get(status(304, 'Last-Modified', '@t0-100', 'X-Own', 'new'), and(confirmed, { fields: { 'x-own': 'new' } }), at),
])
must('4.3.4', 'only the variant that could have been chosen is updated', [
  get(cc('max-age=10', 'ETag', '"a"', 'Vary', 'Accept', 'X-Own', 'a'), forwarded, asking('Accept', 'a/a')),
  get(cc('max-age=100', 'ETag', '"b"', 'Vary', 'Accept', 'X-Own', 'b'), forwarded, asking('Accept', 'b/b')),
  get(
    status(304, 'ETag', '"a"', 'Vary', 'Accept', 'Cache-Control', 'max-age=10', 'X-Own', 'new'),
    { asked: true, body: 1 },
    { ...at, ...asking('Accept', 'a/a') },
  ),
  again({ asked: false, body: 2, fields: { 'x-own': 'b', etag: '"b"' } }, { at: 21, ...asking('Accept', 'b/b') }),
])
must('4.3.1', 'a validation for one variant names that variant’s tag', [
  get(cc('max-age=10', 'ETag', '"a"', 'Vary', 'Accept'), forwarded, asking('Accept', 'a/a')),
  get(cc('max-age=10', 'ETag', '"b"', 'Vary', 'Accept'), forwarded, asking('Accept', 'b/b')),
  again({ asked: true, sent: { 'if-none-match': /"a"/ } }, { ...at, ...asking('Accept', 'a/a') }),
])
must('4.3.3', 'the result of a validation of a stored error is used', [
  get(status(404, 'Cache-Control', 'max-age=10', 'ETag', '"a"')),
  get(cc('max-age=10', 'ETag', '"b"'), and(forwarded, { status: 200 }), at),
])
must('4.3.4', 'what a 304 says is said of all that could have been chosen and have its strong tag', [
  get(cc('max-age=10', 'ETag', '"a"', 'Vary', 'X-A'), forwarded, asking('X-A', '1')),
  get(cc('max-age=100', 'ETag', '"a"'), forwarded, { at: 1, ...asking('X-A', '2') }),
  get(
    status(304, 'ETag', '"a"', 'Cache-Control', 'private'),
    { asked: true, status: 200 },
    { ...at, ...asking('X-A', '1') },
  ),
  get(cc('max-age=10'), { asked: true }, { at: 21, ...asking('X-A', '1') }),
])
