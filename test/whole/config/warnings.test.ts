import { describe, expect, test } from 'vitest'
import { parse, sandbox, withRisk } from '../../core/config/helper.ts'
import { adminTokens } from '../../helpers/admin-tokens.ts'
import { adminJwt } from '../../helpers/operator-jwts.ts'

/** Lists warnings: line, key path, message, and what was found. */
const warned = (text: string) => {
  const result = parse(text)
  if (!result.ok) throw new Error(JSON.stringify(result.problems))
  return result.warnings.map(({ line, path, message, found }) => ({ line, path, message, found }))
}

const own = (...lines: readonly string[]): string =>
  withRisk(['', 'endpoints: [https://risk.internal]', ...lines].join('\n    '))

describe('verify: false', () => {
  test('gets a warning in capitals where it stands', () => {
    expect(warned(own('tls: { verify: false, insecure: true }'))).toEqual([
      {
        line: 11,
        path: 'upstreams.risk.tls.verify',
        message: expect.stringContaining('WHOEVER ANSWERS IS BELIEVED'),
        found: 'false for risk',
      },
    ])
  })

  test('in the defaults gets one warning, with the groups that it holds for', () => {
    const text = `defaults: { tls: { verify: false, insecure: true } }\n${own()}`

    expect(warned(text)).toMatchObject([{ line: 1, path: 'defaults.tls.verify', found: 'false for risk' }])
    expect(warned(text.replace('[https', '[http'))).toMatchObject([{ path: 'defaults.tls.verify', found: 'false' }])
  })

  test('that every group overrides gets none', () => {
    const groups = own('tls: { verify: true }').replaceAll(
      ': sandbox',
      ': { endpoints: [https://a], tls: { verify: true } }',
    )

    expect(warned(`defaults: { tls: { verify: false } }\n${groups}`)).toEqual([])
  })

  test('may have `insecure: true` on another level', () => {
    expect(warned(`defaults: { tls: { insecure: true } }\n${own('tls: { verify: false }')}`)).toMatchObject([
      { path: 'upstreams.risk.tls.verify' },
    ])
  })
})

describe('insecure: true where certificates are verified', () => {
  test('is said to do nothing', () => {
    expect(warned(own('tls: { insecure: true }'))).toMatchObject([{ line: 11, path: 'upstreams.risk.tls.insecure' }])
    expect(warned(`defaults: { tls: { insecure: true } }\n${sandbox}`)).toMatchObject([
      { path: 'defaults.tls.insecure' },
    ])
  })
})

describe('tls of a group without https', () => {
  const text = own('tls: { minVersion: TLSv1.3 }')

  test('is said to do nothing', () => {
    expect(warned(text.replace('[https', '[http'))).toMatchObject([{ line: 11, path: 'upstreams.risk.tls' }])
  })

  test('gets no warning when one endpoint has it, nor in the defaults', () => {
    expect(warned(text.replace(']', ', http://b]'))).toEqual([])
    expect(warned(`defaults: { tls: { minVersion: TLSv1.3 } }\n${sandbox}`)).toEqual([])
  })
})

test('a Redis without anything to count is said to do nothing', () => {
  const text = (address: string): string =>
    `limits: { address: ${address}, redis: { url: "redis://redis" } }\n${sandbox}`

  expect(warned(text('none'))).toMatchObject([{ path: 'limits.redis', message: expect.stringContaining('nothing') }])
  expect(warned(text('{ rate: 1/s }'))).toEqual([])
})

describe('idempotency with onUnknown: forward', () => {
  const operations = '\noperations:\n  risk.asset-valuation:\n    idempotency: { onUnknown: forward }'

  test('gets no warning', () => {
    expect(warned(own() + operations)).toEqual([])
  })

  test.each([
    ['remove', 'request: { remove: [idempotency_key] }'],
    ['set', 'request: { set: { Idempotency-Key: one } }'],
  ])("where request.%s takes the client's key away is said to be in vain", (edit, line) => {
    expect(warned(own(line) + operations)).toMatchObject([
      {
        line: 14,
        path: 'operations.risk.asset-valuation.idempotency',
        found: `idempotency-key in upstreams.risk.request.${edit}`,
      },
    ])
    expect(warned(own(line) + operations.replace('forward', 'refuse'))).toEqual([])
  })

  test('gets no warning where another field is edited, or that of a response', () => {
    const lines = ['request: { remove: [X-Key] }', 'response: { remove: [Idempotency-Key] }']

    expect(warned(own(...lines) + operations)).toEqual([])
  })
})

describe('reload.preflight: health', () => {
  const health = 'reload: { preflight: health }\n'

  test('without a health check is said to be the same as connect', () => {
    expect(warned(health + own())).toMatchObject([{ line: 1, path: 'reload.preflight', found: 'health' }])
    expect(warned(`${health}defaults: { healthCheck: { path: / } }\n${own('healthCheck: none')}`)).toEqual([])
  })

  test('with one anywhere gets no warning, nor does connect without one', () => {
    expect(warned(health + own('healthCheck: { path: /health }'))).toEqual([])
    expect(warned(health.replace('health', 'connect') + own())).toEqual([])
  })
})

const warnedOfAdmin = (admin: object, more = '') => {
  const result = parse(`${sandbox}\nadmin: ${JSON.stringify(admin)}\n${more}`)
  if (!result.ok) throw new Error(JSON.stringify(result.problems))
  return result.warnings.map(({ path, message }) => `${path}: ${message}`)
}

const [scraper, reader] = adminTokens
const token = 'a-token-of-an-operator'

test('tokens for /metrics get a warning where nothing is counted', () => {
  const opensNothing = 'this token opens nothing: nothing is counted'

  expect(warnedOfAdmin({ tokens: adminTokens }, 'metrics: none')).toEqual([`admin.tokens[0].scope: ${opensNothing}`])
  expect(warnedOfAdmin({ token, metricsToken: `${token}2` }, 'metrics: none')).toEqual([
    `admin.metricsToken: ${opensNothing}`,
  ])
  expect(warnedOfAdmin({ tokens: adminTokens })).toEqual([])
})

test('tokens of which none is for orders get one', () => {
  const message = 'admin.tokens: no operator may give an order: no token has the scope operate'

  expect(warnedOfAdmin({ tokens: [scraper, reader] })).toEqual([message])
  expect(warnedOfAdmin({ tokens: [scraper, reader], token })).toEqual([])
  expect(warnedOfAdmin({ tokens: adminTokens })).toEqual([])
  expect(warnedOfAdmin({})).toEqual([])
})

test('an issuer’s tokens are looked at in the same way', () => {
  const jwt = (scopes: object) => ({ jwt: adminJwt({ scopes }) })

  expect(warnedOfAdmin(jwt({ oncall: 'operate', 'a group': 'metrics' }), 'metrics: none')).toEqual([
    'admin.jwt.scopes."a group": this token opens nothing: nothing is counted',
  ])
  expect(warnedOfAdmin(jwt({ auditors: 'read' }))).toEqual([
    'admin.tokens: no operator may give an order: no token has the scope operate',
  ])
  expect(warnedOfAdmin({ ...jwt({ auditors: 'read' }), tokens: adminTokens })).toEqual([])
  expect(warnedOfAdmin({ ...jwt({ oncall: 'operate' }), tokens: [scraper, reader] })).toEqual([])
})
