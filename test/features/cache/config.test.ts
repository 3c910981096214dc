import { describe, expect, test } from 'vitest'
import { renderEffectiveConfig } from '../../../src/core/config/diff/report.ts'
import { allOperations } from '../../../src/operations.ts'
import { findProblems, parse, sandbox, validConfig } from '../../core/config/helper.ts'

const insights = (cache: string): string => `${sandbox}\noperations: { market.insights: { cache: ${cache} } }`

const warned = (text: string): readonly string[] => {
  const result = parse(text)
  if (!result.ok) throw new Error(JSON.stringify(result.problems))
  return result.warnings.map(({ path, message }) => `${path}: ${message}`)
}

const defaults = {
  maxEntry: 1024 ** 2,
  shared: false,
  heuristic: false,
  ttl: null,
  staleIfError: null,
  staleWhileRevalidate: null,
  staleWhenDisconnected: 60_000,
}

describe('the cache of an operation', () => {
  test.each([
    ['false', null],
    ['true', defaults],
    ['{ }', defaults],
    ['{ maxEntry: 4KiB, shared: true }', { ...defaults, maxEntry: 4096, shared: true }],
    [
      '{ heuristic: true, staleIfError: 10m, staleWhileRevalidate: 5s }',
      { ...defaults, heuristic: true, staleIfError: 600_000, staleWhileRevalidate: 5_000 },
    ],
    ['{ ttl: 60s }', { ...defaults, ttl: { 200: 60_000 } }],
    ['{ ttl: none }', defaults],
    ['{ ttl: { 200: 1m, 404: 5s } }', { ...defaults, ttl: { 200: 60_000, 404: 5_000 } }],
    ['{ staleWhenDisconnected: none }', { ...defaults, staleWhenDisconnected: 0 }],
  ])('%s', (written, cache) => {
    expect(validConfig(insights(written)).operations['market.insights'].cache).toEqual(cache)
  })

  test('is none for all nine unless it is set', () => {
    const { operations } = validConfig(sandbox)

    expect(allOperations.filter(({ id }) => operations[id].cache !== null)).toEqual([])
  })

  test.each([
    ['60s', '', 'neither true nor false'],
    ['[1]', '', 'the wrong kind of value'],
    ['{ ttl: 60 }', '.ttl', 'a unit is missing'],
    ['{ ttl: { 503: 5s } }', '.ttl.503', 'only if the response has a lifetime'],
    ['{ ttl: { 2xx: 5s } }', '.ttl.2xx', 'only if the response has a lifetime'],
    ['{ ttl: { 206: 5s } }', '.ttl.206', 'only if the response has a lifetime'],
    ['{ ttl: { 200: none } }', '.ttl.200', 'not a duration'],
    ['{ maxEntry: 1B }', '.maxEntry', 'too small'],
    ['{ maxEntry: 65MiB }', '.maxEntry', 'the cache has no room for such a response'],
  ])('%s is rejected', (written, path, message) => {
    expect(findProblems(insights(written))).toMatchObject([
      { path: `operations.market.insights.cache${path}`, message: expect.stringContaining(message) },
    ])
  })
})

test('the effective configuration can be loaded again', () => {
  const written = insights(
    '{ maxEntry: 4KiB, ttl: { 200: 1m, 404: 5s }, staleIfError: 10m, staleWhenDisconnected: none }',
  )
  const config = validConfig(`cache: { maxBytes: 1GiB, credentials: [X-Token] }\n${written}`)

  expect(validConfig(JSON.stringify(renderEffectiveConfig(config))).hash).toBe(config.hash)
})

test('the URL of its Redis shows nowhere', () => {
  const text = `cache: { redis: { url: "redis://:hunter2@redis" } }\n${insights('true')}`

  expect(JSON.stringify(renderEffectiveConfig(validConfig(text)))).not.toContain('hunter2')
  expect(JSON.stringify(findProblems(text.replace('redis:/', 'http:/')))).not.toContain('hunter2')
})

describe('a setting without an effect gets a warning', () => {
  test('a Redis where no operation is cached', () => {
    const redis = 'cache: { redis: { url: "redis://redis" } }\n'

    expect(warned(redis + sandbox)).toEqual(['cache.redis: this does nothing: no operation is cached'])
    expect(warned(redis + insights('true'))).toEqual([])
  })

  test('a cache that no request with a credential uses', () => {
    const keyed = (credentials: string): string =>
      `auth: { methods: [apiKey], credentials: ${credentials} }\nclients: [{ id: a, operations: all, apiKeys: [{ id: a, sha256: ${'a'.repeat(64)} }] }]\n`

    expect(warned(keyed('forward') + insights('true'))).toEqual([
      expect.stringMatching(/^operations.market.insights.cache: this does nothing/),
    ])
    expect(warned(keyed('forward') + insights('{ shared: true }'))).toEqual([])
    expect(warned(keyed('strip') + insights('true'))).toEqual([])
  })
})

describe('a lifetime that the gateway writes into every response of a cached operation gets a warning', () => {
  const market = (set: string, cache = 'true'): string =>
    insights(cache).replace('market: sandbox', `market: { endpoints: [sandbox], response: { set: ${set} } }`)

  test.each([
    ['{ Cache-Control: max-age=60 }', 'Cache-Control: errors of the upstream are stored too'],
    ['{ cache-control: "public, max-age=60" }', 'cache-control: errors of the upstream are stored too'],
    ['{ Expires: "Thu, 01 Jan 2099 00:00:00 GMT" }', 'Expires: errors of the upstream are stored too'],
    ['{ Cache-Control: no-store }', 'Cache-Control: nothing is stored'],
  ])('%s', (set, warning) => {
    expect(warned(market(set))).toEqual([expect.stringContaining(`upstreams.market.response.set.${warning}`)])
  })

  test('of a candidate', () => {
    const candidate = '{ endpoints: [sandbox], response: { set: { Expires: "0" } } }'
    const written = insights('true').replace(
      'market: sandbox',
      `market: { endpoints: [sandbox], candidate: ${candidate} }`,
    )

    const warning = 'upstreams.market.candidate.response.set.Expires: errors of the upstream'
    expect(warned(written)).toContainEqual(expect.stringContaining(warning))
  })

  test('not where nothing is cached, nor another field, nor another group', () => {
    expect(warned(market('{ Cache-Control: max-age=60 }', 'false'))).toEqual([])
    expect(warned(market('{ X-Cache-Control: max-age=60 }'))).toEqual([])
    const ofRisk = 'risk: { endpoints: [sandbox], response: { set: { Expires: "0" } } }'
    expect(warned(insights('true').replace('risk: sandbox', ofRisk))).toEqual([])
  })
})

test('the cache on a POST is a problem', () => {
  expect(findProblems(`${sandbox}\noperations: { inventory.sync: { cache: true } }`)).toMatchObject([
    { path: 'operations.inventory.sync.cache', message: 'only GET operations can be cached', hint: 'remove this line' },
  ])
})
