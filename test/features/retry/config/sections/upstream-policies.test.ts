import { describe, expect, test } from 'vitest'
import type { UpstreamConfig } from '../../../../../src/core/config/config.ts'
import { reportConfig } from '../../../../../src/core/config/diff/report.ts'
import type { Provenance } from '../../../../../src/core/config/load/provenance.ts'
import { groups } from '../../../../../src/operations.ts'
import { parse, sandbox, validConfig, withRisk } from '../../../../core/config/helper.ts'

/** Renders a group and the defaults, in one line each; the group's key stands on the line after them. */
const text = (own: string, defaults = ''): string =>
  `defaults: { ${defaults} }\n${withRisk(` { endpoints: [https://a, https://b]${own === '' ? '' : `, ${own}`} }`)}`

const risk = (own: string, defaults = ''): UpstreamConfig => validConfig(text(own, defaults)).upstreams.risk

const builtIn = {
  healthCheck: { interval: 5000, timeout: 2000, expect: { from: 200, to: 299 }, healthyAfter: 2, unhealthyAfter: 3 },
  outlier: { consecutiveFailures: 5, failureRate: 0.5, ejectionTime: 10_000, maxEjected: 0.5 },
  circuitBreaker: { failureRate: 0.5, minRequests: 20, window: 10_000, openFor: 5000, probes: 3 },
  retry: {
    attempts: 3,
    on: ['connect-failed', 'connect-timeout', 'tls-failed', 'reset-before-headers', 'bad-response', 502, 503, 504],
    backoff: { base: 25, max: 250 },
    budget: { share: 0.1, floor: 3 },
  },
}

const stated: readonly (readonly [written: string, expected: object])[] = [
  ['balance: least-requests', { balance: 'least-requests' }],
  ['slowStart: 1m', { slowStart: 60_000 }],
  ['slowStart: none', { slowStart: null }],
  ['maxPending: 0', { maxPending: 0 }],
  ['maxConnections: 9', { maxConnections: 9 }],
  ['keepAlive: 9s', { keepAlive: 9000 }],
  ['timeouts: { connect: 9s }', { timeouts: { connect: 9000 } }],
  ['resolve: 1h', { resolve: 3_600_000 }],
  ['tls: { serverName: Risk.Example }', { tls: { serverName: 'risk.example', minVersion: 'TLSv1.2' } }],
  ['tls: { minVersion: TLSv1.3 }', { tls: { minVersion: 'TLSv1.3', verify: true } }],
  ['tls: { verify: false, insecure: true }', { tls: { verify: false } }],
  ['outlier: { consecutiveFailures: none }', { outlier: { ...builtIn.outlier, consecutiveFailures: null } }],
  ['outlier: { failureRate: false }', { outlier: { ...builtIn.outlier, failureRate: null } }],
  ['outlier: { failureRate: 12.5% }', { outlier: { ...builtIn.outlier, failureRate: 0.125 } }],
  ['outlier: { ejectionTime: 100ms }', { outlier: { ...builtIn.outlier, ejectionTime: 100 } }],
  ['outlier: { maxEjected: 0% }', { outlier: { ...builtIn.outlier, maxEjected: 0 } }],
  ['outlier: none', { outlier: null }],
  ['healthCheck: { path: "/a?b=c&d" }', { healthCheck: { ...builtIn.healthCheck, path: '/a?b=c&d' } }],
  ['healthCheck: { path: /, expect: 204 }', { healthCheck: { expect: { from: 204, to: 204 } } }],
  ['healthCheck: { path: /, expect: "200-404" }', { healthCheck: { expect: { from: 200, to: 404 } } }],
  ['healthCheck: { path: /, interval: 1s, timeout: 3s }', { healthCheck: { interval: 1000, timeout: 3000 } }],
  ['healthCheck: { path: /, healthyAfter: 1, unhealthyAfter: 100 }', { healthCheck: { unhealthyAfter: 100 } }],
  ['circuitBreaker: {}', { circuitBreaker: builtIn.circuitBreaker }],
  ['circuitBreaker: { openFor: 1s, probes: 1 }', { circuitBreaker: { openFor: 1000, probes: 1, window: 10_000 } }],
  ['retry: {}', { retry: builtIn.retry }],
  ['retry: { on: [503, connect-failed, 429] }', { retry: { on: ['connect-failed', 429, 503] } }],
  ['retry: { backoff: { base: 250ms } }', { retry: { backoff: { base: 250, max: 250 } } }],
  ['retry: { budget: { floor: 0 } }', { retry: { budget: { share: 0.1, floor: 0 } } }],
]

describe('a group', () => {
  test.each(stated)('may state %s and nothing else, or inherit it from the defaults', (written, expected) => {
    expect(risk(written)).toMatchObject(expected)
    expect(risk('', written)).toMatchObject(expected)
  })

  test.each([
    ['outlier: { maxEjected: 10% }', 'outlier: { failureRate: 20% }', { maxEjected: 0.1, failureRate: 0.2 }],
    ['outlier: { maxEjected: 10% }', 'outlier: { maxEjected: 20% }', { maxEjected: 0.1 }],
    ['outlier: { failureRate: none }', 'outlier: { failureRate: 20% }', { failureRate: null }],
    ['outlier: { failureRate: 20% }', 'outlier: { failureRate: none }', { failureRate: 0.2 }],
  ])('merges %s with %s', (own, defaults, expected) => {
    expect(risk(own, defaults).outlier).toMatchObject(expected)
  })

  test('merges what is nested, and takes a list as a whole', () => {
    const { retry } = risk(
      'retry: { on: [500], backoff: { max: 2s } }',
      'retry: { on: [502], attempts: 4, backoff: { base: 50ms } }',
    )

    const backoff = { base: 50, max: 2000 }
    expect(retry).toMatchObject({ attempts: 4, on: [500], backoff, budget: builtIn.retry.budget })
  })

  test('may have the path of its health check from the defaults, and the defaults from the groups', () => {
    const { healthCheck } = risk('healthCheck: { interval: 1s }', 'healthCheck: { path: /up }')
    expect(healthCheck).toMatchObject({ path: '/up', interval: 1000 })
    const checked = (group: string) => (group === 'risk' ? 'none' : { path: `/${group}` })
    const each = groups.map((group) => [group, { endpoints: ['sandbox'], healthCheck: checked(group) }])
    const defaults = { healthCheck: { timeout: '1s' } }
    const { upstreams } = validConfig(JSON.stringify({ defaults, upstreams: Object.fromEntries(each) }))
    expect(upstreams.risk.healthCheck).toBeNull()
    expect(upstreams.market.healthCheck).toMatchObject({ path: '/market', timeout: 1000 })
  })
})

describe.each(['outlier', 'healthCheck', 'circuitBreaker', 'retry'] as const)('%s', (policy) => {
  const on = policy === 'healthCheck' ? '{ path: / }' : '{}'

  test.each(['none', 'false'])('is turned off by %s, at either level, whatever the defaults say', (off) => {
    expect(risk(`${policy}: ${off}`)[policy]).toBeNull()
    expect(risk('', `${policy}: ${off}`)[policy]).toBeNull()
    expect(risk(`${policy}: ${off}`, `${policy}: ${on}`)[policy]).toBeNull()
  })

  test('is turned on again by a group, with the built-in values', () => {
    expect(risk(`${policy}: ${on}`, `${policy}: none`)[policy]).toMatchObject(builtIn[policy])
  })
})

test('an endpoint that drains is marked, and keeps its weight', () => {
  const config = validConfig(withRisk(' { endpoints: [http://a, { url: http://b, weight: 7, drain: true }] }'))

  expect(config.upstreams.risk.endpoints).toEqual([
    { origin: 'http://a', pathPrefix: '', weight: 100, drain: false },
    { origin: 'http://b', pathPrefix: '', weight: 7, drain: true },
  ])
})

test.each(['connect', 'health', 'none'] as const)('an edit may be tried in the way "%s"', (preflight) => {
  expect(validConfig(`reload: { preflight: ${preflight} }\n${sandbox}`).reload.preflight).toBe(preflight)
})

test('the level that wins and its position are known for each key', () => {
  const result = parse(
    text('retry: { backoff: { max: 2s } }, outlier: none', 'retry: { attempts: 4 }, circuitBreaker: {}'),
  )
  const origin = (key: string): Provenance | undefined =>
    result.ok ? result.provenance.get(`upstreams.${key}`) : undefined

  expect(origin('risk.retry')).toEqual({ source: 'upstream', line: 10, column: 53 })
  expect(origin('risk.retry.backoff.max')).toEqual({ source: 'upstream', line: 10, column: 71 })
  expect(origin('risk.retry.attempts')).toEqual({ source: 'defaults', line: 1, column: 32 })
  expect(origin('risk.retry.backoff.base')).toMatchObject({ source: 'built-in' })
  expect(origin('risk.outlier')).toMatchObject({ source: 'upstream', line: 10 })
  expect(origin('market.retry')).toMatchObject({ source: 'defaults', line: 1 })
  expect(origin('market.circuitBreaker')).toMatchObject({ source: 'defaults', line: 1 })
  expect(origin('market.circuitBreaker.probes')).toMatchObject({ source: 'built-in' })
  expect(origin('market.tls.verify')).toMatchObject({ source: 'built-in' })
})

test('the report of an upstream is a configuration with the same report', () => {
  const rowsOfKey = [...Map.groupBy(stated, ([written]) => written.split(':')[0]).values()]
  const longest = Math.max(...rowsOfKey.map((rows) => rows.length))
  const nthOfEach = (nth: number): string[] => rowsOfKey.map((rows) => rows[nth % rows.length]?.[0] ?? '')

  for (let nth = 0; nth < longest; nth++) {
    const own = nthOfEach(nth)
    const ofCandidate = own.filter((written) => !written.startsWith('retry'))
    const endpoints = 'endpoints: [https://c, { url: http://b, weight: 3, drain: true }]'
    const candidate = `candidate: { ${[endpoints, ...ofCandidate].join(', ')} }`
    const config = validConfig(text([...own, candidate].join(', '), nthOfEach(nth + 1).join(', ')))

    expect(validConfig(JSON.stringify(reportConfig(config).config)).hash).toBe(config.hash)
  }
})
