import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import type { Provenance } from '../../../../src/core/config/load/provenance.ts'
import { allOperations, groups } from '../../../../src/operations.ts'
import { folderWith, parse, sandbox, validConfig, withRisk } from '../../../core/config/helper.ts'

const defaultAdmin = {
  ...{ host: '127.0.0.1', port: 9901, hosts: [], insecure: false, tls: null },
  ...{ token: null, metricsToken: null, tokens: [], jwt: null },
}

test('every key but upstreams has a default', () => {
  const { hash, upstreams, operations, ...rest } = validConfig(sandbox)

  const mebibyte = 1024 ** 2
  expect(rest).toEqual({
    admin: defaultAdmin,
    ...{ allowSandbox: false, audit: null, auth: null, contract: null, compiledContract: null, tracing: null },
    cache: { maxBytes: 64 * mebibyte, credentials: ['x-api-key'], redis: null },
    ...{ clients: [], clientsSource: { parts: [], digest: '' }, metrics: { clients: false }, workers: 1 },
    instance: { name: null, environment: null, color: 'gray' },
    requestId: { header: 'X-Request-Id', format: 'hex' },
    listen: {
      ...{ host: '127.0.0.1', port: 8080, basePath: '', hosts: [], http2: null, tls: null },
      ...{ publicUrl: null, via: null },
      ...{ trustedProxies: [], forwarded: 'x-forwarded', overrideFields: 'drop', proxyProtocol: null },
      ...{ maxTarget: 8 * 1024, maxHeaders: 32 * 1024, maxHeaderFields: 100, getContent: 'reject', interim: 'drop' },
      ...{ maxConnections: 10_000, maxConnectionsPerAddress: null, maxRequestsPerConnection: null, minRate: null },
      timeouts: { headers: 10_000, body: 30_000, keepAlive: 75_000 },
    },
    limits: { address: null, redis: null, concurrency: 10_000, eventLoopDelay: null },
    log: { level: 'info', access: true, format: 'pino', buffer: 16 * mebibyte },
    reload: { watch: true, poll: 5000, preflight: 'connect' },
    shutdown: { wait: 5000, deadline: 25_000 },
    idempotency: {
      ...{ header: 'idempotency-key', required: false, ttl: 86_400_000, wait: 0 },
      ...{ maxKey: 255, maxBody: 64 * 1024, maxResponse: 64 * 1024 },
      ...{ onUnknown: 'reject', onStoreFailure: 'reject', redis: null, replicas: null, encryptionKeys: [] },
      ...{ maxKeysPerClient: 100_000, maxEntries: 200_000, maxBytes: 64 * mebibyte },
    },
  })
  expect(hash).toMatch(/^[0-9a-f]{12}$/)
  expect(Object.keys(upstreams)).toEqual(groups)
  expect(upstreams.risk).toEqual({
    endpoints: [{ origin: 'sandbox', pathPrefix: '', weight: 100, drain: false }],
    ...{ host: 'endpoint', request: { set: [], remove: [] }, response: { set: [], remove: [] } },
    timeouts: { connect: 2000, headers: 15_000, body: 30_000 },
    ...{ keepAlive: 1500, maxConnections: 256, maxPending: 1024, concurrency: null, resolve: 30_000 },
    tls: {
      ...{ ca: null, certificate: null, key: null, serverName: null },
      ...{ minVersion: 'TLSv1.2', verify: true, insecure: false },
    },
    ...{ balance: 'p2c', slowStart: 10_000, healthCheck: null, circuitBreaker: null, retry: null, candidate: null },
    outlier: { consecutiveFailures: 5, failureRate: 0.5, ejectionTime: 10_000, maxEjected: 0.5 },
  })
  expect(Object.keys(operations)).toEqual(allOperations.map(({ id }) => id))
  expect(operations['risk.asset-valuation']).toEqual({
    ...{ state: 'serve', auth: null, deadline: 30_000, maxBody: 64 * mebibyte, concurrency: null, idempotency: null },
    ...{ cache: null, contract: { request: 'off', response: 'off', unchecked: 'pass' } },
  })
})

test('an empty section is the same as none', () => {
  const empty = validConfig(
    `requestId: {}\nlisten: { timeouts: {} }\nadmin: {}\nlog: {}\ndefaults: { timeouts: {}, tls: {}, outlier: {} }\noperations: { market.insights: {} }\nreload: {}\nshutdown: {}\n${sandbox}`,
  )

  expect(empty).toEqual(validConfig(sandbox))
})

test('the whole skeleton is understood', () => {
  const pathOf: Record<string, string> = { 'https://financing.internal': '/v2', 'http://a_b.internal': '/%41/x' }
  const { listen, admin, requestId, upstreams, operations } = validConfig(`
version: 1
allowSandbox: true
requestId: { header: none }
listen: { host: 0.0.0.0, port: 0, basePath: /lender/v1/, trustedProxies: [10.0.0.0/8, "fd00::/8", 192.0.2.7], via: gw-1 }
admin: { host: "::1", port: 0 }
upstreams:
  valuation: http://valuation.internal:80
  financing: https://financing.internal:443/v2/
  analysis: sandbox
  inventory: HTTP://Inventory.Internal:8080/
  leads: http://[2001:DB8::1]:8080
  compliance: { endpoints: [sandbox], host: client }
  market: { endpoints: [http://a_b.internal/%41/x], host: market.example:8443 }
  risk:
    endpoints:
      - http://risk-a:8080
      - url: http://risk-b:8080
        weight: 10
      - { url: sandbox, weight: 0 }
    response: { set: { X-A: b, X_A: c }, remove: [Server] }
operations:
  market.insights: { deadline: 10s, cache: true }
  inventory.sync: { state: reject, idempotency: { ttl: 1h } }
`)

  expect(listen).toMatchObject({ host: '0.0.0.0', port: 0, basePath: '/lender/v1', via: 'gw-1' })
  expect(listen.trustedProxies).toEqual(['10.0.0.0/8', 'fd00::/8', '192.0.2.7'])
  expect(admin).toEqual({ ...defaultAdmin, host: '::1', port: 0 })
  expect(requestId.header).toBeNull()
  const endpoints = [
    ...['http://valuation.internal', 'https://financing.internal', 'sandbox', 'http://risk-a:8080'],
    ...['http://inventory.internal:8080', 'http://[2001:db8::1]:8080', 'sandbox', 'http://a_b.internal'],
  ].map((origin) => ({ origin, pathPrefix: pathOf[origin] ?? '', weight: 100, drain: false }))
  expect(groups.map((group) => upstreams[group].endpoints[0])).toEqual(endpoints)
  expect(upstreams.risk.endpoints.map(({ weight }) => weight)).toEqual([100, 10, 0])
  expect(upstreams.risk.response).toEqual({
    set: [
      { name: 'X-A', value: 'b', secret: false, hidden: false },
      { name: 'X_A', value: 'c', secret: false, hidden: false },
    ],
    remove: ['Server'],
  })
  expect(upstreams.compliance.host).toBe('client')
  expect(upstreams.market.host).toEqual({ name: 'market.example:8443' })
  expect(operations['market.insights']).toMatchObject({ deadline: 10_000, cache: { maxEntry: 1024 ** 2 } })
  expect(operations['inventory.sync']).toMatchObject({
    state: 'reject',
    idempotency: { header: 'idempotency-key', ttl: 3_600_000, maxKey: 255 },
  })
})

describe('precedence', () => {
  const levels = {
    defaults: 'defaults: { deadline: 3s, maxBody: 3B, keepAlive: 3s, maxConnections: 3, timeouts: { connect: 3s } }',
    upstream:
      '\n    deadline: 2s\n    maxBody: 2B\n    keepAlive: 2s\n    maxConnections: 2\n    timeouts: { connect: 2s }',
    operation: '\noperations: { risk.asset-valuation: { deadline: 1s, maxBody: 1B } }',
  }
  const text = (...used: readonly (keyof typeof levels)[]): string => {
    const level = (name: keyof typeof levels): string => (used.includes(name) ? levels[name] : '')
    return `${level('defaults')}\n${withRisk(`\n    endpoints: [http://risk]${level('upstream')}`)}${level('operation')}`
  }
  const seen = (config: ReturnType<typeof validConfig>): unknown => {
    const { deadline, maxBody } = config.operations['risk.asset-valuation']
    const { keepAlive, maxConnections, timeouts } = config.upstreams.risk
    return { deadline, maxBody, keepAlive, maxConnections, connect: timeouts.connect }
  }

  test.each<[string, readonly (keyof typeof levels)[], number, number]>([
    ['an operation wins over its upstream', ['defaults', 'upstream', 'operation'], 1, 2],
    ['an upstream wins over the defaults', ['defaults', 'upstream'], 2, 2],
    ['the defaults win over the built-in values', ['defaults'], 3, 3],
  ])('%s', (_, used, operation, upstream) => {
    expect(seen(validConfig(text(...used)))).toEqual({
      ...{ deadline: operation * 1000, maxBody: operation },
      ...{ keepAlive: upstream * 1000, maxConnections: upstream, connect: upstream * 1000 },
    })
  })

  test('an upstream changes no other group', () => {
    const { upstreams, operations } = validConfig(text('upstream'))

    expect(upstreams.market.timeouts.connect).toBe(2000)
    expect(upstreams.market.keepAlive).toBe(1500)
    expect(operations['market.insights'].deadline).toBe(30_000)
  })

  test('none wins over a limit, and turns it off', () => {
    const none = 'deadline: none, maxBody: false, timeouts: { connect: none, headers: false, body: none }'
    const { upstreams, operations } = validConfig(
      `${withRisk(` { endpoints: [http://risk], ${none} }`)}\noperations: { valuation.score: { deadline: none, maxBody: none } }`,
    )

    expect(upstreams.risk).toMatchObject({ timeouts: { connect: null, headers: null, body: null } })
    expect(operations['risk.asset-valuation']).toMatchObject({ deadline: null, maxBody: null })
    expect(operations['valuation.score']).toMatchObject({ deadline: null, maxBody: null })
    expect(operations['valuation.forecast']).toMatchObject({ deadline: 30_000 })
  })

  test('a limit wins over none', () => {
    const { operations } = validConfig(
      `defaults: { deadline: none }\n${withRisk(' { endpoints: [http://a], deadline: 4s }')}`,
    )

    expect(operations['risk.asset-valuation'].deadline).toBe(4000)
    expect(operations['market.insights'].deadline).toBeNull()
  })

  test('zero is a value: no body, no reuse', () => {
    const { upstreams, operations } = validConfig(`defaults: { keepAlive: 0s, maxBody: 0B }\n${sandbox}`)

    expect(upstreams.risk.keepAlive).toBe(0)
    expect(operations['valuation.score'].maxBody).toBe(0)
    expect(validConfig(`defaults: { keepAlive: none }\n${sandbox}`).upstreams.risk.keepAlive).toBe(0)
  })

  test('the level that wins and its line are known', () => {
    const result = parse(text('defaults', 'upstream', 'operation'))
    const origin = (path: string): Provenance | undefined => (result.ok ? result.provenance.get(path) : undefined)

    expect(origin('operations.risk.asset-valuation.deadline')).toEqual({ source: 'operation', line: 17, column: 49 })
    expect(origin('upstreams.risk.timeouts.connect')).toEqual({ source: 'upstream', line: 16, column: 26 })
    expect(origin('upstreams.market.timeouts.connect')).toMatchObject({ source: 'defaults', line: 1 })
    expect(origin('operations.market.insights.deadline')).toMatchObject({ source: 'defaults', line: 1 })
    expect(origin('upstreams.risk.timeouts.body')).toEqual({ source: 'built-in', line: 0, column: 0 })
    expect(origin('upstreams.market.endpoints')).toMatchObject({ source: 'upstream', line: 9 })
    expect(origin('listen.timeouts.keepAlive')).toMatchObject({ source: 'built-in' })
  })

  test('every value of the configuration has a provenance', () => {
    const result = parse(sandbox)

    const global =
      'allowSandbox workers requestId.format requestId.header listen.via admin.port log.buffer shutdown.wait'
    expect(result.ok && global.split(' ').every((path) => result.provenance.has(path))).toBe(true)
    // Of each group 14, then tls, healthCheck, outlier, circuitBreaker, retry and candidate, each itself among them; of
    // each operation 10, then the keys of auth, cache and idempotency.
    expect(result.ok && result.provenance.size).toBe(
      183 + (14 + 7 + 7 + 5 + 6 + 7) * groups.length + (10 + 3 + 7 + 9) * allOperations.length,
    )
  })
})

describe('a resolved configuration', () => {
  test('is frozen to its last value', () => {
    const config = validConfig(withRisk(' { endpoints: [http://a], request: { set: { X-A: b }, remove: [X-C] } }'))
    const thawed: unknown[] = []
    const walk = (value: unknown): void => {
      if (typeof value !== 'object' || value === null) return
      if (!Object.isFrozen(value)) thawed.push(value)
      Object.values(value).forEach(walk)
    }

    walk(config)

    expect(thawed).toEqual([])
    expect(() => Object.assign(config.listen, { port: 1 })).toThrow(TypeError)
  })

  test('has the same hash when only the spelling of the file differs', () => {
    const one = validConfig(`version: 1\nadmin: { port: 1 }\ndefaults: { deadline: 1m }\n${sandbox}`)
    const other = validConfig(`# a comment\n${sandbox}\ndefaults: { deadline: 60s }\nadmin:\n  port: 0x1\n`)

    expect(other.hash).toBe(one.hash)
  })

  test('has another hash when any value differs', () => {
    const edits = [
      '',
      'listen: { port: 81 }',
      'defaults: { deadline: 1s }',
      'operations: { valuation.score: { state: reject } }',
    ]

    expect(new Set(edits.map((text) => validConfig(`${text}\n${sandbox}`).hash)).size).toBe(4)
  })

  test('has another hash when the contents of a referenced file differ', () => {
    const text = withRisk(' { endpoints: [http://a], request: { set: { X-A: "file:key" } } }')
    const hashes = ['one', 'two'].map((key) => validConfig(text, {}, join(folderWith({ key }), 'gateway.yaml')).hash)

    expect(hashes[0]).not.toBe(hashes[1])
  })
})
