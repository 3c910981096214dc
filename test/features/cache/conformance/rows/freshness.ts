import { again, and, cc, forwarded, freshFor, get, ok, requirements, reused, stores, storesNot } from '../script.ts'

/** RFC 9111 §4.2, §5.2.2, §5.3: how long a response is fresh. */
export const freshness = requirements(9111)
const { must, mustNot, should, may } = freshness

const stale = { asked: true }

// §4.2.1: the first of these that is there.
must('4.2', 'max-age: fresh while its lifetime is greater than its age', freshFor(cc('max-age=60'), 60))
must('4.2', 'max-age=0 is stale at once', storesNot(cc('max-age=0')))
must('4.2', 'max-age=1 is fresh within its second', stores(cc('max-age=1')))
must('4.2.1', 's-maxage stands above max-age when it is longer', freshFor(cc('max-age=10, s-maxage=60'), 60))
must('4.2.1', 's-maxage stands above max-age when it is shorter', freshFor(cc('s-maxage=10, max-age=60'), 10))
must('4.2.1', 's-maxage=0 stands above max-age', storesNot(cc('s-maxage=0, max-age=60')))
must('5.3', 'Expires is ignored beside max-age when it is later', freshFor(cc('max-age=10', 'Expires', '@now+100'), 10))
must('5.3', 'Expires is ignored beside max-age when it is past', freshFor(cc('max-age=60', 'Expires', '@now-100'), 60))
must('5.3', 'Expires is ignored beside s-maxage', freshFor(cc('s-maxage=60', 'Expires', '@now+1'), 60))
must('5.3', 'an invalid Expires is ignored beside max-age', freshFor(cc('max-age=60', 'Expires', '0'), 60))
must('4.2.1', 'Expires counts from Date', freshFor(ok('Expires', '@now+60'), 60))
must(
  '4.2.1',
  'Expires counts from the time of receipt where there is no Date',
  freshFor({ fields: ['Expires', '@now+60'], date: false }, 60),
)
must(
  '4.2.1',
  'Expires counts from the origin’s own clock, be it wrong by years',
  freshFor(ok('Date', '@now+90000000', 'Expires', '@now+90000060'), 60),
)
must('4.2.1', 'an Expires that is before Date is past', storesNot(ok('Date', '@now+100', 'Expires', '@now+60')))
must('4.2.1', 'an Expires equal to Date is past', storesNot(ok('Date', '@now', 'Expires', '@now')))
must('5.2.2.1', 'max-age in a quoted string counts', freshFor(cc('max-age="60"'), 60))
must('5.2.2.10', 's-maxage in a quoted string counts', freshFor(cc('s-maxage="60", max-age=5'), 60))

// RFC 9110 §5.6.7 and RFC 9111 §4.2, §5.3: dates.
const http = requirements(9110)
http.must('5.6.7', 'an Expires of the RFC 850 form is understood', freshFor(ok('Expires', '@now+60:850'), 60))
http.must('5.6.7', 'an Expires of the asctime form is understood', freshFor(ok('Expires', '@now+60:asctime'), 60))
http.must('5.6.7', 'a Date of the RFC 850 form is understood', freshFor(cc('max-age=60', 'Date', '@now-20:850'), 40))
http.must(
  '5.6.7',
  'a Date of the asctime form is understood',
  freshFor(cc('max-age=60', 'Date', '@now-20:asctime'), 40),
)
http.must(
  '5.6.7',
  'a year of two digits that would be more than 50 years ahead is in the past',
  storesNot(ok('Expires', 'Sunday, 06-Nov-94 08:49:37 GMT')),
)
http.must(
  '5.6.7',
  'a year of two digits that is not far ahead is in the future',
  stores(ok('Expires', 'Sunday, 06-Nov-50 08:49:37 GMT')),
)
export const dateForms = http

should('4.2', 'dates are matched whatever their case', stores(ok('Expires', 'fri, 01 jan 2049 00:00:00 gmt')))
const zones = ['EST', 'PST', 'UTC', 'Z', '+0000', 'BST', 'CET']
for (const zone of zones)
  should(
    '4.2',
    `an Expires in the zone ${zone} is invalid`,
    storesNot(ok('Expires', `Fri, 01 Jan 2049 00:00:00 ${zone}`)),
  )
const invalid = {
  'the value 0': '0',
  'a number': '9999999999',
  'a negative number': '-1',
  'an empty value': '',
  'a word': 'never',
  'an ISO 8601 date': '2049-01-01T00:00:00Z',
  'no zone': 'Fri, 01 Jan 2049 00:00:00',
  'no time': 'Fri, 01 Jan 2049',
  'a month that is none': 'Fri, 01 Foo 2049 00:00:00 GMT',
  'a day that is none': 'Fri, 32 Jan 2049 00:00:00 GMT',
  'the 30th of February': 'Tue, 30 Feb 2049 00:00:00 GMT',
  'an hour that is none': 'Fri, 01 Jan 2049 25:00:00 GMT',
  'a minute that is none': 'Fri, 01 Jan 2049 00:60:00 GMT',
  'no comma': 'Fri 01 Jan 2049 00:00:00 GMT',
  'a day of one digit': 'Fri, 1 Jan 2049 00:00:00 GMT',
  'dashes and four digits': 'Fri, 01-Jan-2049 00:00:00 GMT',
  'something after it': 'Fri, 01 Jan 2049 00:00:00 GMT; x',
  'two dates': 'Fri, 01 Jan 2049 00:00:00 GMT, Fri, 01 Jan 2049 00:00:00 GMT',
} as const
for (const [what, value] of Object.entries(invalid))
  must('5.3', `an Expires with ${what} is in the past`, storesNot(ok('Expires', value)))

// §4.2.1: more than one value, invalid values, conflicts.
should('4.2.1', 'of two max-age the first counts, or none: the shorter first', [
  get(cc('max-age=10, max-age=3600')),
  again(stale, { at: 20 }),
])
should('4.2.1', 'of two max-age the first counts, or none: the longer first', [
  get(cc('max-age=3600, max-age=10')),
  again({ either: [reused, forwarded] }, { at: 5 }),
  again(stale, { at: 3601 }),
])
should('4.2.1', 'of two max-age in two lines the first counts, or none', [
  get(cc('max-age=10', 'Cache-Control', 'max-age=3600')),
  again(stale, { at: 20 }),
])
should('4.2.1', 'of two s-maxage the first counts, or none', [
  get(cc('s-maxage=10, s-maxage=3600')),
  again(stale, { at: 20 }),
])
should('4.2.1', 'of two Expires the first counts, or none', [
  get(ok('Expires', '@now+10', 'Expires', '@now+3600')),
  again(stale, { at: 20 }),
])
should('4.2.1', 'of two Expires the first is past', storesNot(ok('Expires', '0', 'Expires', '@now+3600')))
should('4.2.1', 'of max-age and no-cache the more restrictive is honoured', [
  get(cc('max-age=60, no-cache', 'ETag', '"a"')),
  again(stale),
])
should('4.2.1', 'a valid max-age after an invalid one does not help', storesNot(cc('max-age=x, max-age=60')))
const noNumbers = [
  'x',
  '',
  '1.5',
  '-1',
  '+60',
  '60s',
  '0x60',
  '6e1',
  "'60'",
  '"',
  '"60',
  '6 0',
  ' 60',
  '%36%30',
  '"x"',
  '""',
  '"6,0"',
  'NaN',
  'Infinity',
  'sixty',
]
for (const value of noNumbers) should('4.2.1', `max-age=${value} is no freshness`, storesNot(cc(`max-age=${value}`)))
should('4.2.1', 'max-age without an argument is no freshness', storesNot(cc('max-age')))
should('4.2.1', 'an invalid max-age does not fall back to Expires', storesNot(cc('max-age=x', 'Expires', '@now+60')))
should('4.2.1', 'an invalid s-maxage does not fall back to max-age', storesNot(cc('s-maxage=x, max-age=60')))
should('4.2.1', 's-maxage without an argument does not fall back to max-age', storesNot(cc('s-maxage, max-age=60')))
may('1.2.2', 'leading zeros are digits as well', freshFor(cc('max-age=0060'), 60))

const years = 365 * 86_400
must('1.2.2', 'a max-age beyond 2^31 counts as 2^31 or more', [
  get(cc('max-age=99999999999')),
  again(reused, { at: 60 * years }),
])
must('1.2.2', 'a max-age beyond 2^63 counts as 2^31 or more', [
  get(cc('max-age=99999999999999999999')),
  again(reused, { at: 60 * years }),
])
must('1.2.2', 'a max-age of 400 digits counts as 2^31 or more', [
  get(cc(`max-age=${'9'.repeat(400)}`)),
  again(reused, { at: 60 * years }),
])
must('1.2.2', 'max-age=2147483648 is fresh for all of it', [
  get(cc('max-age=2147483648')),
  again(reused, { at: 60 * years }),
])
must('1.2.2', 'an Age beyond 2^31 counts as 2^31', storesNot(cc('max-age=3600', 'Age', '99999999999999999999')))
must('1.2.2', 'an Age of 400 digits makes nothing fresh', storesNot(cc('max-age=3600', 'Age', '9'.repeat(400))))

// §4.2: local time zones play no part; §5.2.2.4.
mustNot('4', 'a response with no-cache is reused without validation', [
  get(cc('no-cache, max-age=60', 'ETag', '"a"')),
  again(stale),
])
mustNot('5.2.2.4', 'a response with no-cache and no validator is reused', storesNot(cc('no-cache, max-age=60')))
mustNot('5.2.2.4', 'an unqualified no-cache beside a qualified one is forgotten', [
  get(cc('max-age=60, no-cache="x-a", no-cache')),
  again(stale),
])
may('5.2.2.2', 'a fresh response with must-revalidate is reused', stores(cc('max-age=60, must-revalidate')))
may('5.2.2.8', 'a fresh response with proxy-revalidate is reused', stores(cc('max-age=60, proxy-revalidate')))
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
