import { describe, expect, test } from 'vitest'
import type { CandidateConfig } from '../../../../src/features/candidate/config/candidate.ts'
import { findProblems, validConfig, withRisk } from '../../../core/config/helper.ts'

const text = (candidate: string): string => withRisk(` { endpoints: [https://a], candidate: ${candidate} }`)

const candidateOf = (candidate: string): CandidateConfig | null => validConfig(text(candidate)).upstreams.risk.candidate

const stepsOf = (steps: string) => candidateOf(`{ endpoints: [https://b], steps: ${steps} }`)?.steps

test('a candidate has no share and no steps unless it states them', () => {
  expect(candidateOf('https://b')).toMatchObject({ share: 0, steps: null })
})

test('steps are shares, a time, and perhaps when they began', () => {
  expect(stepsOf('{ shares: [1%, 5%, 100%], every: 15m }')).toEqual({
    shares: [0.01, 0.05, 1],
    every: 900_000,
    startedAt: null,
  })
  expect(stepsOf('{ shares: [1%], every: 168h, startedAt: 2026-11-23T22:00:00+02:00 }')).toMatchObject({
    startedAt: Date.UTC(2026, 10, 23, 20),
  })
  expect(stepsOf('{ shares: [1%], every: 168h, startedAt: 2028-02-29T00:30:00+02:00 }')).toMatchObject({
    startedAt: Date.UTC(2028, 1, 28, 22, 30),
  })
})

describe('these are rejected', () => {
  test.each([
    ['{ shares: [], every: 15m }', 'empty'],
    ['{ shares: [5%, 5%], every: 15m }', 'not rising'],
    ['{ shares: [5%, 1%], every: 15m }', 'not rising'],
    ['{ shares: [0%], every: 15m }', 'too small'],
    ['{ shares: [101%], every: 15m }', 'too large'],
    ['{ shares: [1%], every: 10ms }', 'too small'],
    ['{ shares: [1%] }', 'missing'],
    ['{ shares: [1%], every: 15m, startedAt: tomorrow }', 'not a time'],
    ['{ shares: [1%], every: 15m, startedAt: 2026-11-23T22:00:00 }', 'not a time'],
    ['{ shares: [1%], every: 15m, startedAt: 2026-13-23T22:00:00Z }', 'not a time'],
    ['{ shares: [1%], every: 15m, startedAt: 2026-02-30T22:00:00Z }', 'no such day'],
    ['{ shares: [1%], every: 15m, startedAt: 2026-02-29T22:00:00Z }', 'no such day'],
    ['{ shares: [1%], every: 15m, startedAt: 2026 }', 'wrong kind'],
  ])('%s: %s', (steps, message) => {
    const problems = findProblems(text(`{ endpoints: [https://b], steps: ${steps} }`))

    expect(problems.map((each) => each.message).join()).toContain(message)
  })
})

describe('the digest of a candidate', () => {
  const digest = (candidate: string): string | undefined => candidateOf(candidate)?.digest

  test('differs with what it states', () => {
    const digests = [
      'https://b',
      'https://c',
      '{ endpoints: [https://b], share: 1% }',
      '{ endpoints: [https://b], timeouts: { headers: 5s } }',
      '{ endpoints: [https://b], steps: { shares: [1%], every: 15m } }',
    ].map(digest)

    expect(new Set(digests).size).toBe(5)
  })

  test('is the same when its group has other policies, and however it is written', () => {
    const withGroup = (own: string) =>
      validConfig(withRisk(` { endpoints: [https://a], ${own}, candidate: https://b }`)).upstreams.risk.candidate
        ?.digest

    expect(withGroup('balance: round-robin')).toBe(withGroup('timeouts: { headers: 5s }'))
    expect(digest('{ endpoints: [https://b] }')).toBe(digest('https://b'))
  })

  test.each([
    'timeouts: { headers: 5s }',
    'tls: { minVersion: TLSv1.2 }',
    'healthCheck: none',
    'request: { set: {} }',
    'outlier: { consecutiveFailures: 5 }',
  ])('is the same when it states what it inherits: %s', (stated) => {
    const group = 'endpoints: [https://a], timeouts: { headers: 5s }'
    const [inheriting, stating] = ['', `, ${stated}`].map((own) =>
      validConfig(withRisk(` { ${group}, candidate: { endpoints: [https://b]${own} } }`)),
    )

    expect(stating?.hash).toBe(inheriting?.hash)
    expect(stating?.upstreams.risk.candidate?.digest).toBe(inheriting?.upstreams.risk.candidate?.digest)
  })

  test('differs where the candidate turns off what its group has on, and not when the group turns retries on', () => {
    const withGroup = (group: string, own = '') =>
      validConfig(withRisk(` { endpoints: [https://a], ${group}, candidate: { endpoints: [https://b]${own} } }`))
        .upstreams.risk.candidate?.digest

    expect(withGroup('retry: { attempts: 2 }')).toBe(withGroup('retry: none'))
    expect(withGroup('circuitBreaker: {}', ', circuitBreaker: none')).not.toBe(withGroup('circuitBreaker: {}'))
  })
})
