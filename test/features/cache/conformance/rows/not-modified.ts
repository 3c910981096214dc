import { again, and, asking, cc, get, notModified, ok, requirements } from '../script.ts'

/** RFC 9110 §15.4.5: what a 304 of the cache's own says. */
export const notModifiedFields = requirements(9110)
const { must, mustNot, should, shouldNot, may } = notModifiedFields

const tagged = cc('max-age=60', 'ETag', '"a"')
const knows = (value: string) => asking('If-None-Match', value)
const since = (value: string) => asking('If-Modified-Since', value)

const rich = cc(
  'max-age=60',
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
  'Content-Language',
  'en',
  'Last-Modified',
  '@t0-100',
)
const kept = {
  'cache-control': 'max-age=60',
  etag: '"a"',
  'content-location': '/here',
  expires: '@t0+60',
  vary: 'Accept',
  date: '@t0',
}
for (const [name, value] of Object.entries(kept))
  must('15.4.5', `a 304 has the ${name} that the 200 would have`, [
    get(rich),
    again(and(notModified, { fields: { [name]: value } }), knows('"a"')),
  ])
shouldNot('15.4.5', 'a 304 has a Content-Type', [
  get(rich),
  again(and(notModified, { fields: { 'content-type': null } }), knows('"a"')),
])
shouldNot('15.4.5', 'a 304 has a Content-Language', [
  get(rich),
  again(and(notModified, { fields: { 'content-language': null } }), knows('"a"')),
])
must('15.4.5', 'a 304 has no content', [
  get(rich),
  again(and(notModified, { fields: { 'transfer-encoding': null } }), knows('"a"')),
])
mustNot('8.6', 'a 304 has a Content-Length that is not the 200’s', [
  get({ ...tagged, body: 'hello' }),
  again(
    { either: [null, 5].map((length) => and(notModified, { fields: { 'content-length': length } })) },
    knows('"a"'),
  ),
])
may('15.4.5', 'fields of the cache’s own making come with a 304', [
  get(tagged),
  again(and(notModified, { fields: { age: 3 } }), { at: 3, ...knows('"a"') }),
])
should('15.4.5', 'a 304 of a response without a tag has its Last-Modified', [
  get(ok('Expires', '@now+60', 'Last-Modified', '@t0-100')),
  again(and(notModified, { fields: { 'last-modified': '@t0-100' } }), since('@t0-100')),
])
