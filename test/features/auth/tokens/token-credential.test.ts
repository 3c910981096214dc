import { expect, test } from 'vitest'
import { parseTokenCredential, rejectTokenInQuery } from '../../../../src/features/auth/tokens/token-credential.ts'

const malformed = expect.objectContaining({ status: 400 })

test.each([
  ['Bearer abc', { scheme: 'bearer', token: 'abc' }],
  ['bEARER  a-b.c_d~e+f/g==', { scheme: 'bearer', token: 'a-b.c_d~e+f/g==' }],
  ['DPoP abc', { scheme: 'dpop', token: 'abc' }],
  ['Basic abc', null],
  ['Bearerabc', null],
  ['', null],
])('what %s shows', (value, shown) => {
  expect(parseTokenCredential(['Accept', '*/*', 'AUTHORIZATION', value])).toEqual(shown)
})

test('without the field there is no credential', () => {
  expect(parseTokenCredential(['Accept', '*/*'])).toBeNull()
})

test.each([
  ...['Bearer', 'Bearer ', 'Bearer a b', 'Bearer a, Bearer b', 'Bearer =', 'Bearer a=b', 'Bearer "a"', 'Bearer \xe9'],
  ...['Bearer \ta', 'Bearer a\t', 'Bearer \xa0a', 'Bearer a\xa0', 'Bearer a ', 'DPoP a,b'],
  ...['Bearer\ta', 'Bearer, a', '"Bearer" a', '\xa0Bearer a', 'Basic\ta'], // without a scheme
])('a malformed token is rejected: %j', (value) => {
  expect(() => parseTokenCredential(['Authorization', value])).toThrow(malformed)
})

test.each([
  ['Bearer a', 'Bearer a'],
  ['Basic a', 'Bearer b'],
  ['', 'Bearer b'],
])('two fields are rejected, whatever they say: %j and %j', (one, other) => {
  expect(() => parseTokenCredential(['Authorization', one, 'authorization', other])).toThrow(malformed)
})

test.each([
  ...['?access_token=a', '?a=b&access_token=c', '?access_token', '?a;access_token=b', '?acc%65ss_token=a'],
  ...['?%61ccess_token=a', '?access_token+=a', '?+access_token=a'],
])('a token in the query is rejected: %s', (query) => {
  expect(() => rejectTokenInQuery(query)).toThrow(malformed)
})

test.each([
  ...['', '?', '?a=access_token', '?my_access_token=a', '?access_tokens=a', '?%zz=access_token'],
  ...['?ACCESS_TOKEN_TYPE=a', '?a=%61ccess_token'],
])('what is no token in the query is none: %s', (query) => {
  expect(() => rejectTokenInQuery(query)).not.toThrow()
})
