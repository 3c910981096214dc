/** The candidate of a group: what it takes from its group's upstream, and what it states. */

import { hash } from 'node:crypto'
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

describe('steps', () => {
  const text = (candidate: string): string => withRisk(` { endpoints: [https://a], candidate: ${candidate} }`)

  const candidateOf = (candidate: string): CandidateConfig | null =>
    validConfig(text(candidate)).upstreams.risk.candidate

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
})

describe('the guard', () => {
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
})

describe('who is on it', () => {
  const client = (id: string) =>
    JSON.stringify({ id, operations: 'all', apiKeys: [{ id, sha256: hash('sha256', id) }] })
  const clients = `clients: [${client('bank-a')}, ${client('bank-b')}]`
  const auth = 'auth: { methods: [apiKey] }'

  const text = (own: string, more = '', top = ''): string =>
    `${top}\n${withRisk(` { endpoints: [https://a]${more}, candidate: { endpoints: [https://b], healthCheck: { path: /up }, ${own} } }`)}`

  const candidateOf = (own: string, top = ''): CandidateConfig => {
    const { candidate } = validConfig(text(own, '', top)).upstreams.risk
    if (candidate === null) throw new Error('there is no candidate')
    return candidate
  }

  const warningsOf = (own: string, top: string) => {
    const result = parse(text(own, '', top))
    if (!result.ok) throw new Error(JSON.stringify(result.problems))
    return result.warnings.filter(({ path }) => path.includes('candidate'))
  }

  test('nothing is on it unless the file says so, the primary helps it, and no field names it', () => {
    expect(candidateOf('')).toMatchObject({ share: 0, clients: [], fallback: true, expose: null })
  })

  test('share, clients, fallback and the field are what the file says', () => {
    const own = 'share: 0.25%, clients: [bank-a], fallback: false, expose: X-Upstream-Side'

    expect(candidateOf(own, `${auth}\n${clients}`)).toMatchObject({
      share: 0.0025,
      clients: ['bank-a'],
      fallback: false,
      expose: 'X-Upstream-Side',
    })
  })

  describe('what is wrong', () => {
    test.each<[string, string, string]>([
      ['share: 5', 'upstreams.risk.candidate.share', 'a unit is missing'],
      ['share: 101%', 'upstreams.risk.candidate.share', 'too large'],
      ['share: none', 'upstreams.risk.candidate.share', 'not a percentage'],
      ['clients: bank-a', 'upstreams.risk.candidate.clients', 'the wrong kind of value'],
      ['clients: ["a b"]', 'upstreams.risk.candidate.clients[0]', 'not a name'],
      ['fallback: 1', 'upstreams.risk.candidate.fallback', 'the wrong kind of value'],
      ['expose: "X Side"', 'upstreams.risk.candidate.expose', 'not a field name'],
      ['expose: Connection', 'upstreams.risk.candidate.expose', 'is set by the gateway'],
      ['expose: Set-Cookie', 'upstreams.risk.candidate.expose', 'has a meaning of its own'],
      ['expose: content-TYPE', 'upstreams.risk.candidate.expose', 'has a meaning of its own'],
    ])('%s', (own, path, message) => {
      expect(findProblems(text(own))).toContainEqual(
        expect.objectContaining({ path, message: expect.stringContaining(message) }),
      )
    })

    test.each([
      ['the request id', 'expose: x-request-id', ''],
      ['a field that the group sets', 'expose: X-Side', ', response: { set: { x-side: a } }'],
      ['a field that the candidate sets', 'expose: X-Side, response: { set: { x-side: a } }', ''],
    ])('a field that is %s already', (_, own, more) => {
      expect(findProblems(text(own, more))).toMatchObject([
        { path: 'upstreams.risk.candidate.expose', message: 'this field says something else already' },
      ])
    })
  })

  test('a field that is called none is no side, and may be set', () => {
    expect(findProblems(text('expose: none', ', response: { set: { none: a } }'))).toEqual([])
  })

  describe('what is probably not meant', () => {
    test('a client that the file does not know: its removal is no error, and the name that was meant is found', () => {
      expect(warningsOf('clients: [bank-a, bank-x]', `${auth}\n${clients}`)).toMatchObject([
        {
          path: 'upstreams.risk.candidate.clients[1]',
          found: 'bank-x',
          hint: expect.stringMatching(/^write bank-[ab]/),
        },
      ])
    })

    test('thousands of such clients do not cost a guess each: only the first are guessed', () => {
      const names = Array.from({ length: 30 }, (_, nth) => `bank-${nth}`)

      const hints = warningsOf(`clients: [${names}]`, `${auth}\n${clients}`).map(({ hint }) => hint)

      expect(hints).toHaveLength(30)
      expect(hints.filter((hint) => hint?.startsWith('write bank-'))).toHaveLength(20)
      expect(hints.at(-1)).toBe('remove it, or add the client')
    })

    test('clients by name where no operation of the group asks who they are', () => {
      const open = 'operations: { risk.asset-valuation: { auth: none } }'

      expect(warningsOf('clients: [bank-a]', `${auth}\n${clients}\n${open}`)).toMatchObject([
        { path: 'upstreams.risk.candidate.clients', message: expect.stringContaining('asks clients who they are') },
      ])
      expect(warningsOf('clients: [bank-a]', `${auth}\n${clients}`)).toEqual([])
    })
  })
})
