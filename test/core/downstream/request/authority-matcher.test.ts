import { expect, test } from 'vitest'
import { compileAuthorityMatcher } from '../../../../src/core/downstream/request/validate-request.ts'

const matches = compileAuthorityMatcher({
  hosts: ['gateway.example', 'other.example:8443', 'plain.example:80', '[::1]', 'dotted.example.'],
})

test.each([
  ['gateway.example', true],
  ['GATEWAY.example', true],
  ['gateway.example.', true],
  ['gateway.example:1', true],
  ['gateway.example:', true],
  ['gateway.example.:8080', true],
  ['dotted.example', true],
  ['other.example:8443', true],
  ['other.example:08443', true],
  ['other.example:844', false],
  ['other.example', false],
  ['plain.example', true],
  ['[::1]:8080', true],
  ['evil.gateway.example', false],
  ['gateway.example.evil', false],
  ['gateway.example..', false],
  ['gateway%2eexample', false],
  ['', false],
])('that clients may ask for %j is %s', (authority, expected) => {
  expect(matches(authority, false)).toBe(expected)
})

test('a port that is left out is the one of the scheme', () => {
  const secure = compileAuthorityMatcher({ hosts: ['a:443'] })

  expect([secure('a', true), secure('a', false), matches('plain.example', true)]).toEqual([true, false, false])
})

test('without names every authority matches, an empty one too', () => {
  expect(compileAuthorityMatcher({ hosts: [] })('', false)).toBe(true)
})
