import { expect, test } from 'vitest'
import { reportConfig } from '../../../../src/core/config/diff/report.ts'
import { findProblems, validConfig, withRisk } from '../../../core/config/helper.ts'

const text = (guard: string): string =>
  withRisk(` { endpoints: [https://a], candidate: { endpoints: [https://b], guard: ${guard} } }`)

const guardOf = (guard: string) => validConfig(text(guard)).upstreams.risk.candidate?.guard

test('a candidate has a guard unless it says none', () => {
  const builtIn = { errors: 2, latency: 1.5, minRequests: 50, window: 60_000 }

  expect(
    validConfig(withRisk(' { endpoints: [https://a], candidate: https://b }')).upstreams.risk.candidate?.guard,
  ).toEqual(builtIn)
  expect(guardOf('{}')).toEqual(builtIn)
  expect(guardOf('{ latency: 3x, window: 10s }')).toEqual({ ...builtIn, latency: 3, window: 10_000 })
  expect(guardOf('none')).toBeNull()
})

test.each([
  ['{ errors: 2 }', 'a unit is missing', 'write 2x'],
  ['{ errors: 2 times }', 'not a multiple', 'write 2x'],
  ['{ errors: 0.5x }', 'too small', 'write at least 1x'],
  ['{ latency: 1x }', 'too small', 'write at least 1.1x'],
  ['{ latency: 200x }', 'too large', 'write at most 100x'],
  ['{ errors: none }', 'not a multiple', 'cannot be turned off'],
  ['{ minRequests: 5 }', 'too small', 'write at least 10'],
  ['{ window: 1h }', 'too large', 'write at most 10m'],
  ['off', 'not a policy', 'write none to turn it off'],
])('%s is rejected: %s', (guard, message, hint) => {
  const problems = findProblems(text(guard))

  expect(problems.map((each) => each.message).join()).toContain(message)
  expect(problems.map((each) => each.hint).join()).toContain(hint)
})

test('the report is what the file would say', () => {
  const { config } = reportConfig(validConfig(text('{ latency: 1.25x }')))

  expect(config).toMatchObject({
    upstreams: { risk: { candidate: { guard: { errors: '2x', latency: '1.25x', minRequests: 50, window: '1m' } } } },
  })
})
