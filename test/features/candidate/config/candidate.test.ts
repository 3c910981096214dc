/** The candidate of a group: what it takes from its group's upstream, and what it states. */

import { hash } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { reportConfig } from '../../../../src/core/config/diff/report.ts'
import type { CandidateConfig } from '../../../../src/features/candidate/config/candidate.ts'
import { groups } from '../../../../src/operations.ts'
import { findProblems, folderWith, parse, sandbox, validConfig, withRisk } from '../../../core/config/helper.ts'

/** Renders a file whose `risk` has a candidate, beside its own keys and those of the file. */
const text = (candidate: string, own = '', top = ''): string =>
  `${top}\n${withRisk(` { endpoints: [https://a]${own === '' ? '' : `, ${own}`}, candidate: ${candidate} }`)}`

const b = (keys: string): string => `{ endpoints: [https://b], ${keys} }`

const risk = (...of: Parameters<typeof text>) => validConfig(text(...of)).upstreams.risk

const candidateOf = (...of: Parameters<typeof text>): CandidateConfig => {
  const { candidate } = risk(...of)
  if (candidate === null) throw new Error('there is no candidate')
  return candidate
}

const client = (id: string) => JSON.stringify({ id, operations: 'all', apiKeys: [{ id, sha256: hash('sha256', id) }] })
const banks = `auth: { methods: [apiKey] }\nclients: [${client('bank-a')}, ${client('bank-b')}]`

test('a group has no candidate unless the file states one', () => {
  const { upstreams } = validConfig(sandbox)

  expect(groups.map((group) => upstreams[group].candidate)).toEqual(groups.map(() => null))
})

const builtInGuard = { errors: 2, latency: 1.5, minRequests: 50, window: 60_000 }

test.each(['https://b', '{ endpoints: [https://b] }'])(
  '%s is the upstream of the group at another place, for no client, and guarded',
  (written) => {
    const { endpoints, candidate, ...policies } = risk(
      written,
      `host: client, request: { set: { X-A: a } }, response: { remove: [X-B] }, balance: round-robin,
      timeouts: { headers: 7s }, healthCheck: { path: /up }, circuitBreaker: {}, tls: { serverName: a.example }`,
      'defaults: { keepAlive: 5s, outlier: { failureRate: 20% } }',
    )

    expect(endpoints[0]?.origin).toBe('https://a')
    const there = [{ origin: 'https://b', pathPrefix: '', weight: 100, drain: false }]
    expect(candidate?.upstream).toEqual({ ...policies, endpoints: there, candidate: null })
    const alone = { share: 0, clients: [], steps: null, fallback: true, expose: null, guard: builtInGuard }
    expect(candidate).toMatchObject(alone)
  },
)

test('retry and concurrency of a candidate are null: they hold for both sides', () => {
  const { upstream } = candidateOf('https://b', 'retry: {}, concurrency: 7')

  expect(upstream).toMatchObject({ retry: null, concurrency: null })
})

describe('it states what differs', () => {
  const set = [{ name: 'X-A', value: 'b', secret: false, hidden: true }]

  test.each<[string, string, object]>([
    ['host: b.example', 'host: client', { host: { name: 'b.example' } }],
    ['host: b.example', 'host: a.example', { host: { name: 'b.example' } }],
    ['host: endpoint', 'host: client', { host: 'endpoint' }],
    ['timeouts: { headers: 1s }', 'timeouts: { headers: 7s, body: 9s }', { timeouts: { headers: 1000, body: 9000 } }],
    ['timeouts: { headers: 1s }', '', { timeouts: { connect: 2000 } }],
    ['timeouts: { headers: none }', 'timeouts: { headers: 7s }', { timeouts: { headers: null } }],
    ['maxConnections: 4', 'maxConnections: 400', { maxConnections: 4 }],
    ['healthCheck: none', 'healthCheck: { path: /up }', { healthCheck: null }],
    ['healthCheck: { timeout: 1s }', 'healthCheck: { path: /up }', { healthCheck: { path: '/up', timeout: 1000 } }],
    ['healthCheck: { path: /b }', 'healthCheck: none', { healthCheck: { path: '/b', interval: 5000 } }],
    ['outlier: { failureRate: 10% }', 'outlier: none', { outlier: { failureRate: 0.1, consecutiveFailures: 5 } }],
    ['circuitBreaker: {}', '', { circuitBreaker: { minRequests: 20 } }],
    ['tls: { serverName: b.example }', 'tls: { minVersion: TLSv1.3 }', { tls: { serverName: 'b.example' } }],
    ['tls: { serverName: b.example }', 'tls: { minVersion: TLSv1.3 }', { tls: { minVersion: 'TLSv1.3' } }],
    ['slowStart: none', 'slowStart: 1m', { slowStart: null }],
    ['request: { set: { X-A: b } }', 'request: { remove: [X-B] }', { request: { set, remove: ['X-B'] } }],
    ['request: { set: {} }', 'request: { set: { X-A: a } }', { request: { set: [], remove: [] } }],
    ['response: { remove: [] }', 'response: { remove: [X-B] }', { response: { set: [], remove: [] } }],
  ])('%s over %s', (own, ofGroup, expected) => {
    expect(candidateOf(b(own), ofGroup).upstream).toMatchObject(expected)
  })

  test.each<[string, object]>([
    ['share: 0.25%, clients: [bank-a]', { share: 0.0025, clients: ['bank-a'] }],
    ['fallback: false, expose: X-Upstream-Side', { fallback: false, expose: 'X-Upstream-Side' }],
    ['guard: {}', { guard: builtInGuard }],
    ['guard: { latency: 3x, window: 10s }', { guard: { ...builtInGuard, latency: 3, window: 10_000 } }],
    ['guard: none', { guard: null }],
  ])('and what is its own: %s', (own, expected) => {
    expect(candidateOf(b(own), '', banks)).toMatchObject(expected)
  })

  test.each<[string, number | null]>([
    ['every: 168h', null],
    ['every: 168h, startedAt: 2026-11-23T22:00:00+02:00', Date.UTC(2026, 10, 23, 20)],
    ['every: 168h, startedAt: 2028-02-29T00:30:00+02:00', Date.UTC(2028, 1, 28, 22, 30)],
  ])('and steps: %s', (written, startedAt) => {
    const { steps } = candidateOf(b(`steps: { shares: [1%, 5%, 100%], ${written} }`))

    expect(steps).toEqual({ shares: [0.01, 0.05, 1], every: 168 * 3_600_000, startedAt })
  })
})

describe('its report', () => {
  test('the report of a candidate is a configuration with the same report, and holds no secret', () => {
    const file = `${folderWith({ key: 'k-secret' })}/gateway.yaml`
    const endpoint = '{ url: https://b/v2, weight: 7 }'
    const own = 'request: { set: { X-Key: "file:key" } }, healthCheck: { path: /b }, guard: { latency: 1.25x }'
    const written = text(`{ endpoints: [${endpoint}], ${own} }`, 'healthCheck: none')
    const { config, digests } = reportConfig(validConfig(written, {}, file))
    const again = JSON.stringify(config).replaceAll('"***"', '"k-secret"')

    expect(reportConfig(validConfig(again, {}, file)).config).toEqual(config)
    expect(JSON.stringify(config)).not.toContain('k-secret')
    expect(Object.keys(digests)).toContain('upstreams.risk.candidate.request.set.X-Key')
    const guard = { errors: '2x', latency: '1.25x', minRequests: 50, window: '1m' }
    const endpoints = [{ url: 'https://b/v2', weight: 7 }]
    const candidate = { endpoints, healthCheck: { path: '/b' }, guard }
    expect(config).toMatchObject({ upstreams: { risk: { candidate } } })
    expect(config).not.toHaveProperty('upstreams.risk.candidate.retry')
    expect(config).not.toHaveProperty('upstreams.market.candidate')
  })

  test('the report says none only for TLS keys that accept none', () => {
    const ofGroup = 'tls: { verify: false, insecure: true, serverName: a.example }'
    const { config } = reportConfig(validConfig(text(b('tls: { verify: true, serverName: none }'), ofGroup)))

    const tls = { minVersion: 'TLSv1.2', verify: true, serverName: 'none' }
    expect(config).toMatchObject({ upstreams: { risk: { candidate: { tls } } } })
    expect(config).not.toHaveProperty('upstreams.risk.candidate.tls.insecure')
    expect(reportConfig(validConfig(JSON.stringify(config))).config).toEqual(config)
  })
})

test('the provenance of each key of a candidate is known', () => {
  const defaults = 'defaults: { timeouts: { connect: 1s } }'
  const result = parse(text(b('timeouts: { headers: 1s }'), 'timeouts: { body: 9s }', defaults))
  if (!result.ok) throw new Error('rejected')
  const keys = ['endpoints', 'timeouts.headers', 'timeouts.body', 'timeouts.connect', 'keepAlive', 'host']
  const sources = keys.map((key) => result.provenance.get(`upstreams.risk.candidate.${key}`)?.source)

  expect(sources).toEqual(['candidate', 'candidate', 'upstream', 'defaults', 'built-in', 'built-in'])
  expect([...result.provenance.keys()].filter((key) => key.startsWith('upstreams.market.candidate'))).toEqual([])
})

describe('what is wrong with it is found at its own place', () => {
  const at = 'upstreams.risk.candidate'
  const told = (keys: string, what: 'message' | 'hint') => `${findProblems(text(b(keys))).map((each) => each[what])}`

  test.each<[string, string, string]>([
    ['{}', '.endpoints', 'missing'],
    ['ftp://b', '', 'unknown scheme'],
    ['{ endpoints: [] }', '.endpoints', 'the list is empty'],
    ['{ endpoints: [{ url: https://b, weight: 0 }] }', '.endpoints', 'no endpoint has a weight'],
    ['http://127.0.0.1:8080', '', "the gateway's own public listener"],
    ...(
      [
        ['retry: {}', 'retry', 'unknown key'],
        ['concurrency: 7', 'concurrency', 'unknown key'],
        ['deadline: 7s', 'deadline', 'unknown key'],
        ['candidate: https://c', 'candidate', 'unknown key'],
        ['healthCheck: {}', 'healthCheck.path', 'a health check without a path'],
        ['tls: { verify: false }', 'tls.verify', 'trust any server that responds'],
        ['tls: { certificate: x }', 'tls.certificate', 'certificate'],
        ['request: { set: { X-Request-Id: x } }', 'request.set.X-Request-Id', 'request id'],
        ['share: 5', 'share', 'a unit is missing'],
        ['share: 101%', 'share', 'too large'],
        ['share: none', 'share', 'not a percentage'],
        ['clients: bank-a', 'clients', 'the wrong kind of value'],
        ['clients: ["a b"]', 'clients[0]', 'not a name'],
        ['fallback: 1', 'fallback', 'the wrong kind of value'],
        ['expose: "X Side"', 'expose', 'not a field name'],
        ['expose: Connection', 'expose', 'is set by the gateway'],
        ['expose: Set-Cookie', 'expose', 'has a meaning of its own'],
        ['expose: content-TYPE', 'expose', 'has a meaning of its own'],
        ['expose: x-request-id', 'expose', 'this field is used already'],
        ['expose: X-Side, response: { set: { x-side: a } }', 'expose', 'this field is used already'],
      ] as const
    ).map(([own, key, message]): [string, string, string] => [b(own), `.${key}`, message]),
  ])('%s', (candidate, path, message) => {
    expect(findProblems(text(candidate))).toContainEqual(
      expect.objectContaining({ path: `${at}${path}`, message: expect.stringContaining(message) }),
    )
  })

  const startedAt = (...times: readonly string[]) => times.map((time) => `shares: [1%], every: 15m, startedAt: ${time}`)

  test.each([
    ['empty', ['shares: [], every: 15m']],
    ['not rising', ['shares: [5%, 5%], every: 15m', 'shares: [5%, 1%], every: 15m']],
    ['too small', ['shares: [0%], every: 15m', 'shares: [1%], every: 10ms']],
    ['too large', ['shares: [101%], every: 15m']],
    ['missing', ['shares: [1%]']],
    ['not a time', startedAt('tomorrow', '2026-11-23T22:00:00', '2026-13-23T22:00:00Z')],
    ['no such day', startedAt('2026-02-30T22:00:00Z', '2026-02-29T22:00:00Z')],
    ['wrong kind', startedAt('2026')],
  ])('steps: %s: %j', (message, all) => {
    for (const steps of all) expect(told(`steps: { ${steps} }`, 'message')).toContain(message)
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
  ])('guard %s: %s', (guard, message, hint) => {
    expect(told(`guard: ${guard}`, 'message')).toContain(message)
    expect(told(`guard: ${guard}`, 'hint')).toContain(hint)
  })

  test('a health check that the group turns off has no path from the defaults', () => {
    const defaults = 'defaults: { healthCheck: { path: /up } }'
    const problems = findProblems(text(b('healthCheck: { timeout: 1s }'), 'healthCheck: none', defaults))

    expect(problems).toMatchObject([{ path: `${at}.healthCheck.path` }])
  })

  test('a problem of the group is reported once, at the group', () => {
    const found = findProblems(text('https://b', 'tls: { verify: false }'))

    expect(found).toMatchObject([{ path: 'upstreams.risk.tls.verify' }])
  })

  test('a field that its group sets names no side, but none is no field', () => {
    const [set, none] = ['X-Side', 'none'].map((name) =>
      findProblems(text(b(`healthCheck: { path: /up }, expose: ${name}`), `response: { set: { ${name}: a } }`)),
    )

    expect(set).toMatchObject([{ path: `${at}.expose`, message: 'this field is used already' }])
    expect(none).toEqual([])
  })

  test('a sandbox candidate on a listener that other machines reach gets a warning', () => {
    const all = Object.fromEntries(groups.map((group) => [group, 'http://127.0.0.1:1']))
    const upstreams = { ...all, risk: { endpoints: ['http://127.0.0.1:1'], candidate: 'sandbox' } }
    const problems = findProblems(JSON.stringify({ listen: { host: '0.0.0.0' }, upstreams }))

    expect(problems).toMatchObject([{ path: 'listen.host', expected: expect.stringContaining('risk') }])
  })
})

describe('the digest of a candidate', () => {
  const digest = (...of: Parameters<typeof text>): string => candidateOf(...of).digest

  test('the digest of a candidate changes with each key of the candidate', () => {
    const stated = ['share: 1%', 'timeouts: { headers: 5s }', 'steps: { shares: [1%], every: 15m }'].map(b)

    expect(new Set(['https://b', 'https://c', ...stated].map((each) => digest(each))).size).toBe(5)
  })

  test("the digest of a candidate depends neither on the group's policies nor on the spelling", () => {
    expect(digest('https://b', 'balance: round-robin')).toBe(digest('https://b', 'timeouts: { headers: 5s }'))
    expect(digest('{ endpoints: [https://b] }')).toBe(digest('https://b'))
  })

  test.each([
    'timeouts: { headers: 5s }',
    'tls: { minVersion: TLSv1.2 }',
    'healthCheck: none',
    'request: { set: {} }',
    'outlier: { consecutiveFailures: 5 }',
  ])('is the same when it states what it inherits: %s', (stated) => {
    const [inheriting, stating] = ['https://b', b(stated)].map((each) =>
      validConfig(text(each, 'timeouts: { headers: 5s }')),
    )

    expect(stating?.hash).toBe(inheriting?.hash)
    expect(stating?.upstreams.risk.candidate?.digest).toBe(inheriting?.upstreams.risk.candidate?.digest)
  })

  test('the digest changes when the candidate turns a policy of its group off, and not when the group turns retries on', () => {
    expect(digest('https://b', 'retry: { attempts: 2 }')).toBe(digest('https://b', 'retry: none'))
    expect(digest(b('circuitBreaker: none'), 'circuitBreaker: {}')).not.toBe(digest('https://b', 'circuitBreaker: {}'))
  })
})

describe('what is probably not meant is a warning', () => {
  const warningsOf = (own: string, top = banks) => {
    const result = parse(text(b(`healthCheck: { path: /up }, ${own}`), '', top))
    if (!result.ok) throw new Error(JSON.stringify(result.problems))
    return result.warnings.filter(({ path }) => path.includes('candidate'))
  }

  test('an unknown client is a warning that suggests the nearest name', () => {
    const told = { found: 'bank-x', hint: expect.stringMatching(/^write bank-[ab]/) }
    expect(warningsOf('clients: [bank-a, bank-x]')).toMatchObject([
      { path: 'upstreams.risk.candidate.clients[1]', ...told },
    ])
  })

  test('only the first 20 unknown clients get a suggestion', () => {
    const names = Array.from({ length: 30 }, (_, nth) => `bank-${nth}`)
    const hints = warningsOf(`clients: [${names}]`).map(({ hint }) => hint)

    expect(hints).toHaveLength(30)
    expect(hints.filter((hint) => hint?.startsWith('write bank-'))).toHaveLength(20)
    expect(hints.at(-1)).toBe('remove it, or add the client')
  })

  test('named clients in a group whose operations have no auth are a warning', () => {
    const open = `${banks}\noperations: { risk.asset-valuation: { auth: none } }`

    expect(warningsOf('clients: [bank-a]', open)).toMatchObject([
      {
        path: 'upstreams.risk.candidate.clients',
        message: expect.stringContaining('no operation of the group has auth'),
      },
    ])
    expect(warningsOf('clients: [bank-a]')).toEqual([])
  })
})
