import { readFileSync } from 'node:fs'
import { Ajv } from 'ajv'
import { describe, expect, test } from 'vitest'
import { parse as parseYaml } from 'yaml'
import { jsonSchema, jsonSchemaText } from '../../../src/core/config/schema/schema-keys.ts'
import { findProblems, sandbox, withRisk } from '../../core/config/helper.ts'

const file = (name: string): string => readFileSync(new URL(`../../../config/${name}`, import.meta.url), 'utf8')
const validate = new Ajv({ strict: true, allErrors: true }).compile(jsonSchema())

test('the JSON Schema in config/ is what the code makes: npm run schema', () => {
  expect(file('gateway.schema.json')).toBe(jsonSchemaText())
})

test('the default configuration is valid, for the gateway and for an editor', () => {
  expect(findProblems(file('gateway.yaml'))).toEqual([])
  expect(validate(parseYaml(file('gateway.yaml')))).toBe(true)
})

test('every key has a description', () => {
  const silent: string[] = []
  const walk = (schema: unknown, path: string): void => {
    if (typeof schema !== 'object' || schema === null) return
    for (const [key, part] of Object.entries(schema)) {
      if (key === 'properties') {
        for (const [name, property] of Object.entries(part)) {
          if (!/"(description|\$ref)":/.test(JSON.stringify(property))) silent.push(`${path}.${name}`)
        }
      }
      walk(part, `${path}.${key}`)
    }
  }

  walk(jsonSchema(), '')

  expect(silent).toEqual([])
})

test('keys of groups and of defaults have one definition', () => {
  const { properties, definitions } = JSON.parse(jsonSchemaText())
  const [, group] = definitions.Upstream.anyOf

  expect(Object.keys(properties.defaults.properties)).toContain('outlier')
  expect(group.properties).toMatchObject(properties.defaults.properties)
  for (const each of Object.values(properties.defaults.properties)) expect(each).toHaveProperty('$ref')
})

describe('an editor and the gateway agree', () => {
  test.each([
    sandbox,
    `listen: { port: 0, maxConnections: none, timeouts: { body: false } }\n${sandbox}`,
    `listen: { trustedProxies: ["10.0.0.0/8", "::1"], basePath: /a, via: gw }\n${sandbox}`,
    `defaults: { deadline: none, maxBody: 1KiB, timeouts: { connect: 250ms } }\n${sandbox}`,
    withRisk(' { endpoints: [http://a, { url: https://b/c, weight: 0 }], host: client }'),
    withRisk(' { endpoints: [http://a], request: { set: { X-A: "file:b" }, remove: [X-B] } }').replace('file:b', 'b'),
    `defaults: { healthCheck: none, outlier: false, circuitBreaker: {}, retry: { on: [502, bad-response] }, slowStart: none }\n${sandbox}`,
    `defaults: { outlier: { maxEjected: 0.5%, consecutiveFailures: none }, tls: { minVersion: TLSv1.3 } }\n${sandbox}`,
    `reload: { preflight: none }\ndefaults: { resolve: 1m, maxPending: 0, balance: least-requests }\n${sandbox}`,
    withRisk(
      ' { endpoints: [http://a, { url: http://b, drain: true }], healthCheck: { path: "/a?b=c", expect: 204 } }',
    ),
    withRisk(' { endpoints: [https://a], tls: { serverName: a.example, ca: none, verify: false, insecure: true } }'),
    `operations: { market.insights: { cache: true, deadline: 1s }, inventory.sync: { state: reject } }\n${sandbox}`,
  ])('on a valid text: %s', (text) => {
    expect(findProblems(text)).toEqual([])
    expect(validate(parseYaml(text))).toBe(true)
  })

  test.each([
    'upstreams: sandbox',
    `bogus: 1\n${sandbox}`,
    `listen: { port: "80" }\n${sandbox}`,
    `listen: { port: 65536 }\n${sandbox}`,
    `listen: { timeouts: { headers: 10 } }\n${sandbox}`,
    `listen: { trustedProxies: [a.example] }\n${sandbox}`,
    `log: { level: INFO }\n${sandbox}`,
    `operations: { valuation.score: { cache: true } }\n${sandbox}`,
    `operations: { valuation.scores: {} }\n${sandbox}`,
    `defaults: { outlier: { failureRate: 10.1234% } }\n${sandbox}`,
    `defaults: { retry: { on: [] } }\n${sandbox}`,
    `defaults: { retry: { on: [502, 502] } }\n${sandbox}`,
    `defaults: { retry: { on: [404] } }\n${sandbox}`,
    `defaults: { circuitBreaker: { probes: 0 } }\n${sandbox}`,
    `defaults: { healthCheck: { path: healthz } }\n${sandbox}`,
    `defaults: { healthCheck: { path: "/a#b" } }\n${sandbox}`,
    `defaults: { healthCheck: { path: /, expect: 2xx } }\n${sandbox}`,
    withRisk(' { endpoints: [https://a], tls: { serverName: "a:443" } }'),
    withRisk(' { endpoints: [{ url: http://a, drain: 1 }] }'),
    withRisk(' risk.internal:80'),
    withRisk(' http://a:b@risk'),
    withRisk(' { endpoints: [] }'),
    withRisk(' { endpoints: [http://a], request: { set: { "a b": x } } }'),
  ])('on an invalid text: %s', (text) => {
    expect(findProblems(text)).not.toEqual([])
    expect(validate(parseYaml(text))).toBe(false)
  })

  test('on placeholders', () => {
    const text = `listen: { port: "\${PORT}" }\ndefaults: { deadline: "\${DEADLINE:-3s}" }\n${withRisk(' "$' + '{RISK}"')}`

    expect(findProblems(text, { PORT: '0', RISK: 'http://risk' })).toEqual([])
    expect(validate(parseYaml(text))).toBe(true)
  })
})
