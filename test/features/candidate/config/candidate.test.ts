/** The candidate of a group: what it takes from its group's upstream, and what it states. */
import { describe, expect, test } from 'vitest'
import type { UpstreamConfig } from '../../../../src/core/config/config.ts'
import { reportConfig } from '../../../../src/core/config/diff/report.ts'
import type { CandidateConfig } from '../../../../src/features/candidate/config/candidate.ts'
import { groups } from '../../../../src/operations.ts'
import { findProblems, folderWith, parse, sandbox, validConfig, withRisk } from '../../../core/config/helper.ts'

/** Renders a group with a candidate; the group's key stands on line 10. */
const text = (candidate: string, own = '', defaults = ''): string =>
  `defaults: { ${defaults} }\n${withRisk(` { endpoints: [https://a]${own === '' ? '' : `, ${own}`}, candidate: ${candidate} }`)}`

const risk = (candidate: string, own = '', defaults = ''): UpstreamConfig =>
  validConfig(text(candidate, own, defaults)).upstreams.risk

const candidateOf = (candidate: string, own = '', defaults = ''): CandidateConfig['upstream'] => {
  const found = risk(candidate, own, defaults).candidate
  if (found === null) throw new Error('there is no candidate')
  return found.upstream
}

const newEndpoint = { origin: 'https://b', pathPrefix: '', weight: 100, drain: false }

test('a group has none unless it states one', () => {
  const { upstreams } = validConfig(sandbox)

  expect(groups.map((group) => upstreams[group].candidate)).toEqual(groups.map(() => null))
})

test.each(['https://b', '{ endpoints: [https://b] }'])(
  '%s is the upstream of the group at another place',
  (written) => {
    const { endpoints, candidate, ...policies } = risk(
      written,
      `host: client, request: { set: { X-A: a } }, response: { remove: [X-B] }, balance: round-robin,
      timeouts: { headers: 7s }, healthCheck: { path: /up }, circuitBreaker: {}, tls: { serverName: a.example }`,
      'keepAlive: 5s, outlier: { failureRate: 20% }',
    )

    expect(endpoints[0]?.origin).toBe('https://a')
    expect(candidate?.upstream).toEqual({ ...policies, endpoints: [newEndpoint], candidate: null })
  },
)

test('what stands above the two sides is not part of it', () => {
  expect(candidateOf('https://b', 'retry: {}, concurrency: 7')).toMatchObject({ retry: null, concurrency: null })
})

describe('it states what differs', () => {
  test.each<[string, string, object]>([
    ['host: b.example', 'host: client', { host: { name: 'b.example' } }],
    ['host: b.example', 'host: a.example', { host: { name: 'b.example' } }],
    ['host: endpoint', 'host: client', { host: 'endpoint' }],
    [
      'timeouts: { headers: 1s }',
      'timeouts: { headers: 7s, body: 9s }',
      { timeouts: { connect: 2000, headers: 1000, body: 9000 } },
    ],
    ['timeouts: { headers: none }', 'timeouts: { headers: 7s }', { timeouts: { headers: null } }],
    ['maxConnections: 4', 'maxConnections: 400', { maxConnections: 4 }],
    ['healthCheck: none', 'healthCheck: { path: /up }', { healthCheck: null }],
    ['healthCheck: { timeout: 1s }', 'healthCheck: { path: /up }', { healthCheck: { path: '/up', timeout: 1000 } }],
    ['healthCheck: { path: /b }', 'healthCheck: none', { healthCheck: { path: '/b', interval: 5000 } }],
    ['outlier: { failureRate: 10% }', 'outlier: none', { outlier: { failureRate: 0.1, consecutiveFailures: 5 } }],
    ['circuitBreaker: {}', '', { circuitBreaker: { minRequests: 20 } }],
    [
      'tls: { serverName: b.example }',
      'tls: { minVersion: TLSv1.3 }',
      { tls: { serverName: 'b.example', minVersion: 'TLSv1.3' } },
    ],
    ['slowStart: none', 'slowStart: 1m', { slowStart: null }],
    [
      'request: { set: { X-A: b } }',
      'request: { remove: [X-B] }',
      { request: { set: [{ name: 'X-A', value: 'b', secret: false, hidden: true }], remove: ['X-B'] } },
    ],
    ['request: { set: {} }', 'request: { set: { X-A: a } }', { request: { set: [], remove: [] } }],
    ['response: { remove: [] }', 'response: { remove: [X-B] }', { response: { set: [], remove: [] } }],
  ])('%s over %s', (own, ofGroup, expected) => {
    expect(candidateOf(`{ endpoints: [https://b], ${own} }`, ofGroup)).toMatchObject(expected)
  })
})

test('its report is a configuration with the same report, and names no secret', () => {
  const folder = folderWith({ key: 'k-secret' })
  const written = text(
    '{ endpoints: [{ url: https://b/v2, weight: 7 }], request: { set: { X-Key: "file:key" } }, healthCheck: { path: /b } }',
    'healthCheck: none',
  )
  const first = reportConfig(validConfig(written, {}, `${folder}/gateway.yaml`))
  const { config } = first
  const again = reportConfig(
    validConfig(JSON.stringify(config).replaceAll('"***"', '"k-secret"'), {}, `${folder}/gateway.yaml`),
  )

  expect(again.config).toEqual(config)
  expect(JSON.stringify(config)).not.toContain('k-secret')
  expect(Object.keys(first.digests)).toContain('upstreams.risk.candidate.request.set.X-Key')
  expect(config).toMatchObject({
    upstreams: {
      risk: { candidate: { endpoints: [{ url: 'https://b/v2', weight: 7 }], healthCheck: { path: '/b' } } },
    },
  })
  expect(config).not.toHaveProperty('upstreams.risk.candidate.retry')
  expect(config).not.toHaveProperty('upstreams.market.candidate')
})

test('its report says none of TLS for keys that may be none alone', () => {
  const written = text(
    '{ endpoints: [https://b], tls: { verify: true, serverName: none } }',
    'tls: { verify: false, insecure: true, serverName: a.example }',
  )

  const { config } = reportConfig(validConfig(written))

  expect(config).toMatchObject({
    upstreams: { risk: { candidate: { tls: { minVersion: 'TLSv1.2', verify: true, serverName: 'none' } } } },
  })
  expect(config).not.toHaveProperty('upstreams.risk.candidate.tls.insecure')
  expect(reportConfig(validConfig(JSON.stringify(config))).config).toEqual(config)
})

test('the level that wins is known for each key of a candidate, and for no group without one', () => {
  const result = parse(
    text(
      '{ endpoints: [https://b], timeouts: { headers: 1s } }',
      'timeouts: { body: 9s }',
      'timeouts: { connect: 1s }',
    ),
  )
  if (!result.ok) throw new Error('refused')
  const origin = (key: string) => result.provenance.get(`upstreams.risk.candidate.${key}`)?.source

  expect(origin('endpoints')).toBe('candidate')
  expect(origin('timeouts.headers')).toBe('candidate')
  expect(origin('timeouts.body')).toBe('upstream')
  expect(origin('timeouts.connect')).toBe('defaults')
  expect(origin('keepAlive')).toBe('built-in')
  expect(origin('host')).toBe('built-in')
  expect([...result.provenance.keys()].filter((key) => key.startsWith('upstreams.market.candidate'))).toEqual([])
})

describe('what is wrong with it is found at its own place', () => {
  test.each<[string, string, string, string]>([
    ['{}', '', 'upstreams.risk.candidate.endpoints', 'missing'],
    ['ftp://b', '', 'upstreams.risk.candidate', 'unknown scheme'],
    ['{ endpoints: [] }', '', 'upstreams.risk.candidate.endpoints', 'the list is empty'],
    [
      '{ endpoints: [{ url: https://b, weight: 0 }] }',
      '',
      'upstreams.risk.candidate.endpoints',
      'no endpoint has a weight',
    ],
    ['{ endpoints: [https://b], retry: {} }', '', 'upstreams.risk.candidate.retry', 'unknown key'],
    ['{ endpoints: [https://b], concurrency: 7 }', '', 'upstreams.risk.candidate.concurrency', 'unknown key'],
    ['{ endpoints: [https://b], deadline: 7s }', '', 'upstreams.risk.candidate.deadline', 'unknown key'],
    ['{ endpoints: [https://b], candidate: https://c }', '', 'upstreams.risk.candidate.candidate', 'unknown key'],
    [
      '{ endpoints: [https://b], healthCheck: {} }',
      '',
      'upstreams.risk.candidate.healthCheck.path',
      'a health check without a path',
    ],
    [
      '{ endpoints: [https://b], tls: { verify: false } }',
      '',
      'upstreams.risk.candidate.tls.verify',
      'whoever answers would be believed',
    ],
    [
      '{ endpoints: [https://b], tls: { certificate: x } }',
      '',
      'upstreams.risk.candidate.tls.certificate',
      'certificate',
    ],
    [
      '{ endpoints: [https://b], request: { set: { X-Request-Id: x } } }',
      '',
      'upstreams.risk.candidate.request.set.X-Request-Id',
      'request id',
    ],
    ['http://127.0.0.1:8080', '', 'upstreams.risk.candidate', "the gateway's own public listener"],
  ])('%s', (candidate, own, path, message) => {
    expect(findProblems(text(candidate, own))).toContainEqual(
      expect.objectContaining({ path, message: expect.stringContaining(message) }),
    )
  })

  test('a health check that the group turns off has no path from the defaults', () => {
    const problems = findProblems(
      text(
        '{ endpoints: [https://b], healthCheck: { timeout: 1s } }',
        'healthCheck: none',
        'healthCheck: { path: /up }',
      ),
    )

    expect(problems).toMatchObject([{ path: 'upstreams.risk.candidate.healthCheck.path' }])
  })

  test('what its group states already is found once, at the group', () => {
    const problems = findProblems(text('https://b', 'tls: { verify: false }'))

    expect(problems).toMatchObject([{ path: 'upstreams.risk.tls.verify' }])
  })

  test('the sandbox behind an address that other machines reach', () => {
    const all = Object.fromEntries(groups.map((group) => [group, 'http://127.0.0.1:1']))
    const problems = findProblems(
      JSON.stringify({
        listen: { host: '0.0.0.0' },
        upstreams: { ...all, risk: { endpoints: ['http://127.0.0.1:1'], candidate: 'sandbox' } },
      }),
    )

    expect(problems).toMatchObject([{ path: 'listen.host', expected: expect.stringContaining('risk') }])
  })
})
