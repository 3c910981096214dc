import { expect, test } from 'vitest'
import { findProblems, sandbox } from '../helper.ts'

test.each([
  ['listen: { via: 1 }', 'put it in quotes'],
  ['listen: { via: true }', 'put it in quotes'],
  ['instance: { name: 7 }', 'put it in quotes'],
  ['admin: { host: 10 }', undefined],
  ['listen: { hosts: [8080] }', undefined],
  ['listen: { publicUrl: 4318 }', undefined],
])('%s, no text, has a hint where it would be right in quotes: %s', (line, hint) => {
  const problems = findProblems(`version: 1\n${sandbox}\n${line}`)

  expect(problems.map((each) => [each.message, each.hint])).toEqual([['the wrong kind of value', hint]])
})
