import { again, and, asking, cc, forwarded, get, requirements, reused, status, validating } from '../script.ts'
import { digits, part, range, wholeFromAnywhere } from './parts.ts'

/** RFC 9110 §14, §13.1.5, §15.3.7 and §15.5.17: parts of stored responses. */
export const ranges = requirements(9110)
export const rangesAtCaches = requirements(9111)
const { must, mustNot, should, may } = ranges

const whole = and(reused, { status: 200, fields: { 'content-range': null } })

// §14.1.2, §14.2
may('14.2', 'a range from the start', [get(digits()), again(part('0123', 'bytes 0-3/10'), range('bytes=0-3'))])
may('14.2', 'a range from the middle', [get(digits()), again(part('345', 'bytes 3-5/10'), range('bytes=3-5'))])
may('14.2', 'a range of one byte', [get(digits()), again(part('9', 'bytes 9-9/10'), range('bytes=9-9'))])
may('14.2', 'a range that is open is to the end', [
  get(digits()),
  again(part('456789', 'bytes 4-9/10'), range('bytes=4-')),
])
may('14.2', 'a range that is everything', [get(digits()), again(part('0123456789', 'bytes 0-9/10'), range('bytes=0-'))])
must('14.1.2', 'a last position beyond the end is the end', [
  get(digits()),
  again(part('789', 'bytes 7-9/10'), range('bytes=7-100')),
])
must('14.1.2', 'a last position beyond all numbers is the end', [
  get(digits()),
  again(part('789', 'bytes 7-9/10'), range(`bytes=7-${'9'.repeat(40)}`)),
])
may('14.1.2', 'a suffix is the last bytes', [get(digits()), again(part('789', 'bytes 7-9/10'), range('bytes=-3'))])
must('14.1.2', 'a suffix longer than the whole is the whole', [
  get(digits()),
  again(part('0123456789', 'bytes 0-9/10'), range('bytes=-100')),
])
must('14.1', 'the unit is compared whatever its case', [
  get(digits()),
  again({ either: [part('01', 'bytes 0-1/10'), wholeFromAnywhere] }, range('Bytes=0-1')),
])
must('14.1.2', 'leading zeros are digits as well', [
  get(digits()),
  again({ either: [part('01', 'bytes 0-1/10'), wholeFromAnywhere] }, range('bytes=00-01')),
])
must('14.1.1', 'a range whose last position is before its first is ignored', [
  get(digits()),
  again(wholeFromAnywhere, range('bytes=5-3')),
])
must('14.2', 'a unit that is unknown is ignored', [get(digits()), again(wholeFromAnywhere, range('lines=0-3'))])
for (const value of [
  'bytes',
  'bytes=',
  'bytes=-',
  'bytes=a-b',
  'bytes=0-3x',
  'bytes:0-3',
  '0-3',
  'bytes=0x0-3',
  'bytes=1.5-3',
  'bytes=--3',
  'bytes=+0-3',
  'bytes=0 - 3',
])
  may('14.2', `a Range of ${JSON.stringify(value)} is ignored or refused, and never a part of something`, [
    get(digits()),
    again({ either: [wholeFromAnywhere, { status: [400, 416] }] }, range(value)),
  ])
should('14.2', 'a first position at the end cannot be satisfied: 416', [
  get(digits()),
  again({ asked: false, status: 416 }, range('bytes=10-')),
])
should('14.2', 'a first position beyond the end cannot be satisfied: 416', [
  get(digits()),
  again({ asked: false, status: 416 }, range('bytes=100-200')),
])
should('14.2', 'a first position beyond all numbers cannot be satisfied: 416', [
  get(digits()),
  again({ asked: false, status: 416 }, range(`bytes=${'9'.repeat(40)}-`)),
])
should('14.1.2', 'a suffix of no bytes cannot be satisfied: 416', [
  get(digits()),
  again({ asked: false, status: 416 }, range('bytes=-0')),
])
should('15.5.17', 'a 416 says how long the whole is', [
  get(digits()),
  again({ asked: false, status: 416, fields: { 'content-range': 'bytes */10' } }, range('bytes=10-')),
])
mustNot('15.5.17', 'a 416 has the body of what is stored', [
  get(digits()),
  again({ asked: false, status: 416, body: { text: '' } }, range('bytes=10-')),
])
may('14.2', 'of a response without a body no range can be had', [
  get({ ...cc('max-age=60'), body: '' }),
  again({ either: [{ status: 416, fields: { 'content-range': 'bytes */0' } }, { status: 200 }] }, range('bytes=0-')),
])
may('14.2', 'several ranges: all of them, or the whole', [
  get(digits()),
  again(
    { either: [wholeFromAnywhere, { status: 206, fields: { 'content-type': /^multipart\/byteranges/ } }] },
    range('bytes=0-1,5-6'),
  ),
])
may('14.2', 'very many ranges are served once', [
  get(digits()),
  again(wholeFromAnywhere, range(`bytes=${Array.from({ length: 200 }, () => '0-').join(',')}`)),
])
must('14.2', 'a Range where the response without it is no 200 is ignored', [
  get({ ...status(404, 'Cache-Control', 'max-age=60'), body: '0123456789' }),
  again(and(reused, { status: 404, fields: { 'content-range': null } }), range('bytes=0-3')),
])
must('14.2', 'a Range where the response without it is a redirect is ignored', [
  get({ ...status(301, 'Cache-Control', 'max-age=60'), body: '0123456789' }),
  again(and(reused, { status: 301, fields: { 'content-range': null } }), range('bytes=0-3')),
])
must('14.2', 'a Range in two lines is no single range', [
  get(digits()),
  again(
    { either: [wholeFromAnywhere, { status: [400, 416] }, { status: 206, fields: { 'content-type': /^multipart/ } }] },
    asking('Range', 'bytes=0-1', 'Range', 'bytes=2-3'),
  ),
])

// §15.3.7
const rich = [
  'ETag',
  '"a"',
  'Content-Location',
  '/here',
  'Expires',
  '@now+60',
  'Vary',
  'Accept',
  'Content-Type',
  'a/b',
] as const
const kept = {
  'cache-control': 'max-age=60',
  etag: '"a"',
  'content-location': '/here',
  expires: '@t0+60',
  vary: 'Accept',
  date: '@t0',
  'content-type': 'a/b',
}
for (const [name, value] of Object.entries(kept))
  must('15.3.7', `a 206 has the ${name} that the 200 would have`, [
    get(digits(...rich)),
    again({ asked: false, status: 206, fields: { [name]: value } }, range('bytes=0-3')),
  ])
must('15.3.7.1', 'a part that is one has a Content-Range', [
  get(digits()),
  again({ asked: false, status: 206, fields: { 'content-range': 'bytes 2-4/10' } }, range('bytes=2-4')),
])
mustNot('15.3.7.2', 'one range is served as several parts', [
  get(digits('Content-Type', 'a/b')),
  again({ asked: false, status: 206, fields: { 'content-type': 'a/b' } }, range('bytes=2-4')),
])
must('8.6', 'the Content-Length of a 206 is that of the part', [
  get(digits('Content-Length', '10')),
  again(and(part('234', 'bytes 2-4/10'), { fields: { 'content-length': 3 } }), range('bytes=2-4')),
])
rangesAtCaches.must('4', 'a 206 from the cache has an Age', [
  get(digits()),
  again({ asked: false, status: 206, fields: { age: 7 } }, { at: 7, ...range('bytes=2-4') }),
])
rangesAtCaches.mustNot('3.3', 'what is stored of the whole is lost to a part that was asked for', [
  get(digits()),
  again(part('234', 'bytes 2-4/10'), range('bytes=2-4')),
  again(whole),
])

// Responses that are not stored, or not good enough.
may('14.2', 'a Range on what is not stored goes to the upstream as it is', [
  get(
    { status: 206, fields: ['Content-Range', 'bytes 0-1/10'], body: '01' },
    and(forwarded, { status: 206, sent: { range: 'bytes=0-1' } }),
    range('bytes=0-1'),
  ),
])
mustNot('14.2', 'a part that the upstream sent is taken for another part', [
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
mustNot('14.2', 'a Range is served from what is stale and was not validated', [
  get({ ...cc('max-age=10'), body: '0123456789' }),
  get(
    { status: 206, fields: ['Content-Range', 'bytes 0-1/2'], body: 'ab' },
    { asked: true },
    { at: 20, ...range('bytes=0-1') },
  ),
])
may('14.2', 'a Range on what is stale, and turns out to be good', [
  get(validating({ ...cc('max-age=10', 'ETag', '"a"'), body: '0123456789' })),
  again({ asked: true, status: [200, 206] }, { at: 20, ...range('bytes=0-1') }),
])
