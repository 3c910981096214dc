import { again, and, asking, cc, forwarded, get, notModified, requirements, reused, status } from '../script.ts'

/**
 * RFC 9110 §8.8, §13 and §15.4.5, RFC 9111 §4.3.2: a client asks whether its copy is still good, and the cache knows.
 */
export const conditions = requirements(9110)
export const conditionsAtCaches = requirements(9111)
const { must } = conditions
const caching = conditionsAtCaches

const tagged = cc('max-age=60', 'ETag', '"a"')
const knows = (value: string) => asking('If-None-Match', value)
const since = (value: string) => asking('If-Modified-Since', value)

// RFC 9111 §4.3.2
caching.should('4.3.2', 'If-None-Match with the stored tag: 304', [get(tagged), again(notModified, knows('"a"'))])
caching.should('4.3.2', 'If-Modified-Since with the stored date: 304', [
  get(cc('max-age=60', 'Last-Modified', '@t0-100')),
  again(notModified, since('@t0-100')),
])
caching.should('4.3.2', 'without a stored Last-Modified, If-Modified-Since is compared with Date: not before it', [
  get(cc('max-age=60', 'Date', '@t0-10')),
  again(notModified, since('@t0-10')),
])
caching.should('4.3.2', 'without a stored Last-Modified, If-Modified-Since is compared with Date: before it', [
  get(cc('max-age=60', 'Date', '@t0-10')),
  again(reused, since('@t0-11')),
])
caching.should('4.3.2', 'without Last-Modified and Date, If-Modified-Since is compared with the time of receipt', [
  get({ fields: ['Cache-Control', 'max-age=60'], date: false }),
  again(reused, since('@t0-1')),
  again(notModified, since('@t0')),
])
caching.mustNot('4.3.2', 'If-Match is evaluated by a cache', [
  get(tagged),
  again(and(forwarded, { sent: { 'if-match': '"z"' } }), asking('If-Match', '"z"')),
])
caching.mustNot('4.3.2', 'If-Unmodified-Since is evaluated by a cache', [
  get(cc('max-age=60', 'Last-Modified', '@t0-100')),
  again(and(forwarded, { sent: { 'if-unmodified-since': '@t0-1000' } }), asking('If-Unmodified-Since', '@t0-1000')),
])
caching.mustNot('4.3.2', 'a condition on what is not stored gets its response from the cache', [
  get(tagged, { asked: true }, knows('"a"')),
])
caching.mustNot('4.3.2', 'If-None-Match: * on what is not stored gets its response from the cache', [
  get(tagged, { asked: true }, knows('*')),
])
caching.mustNot('4.3.2', 'a condition is evaluated on a stale response that was not validated', [
  get(cc('max-age=10', 'ETag', '"a"')),
  get(cc('max-age=10', 'ETag', '"b"'), and(forwarded, { status: 200 }), { at: 20, ...knows('"a"') }),
])
caching.mustNot('4.3.2', 'a condition is evaluated on a stored error', [
  get(status(404, 'Cache-Control', 'max-age=60', 'ETag', '"a"')),
  again({ status: 404 }, knows('"a"')),
])
caching.mustNot('4.3.2', 'a condition is evaluated on a stored redirect', [
  get(status(301, 'Cache-Control', 'max-age=60', 'ETag', '"a"')),
  again({ status: 301 }, knows('"a"')),
])
caching.must('4', 'a 304 from the cache has an Age', [
  get(tagged),
  again(and(notModified, { fields: { age: 10 } }), { at: 10, ...knows('"a"') }),
])

// §8.8.3.2, §13.1.2
must('13.1.2', 'If-None-Match compares weakly: the stored tag is weak', [
  get(cc('max-age=60', 'ETag', 'W/"a"')),
  again(notModified, knows('"a"')),
])
must('13.1.2', 'If-None-Match compares weakly: the client’s tag is weak', [
  get(tagged),
  again(notModified, knows('W/"a"')),
])
must('13.1.2', 'If-None-Match compares weakly: both are weak', [
  get(cc('max-age=60', 'ETag', 'W/"a"')),
  again(notModified, knows('W/"a"')),
])
must('13.1.2', 'If-None-Match with another tag: the whole response', [
  get(tagged),
  again(and(reused, { status: 200 }), knows('"b"')),
])
must('13.1.2', 'If-None-Match with a list in which the stored tag stands: 304', [
  get(tagged),
  again(notModified, knows('"x", W/"y" ,"a"')),
])
must('13.1.2', 'If-None-Match with a list in which it does not stand: the whole response', [
  get(tagged),
  again(and(reused, { status: 200 }), knows('"x", "y"')),
])
must('13.1.2', 'If-None-Match in two lines is one list', [
  get(tagged),
  again(notModified, asking('If-None-Match', '"x"', 'If-None-Match', '"a"')),
])
must('13.1.2', 'If-None-Match: * is false where there is a response', [get(tagged), again(notModified, knows('*'))])
must('8.8.3', 'tags are compared by their case', [get(tagged), again(and(reused, { status: 200 }), knows('"A"'))])
must('8.8.3', 'a comma in a tag parts nothing', [
  get(cc('max-age=60', 'ETag', '"a,b"')),
  again(notModified, knows('"x", "a,b"')),
  again(and(reused, { status: 200 }), knows('"a", "b"')),
])
must('8.8.3', 'a tag that is a part of another is another', [
  get(tagged),
  again(and(reused, { status: 200 }), knows('"aa"')),
])
must('8.8.3', 'a tag without quotes is none', [get(tagged), again({ asked: false, status: 200 }, knows('a'))])
must('8.8.3', 'w/ in lower case is no weak tag', [get(tagged), again({ asked: false, status: 200 }, knows('w/"a"'))])
must('8.8.3', 'a backslash in a tag is a character', [
  get(cc('max-age=60', 'ETag', '"a\\"')),
  again(notModified, knows('"a\\"')),
])
must('8.8.3', 'the empty tag is a tag', [
  get(cc('max-age=60', 'ETag', '""')),
  again(notModified, knows('""')),
  again({ status: 200 }, knows('"a"')),
])
must('5.6.1', 'empty members of the list are nothing', [get(tagged), again(notModified, knows(', ,"x",,"a"'))])
must('13.1.2', 'If-None-Match on what has no tag: the whole response', [
  get(cc('max-age=60')),
  again(and(reused, { status: 200 }), knows('"a"')),
])

// §13.1.3
must('13.1.3', 'If-Modified-Since later than the stored date: 304', [
  get(cc('max-age=60', 'Last-Modified', '@t0-100')),
  again(notModified, since('@t0-50')),
])
must('13.1.3', 'If-Modified-Since before the stored date: the whole response', [
  get(cc('max-age=60', 'Last-Modified', '@t0-100')),
  again(and(reused, { status: 200 }), since('@t0-101')),
])
must('13.1.3', 'If-Modified-Since is ignored beside an If-None-Match that is true', [
  get(cc('max-age=60', 'ETag', '"a"', 'Last-Modified', '@t0-100')),
  again(and(reused, { status: 200 }), asking('If-None-Match', '"b"', 'If-Modified-Since', '@t0')),
])
must('13.1.3', 'If-Modified-Since is ignored beside an If-None-Match that is false', [
  get(cc('max-age=60', 'ETag', '"a"', 'Last-Modified', '@t0-100')),
  again(notModified, asking('If-None-Match', '"a"', 'If-Modified-Since', '@t0-1000')),
])
must('13.1.3', 'If-Modified-Since is ignored beside an If-None-Match on what has no tag', [
  get(cc('max-age=60', 'Last-Modified', '@t0-100')),
  again(and(reused, { status: 200 }), asking('If-None-Match', '"a"', 'If-Modified-Since', '@t0')),
])
for (const value of ['yesterday', '0', '', '2049-01-01', 'Fri, 01 Jan 2049 00:00:00 PST', 'Fri, 01 Jan 2049 00:00:00'])
  must('13.1.3', `an If-Modified-Since of ${JSON.stringify(value)} is ignored`, [
    get(cc('max-age=60', 'Last-Modified', '@t0-100')),
    again(and(reused, { status: 200 }), since(value)),
  ])
must('13.1.3', 'an If-Modified-Since of two dates is ignored', [
  get(cc('max-age=60', 'Last-Modified', '@t0-100')),
  again(and(reused, { status: 200 }), since('@t0, @t0')),
])
must('13.1.3', 'an If-Modified-Since in two lines is ignored', [
  get(cc('max-age=60', 'Last-Modified', '@t0-100')),
  again(and(reused, { status: 200 }), asking('If-Modified-Since', '@t0', 'If-Modified-Since', '@t0')),
])
must('5.6.7', 'an If-Modified-Since of the RFC 850 form is understood', [
  get(cc('max-age=60', 'Last-Modified', '@t0-100')),
  again(notModified, since('@t0-100:850')),
])
must('5.6.7', 'an If-Modified-Since of the asctime form is understood', [
  get(cc('max-age=60', 'Last-Modified', '@t0-100')),
  again(notModified, since('@t0-100:asctime')),
])
must('5.6.7', 'a Last-Modified of the RFC 850 form is understood', [
  get(cc('max-age=60', 'Last-Modified', '@t0-100:850')),
  again(notModified, since('@t0-100')),
])
must('13.1.3', 'If-Modified-Since is seen by the origin’s clock: the cache’s own plays no part', [
  get(cc('max-age=60', 'Date', '@t0+90000000', 'Last-Modified', '@t0+80000000')),
  again(and(reused, { status: 200 }), since('@t0+100')),
])

// §13.2
must('13.2.1', 'conditions are ignored where the response without them is no 2xx: 404', [
  get(status(404, 'Cache-Control', 'max-age=60', 'ETag', '"a"')),
  again(and(reused, { status: 404 }), knows('"a"')),
])
must('13.2.1', 'conditions are ignored where the response without them is no 2xx: 301', [
  get(status(301, 'Cache-Control', 'max-age=60', 'ETag', '"a"', 'Location', '/x')),
  again(and(reused, { status: 301 }), knows('*')),
])
must('13.2.1', 'conditions are ignored where the response without them is no 2xx: 500', [
  get(status(500, 'Cache-Control', 'max-age=60', 'Last-Modified', '@t0-100')),
  again(and(reused, { status: 500 }), since('@t0')),
])
must('13.2.2', 'If-None-Match comes before Range', [
  get(tagged),
  again(notModified, asking('If-None-Match', '"a"', 'Range', 'bytes=0-1')),
])
must('13.2.2', 'an If-None-Match that is true leaves the Range', [
  get(tagged),
  again({ asked: false, status: 206, body: { text: 'an' } }, asking('If-None-Match', '"b"', 'Range', 'bytes=0-1')),
])
must('13.2.2', 'If-Modified-Since comes before Range', [
  get(cc('max-age=60', 'Last-Modified', '@t0-100')),
  again(notModified, asking('If-Modified-Since', '@t0', 'Range', 'bytes=0-1')),
])
must('13.2.2', 'If-None-Match comes before an If-Range that is false', [
  get(tagged),
  again(notModified, asking('If-None-Match', '"a"', 'Range', 'bytes=0-1', 'If-Range', '"z"')),
])
