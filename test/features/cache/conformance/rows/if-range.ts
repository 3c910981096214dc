import { again, and, asking, get, requirements, reused } from '../script.ts'
import { digits, part, range, wholeFromAnywhere } from './parts.ts'

/** RFC 9110 §13.1.5: a part, if it is of what the client has already. */
export const ifRange = requirements(9110)
const { must, mustNot, should, shouldNot } = ifRange

const whole = and(reused, { status: 200, fields: { 'content-range': null } })

// §13.1.5
const dated = digits('Last-Modified', '@t0-1000')
must('13.1.5', 'If-Range with the stored strong tag: the part', [
  get(digits('ETag', '"a"')),
  again(part('01', 'bytes 0-1/10'), range('bytes=0-1', 'If-Range', '"a"')),
])
must('13.1.5', 'If-Range with another tag: the Range is ignored', [
  get(digits('ETag', '"a"')),
  again(wholeFromAnywhere, range('bytes=0-1', 'If-Range', '"b"')),
])
must('13.1.5', 'If-Range compares strongly: a stored weak tag is not the same', [
  get(digits('ETag', 'W/"a"')),
  again(wholeFromAnywhere, range('bytes=0-1', 'If-Range', 'W/"a"')),
])
must('13.1.5', 'If-Range compares strongly: the client’s weak tag is not the same', [
  get(digits('ETag', '"a"')),
  again(wholeFromAnywhere, range('bytes=0-1', 'If-Range', 'W/"a"')),
])
must('13.1.5', 'If-Range with a tag where none is stored: the Range is ignored', [
  get(digits()),
  again(wholeFromAnywhere, range('bytes=0-1', 'If-Range', '"a"')),
])
should('13.1.5', 'If-Range with exactly the stored date, which is strong: the part', [
  get(dated),
  again(part('01', 'bytes 0-1/10'), range('bytes=0-1', 'If-Range', '@t0-1000')),
])
must('13.1.5', 'If-Range with a later date: the Range is ignored, for only the very same date will do', [
  get(dated),
  again(wholeFromAnywhere, range('bytes=0-1', 'If-Range', '@t0')),
])
must('13.1.5', 'If-Range with an earlier date: the Range is ignored', [
  get(dated),
  again(wholeFromAnywhere, range('bytes=0-1', 'If-Range', '@t0-2000')),
])
must('13.1.5', 'If-Range with a date that is no strong validator: the Range is ignored', [
  get(digits('Last-Modified', '@t0')),
  again(wholeFromAnywhere, range('bytes=0-1', 'If-Range', '@t0')),
])
must('13.1.5', 'If-Range with a date where none is stored: the Range is ignored', [
  get(digits('ETag', '"a"')),
  again(wholeFromAnywhere, range('bytes=0-1', 'If-Range', '@t0')),
])
must('13.1.5', 'If-Range with what is neither: the Range is ignored', [
  get(digits('ETag', '"a"')),
  again(wholeFromAnywhere, range('bytes=0-1', 'If-Range', 'a')),
])
must('13.1.5', 'If-Range without Range is ignored', [
  get(digits('ETag', '"a"')),
  again(whole, asking('If-Range', '"b"')),
])
mustNot('13.1.5', 'If-Range that is false and a Range that cannot be satisfied make a 416', [
  get(digits('ETag', '"a"')),
  again(wholeFromAnywhere, range('bytes=100-', 'If-Range', '"b"')),
])
shouldNot('15.3.7', 'a 206 for an If-Range repeats what the client has: Content-Type', [
  get(digits('ETag', '"a"', 'Content-Type', 'a/b')),
  again(
    { asked: false, status: 206, fields: { etag: '"a"', 'content-type': null } },
    range('bytes=0-1', 'If-Range', '"a"'),
  ),
])
