import { expect, test } from 'vitest'
import * as z from 'zod'
import { annotate, getAnnotations, renderValue } from '../../../src/core/config/schema/annotations.ts'
import { findProblems, sandbox } from './helper.ts'

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

test('a secret with a new description stays a secret', () => {
  const secret = annotate(z.string(), { secret: true, file: 'line' })

  const copy = secret.meta({ description: 'What operators send' }).describe('What Prometheus sends')

  expect(getAnnotations(copy)).toEqual({ secret: true, file: 'line' })
  expect(JSON.stringify(renderValue(copy, 'hunter2'))).toBe('"***"')
})
