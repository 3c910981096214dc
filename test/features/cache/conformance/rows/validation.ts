import {
  again,
  and,
  asking,
  cc,
  confirmed,
  type Expectation,
  forwarded,
  get,
  notModified,
  type Reply,
  type Row,
  requirements,
  reused,
  type ScriptFields,
  status,
  validating,
} from '../script.ts'

/** RFC 9111 §4.3: whether what a cache or a client has is still good; RFC 9110 §14: parts of what is stored. */
export const validation: Row[] = []
const { must, mustNot, should, may } = requirements(validation, 9111)
const http = requirements(validation, 9110)

const tagged = cc('max-age=60', 'ETag', '"a"')
const knows = (value: string) => asking('If-None-Match', value)
/** A response of ten bytes. */
const digits = (...fields: ScriptFields): Reply => ({ ...cc('max-age=60', ...fields), body: '0123456789' })

/** A request for a part. */
const range = (value: string, ...fields: ScriptFields) => asking('Range', value, ...fields)

/** The cache responds with a part. */
const part = (text: string, contentRange: string): Expectation => ({
  asked: false,
  status: 206,
  body: { text },
  fields: { 'content-range': contentRange },
})

const at = { at: 20 }
// §4.3.1
must('4.3.1', 'the stored entity tag is sent', [
  get(cc('max-age=10', 'ETag', '"a"')),
  again({ asked: true, sent: { 'if-none-match': '"a"' } }, at),
])
should('4.3.1', 'with both, both are sent', [
  get(cc('max-age=10', 'Last-Modified', '@t0-100', 'ETag', '"a"')),
  again({ asked: true, sent: { 'if-modified-since': '@t0-100', 'if-none-match': '"a"' } }, at),
])
must('4.3.1', 'without a validator nothing is made up', [
  get(cc('max-age=10')),
  again({ asked: true, sent: { 'if-modified-since': null, 'if-none-match': null } }, at),
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
should('4.3.2', 'after a validation the client’s own condition is evaluated', [
  get(validating(cc('max-age=10', 'ETag', '"a"'))),
  again({ asked: true, status: 304, body: { text: '' } }, { ...at, ...asking('If-None-Match', '"a"') }),
])
may('4.3.3', 'a full response to a validation is stored', [
  get(cc('max-age=10', 'ETag', '"a"')),
  get(cc('max-age=10', 'ETag', '"b"'), forwarded, at),
  again({ asked: false, body: 2, fields: { etag: '"b"' } }, { at: 25 }),
])
must('4.3.3', 'a response that may not be stored is what the client gets, and the old one does not come back', [
  get(cc('max-age=10', 'ETag', '"a"')),
  get(cc('no-store'), forwarded, at),
  again(forwarded, { at: 21 }),
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
must('4.3.4', 'a 304 with private: a shared cache no longer reuses it', [
  get(cc('max-age=10', 'ETag', '"a"')),
  get(status(304, 'ETag', '"a"', 'Cache-Control', 'private, max-age=100'), { asked: true, status: 200 }, at),
  get(cc('max-age=10', 'ETag', '"a"'), { asked: true }, { at: 21 }),
])
mustNot('4.3.4', 'a 304 with a strong tag that is not stored updates anything', [
  get(cc('max-age=10', 'ETag', '"a"')),
  get(status(304, 'ETag', '"z"', 'Cache-Control', 'max-age=1000'), {}, at),
  get(cc('max-age=10'), { asked: true }, { at: 40 }),
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

// RFC 9111 §4.3.2
should('4.3.2', 'If-None-Match with the stored tag: 304', [get(tagged), again(notModified, knows('"a"'))])
should('4.3.2', 'If-Modified-Since with the stored date: 304', [
  get(cc('max-age=60', 'Last-Modified', '@t0-100')),
  again(notModified, asking('If-Modified-Since', '@t0-100')),
])
mustNot('4.3.2', 'If-Match is evaluated by a cache', [
  get(tagged),
  again(and(forwarded, { sent: { 'if-match': '"z"' } }), asking('If-Match', '"z"')),
])
mustNot('4.3.2', 'a condition on what is not stored gets its response from the cache', [
  get(tagged, { asked: true }, knows('"a"')),
])
mustNot('4.3.2', 'a condition is evaluated on a stale response that was not validated', [
  get(cc('max-age=10', 'ETag', '"a"')),
  get(cc('max-age=10', 'ETag', '"b"'), and(forwarded, { status: 200 }), { at: 20, ...knows('"a"') }),
])
must('4', 'a 304 from the cache has an Age', [
  get(tagged),
  again(and(notModified, { fields: { age: 10 } }), { at: 10, ...knows('"a"') }),
])

http.should('15.5.17', 'a 416 says how long the whole is', [
  get(digits()),
  again({ asked: false, status: 416, fields: { 'content-range': 'bytes */10' } }, range('bytes=10-')),
])
http.must('8.6', 'the Content-Length of a 206 is that of the part', [
  get(digits('Content-Length', '10')),
  again(and(part('234', 'bytes 2-4/10'), { fields: { 'content-length': 3 } }), range('bytes=2-4')),
])
must('4', 'a 206 from the cache has an Age', [
  get(digits()),
  again({ asked: false, status: 206, fields: { age: 7 } }, { at: 7, ...range('bytes=2-4') }),
])
mustNot('3.3', 'what is stored of the whole is lost to a part that was asked for', [
  get(digits()),
  again(part('234', 'bytes 2-4/10'), range('bytes=2-4')),
  again(reused),
])
// Responses that are not stored, or not good enough.
http.may('14.2', 'a Range on what is not stored goes to the upstream as it is', [
  get(
    { status: 206, fields: ['Content-Range', 'bytes 0-1/10'], body: '01' },
    and(forwarded, { status: 206, sent: { range: 'bytes=0-1' } }),
    range('bytes=0-1'),
  ),
])
http.mustNot('14.2', 'a part that the upstream sent is taken for another part', [
  get(
    { status: 206, fields: ['Cache-Control', 'max-age=60', 'Content-Range', 'bytes 0-1/10'], body: '01' },
    and(forwarded, { status: 206 }),
    range('bytes=0-1'),
  ),
  get(
    { status: 206, fields: ['Cache-Control', 'max-age=60', 'Content-Range', 'bytes 5-6/10'], body: '56' },
    and(forwarded, { status: 206, body: { text: '56' } }),
    range('bytes=5-6'),
  ),
])
http.mustNot('14.2', 'a Range is served from what is stale and was not validated', [
  get({ ...cc('max-age=10'), body: '0123456789' }),
  get(
    { status: 206, fields: ['Content-Range', 'bytes 0-1/2'], body: 'ab' },
    { asked: true },
    { at: 20, ...range('bytes=0-1') },
  ),
])
http.may('14.2', 'a Range on what is stale, and turns out to be good', [
  get(validating({ ...cc('max-age=10', 'ETag', '"a"'), body: '0123456789' })),
  again({ asked: true, status: [200, 206] }, { at: 20, ...range('bytes=0-1') }),
])
