import { expect, test } from 'vitest'
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

const insecure = 'defaults: { tls: { insecure: true } }'
const unverified = 'defaults: { tls: { verify: false, insecure: true } }'
const otherTls = own('tls: { minVersion: TLSv1.3 }')
const redis = (address: string): string =>
  `limits: { address: ${address}, redis: { url: "redis://redis" } }\n${sandbox}`
const health = 'reload: { preflight: health }'
const operations = '\noperations:\n  risk.asset-valuation:\n    idempotency: { onUnknown: forward }'
const forwarding = (...lines: readonly string[]): string => own(...lines) + operations
const ofKey = (how: 'remove' | 'set') => {
  const path = 'operations.risk.asset-valuation.idempotency'
  return { line: 14, path, found: `idempotency-key in upstreams.risk.request.${how}` }
}
const nothing = expect.stringContaining('nothing')
const inClear = (text: string): string => text.replace('[https', '[http')
const checked = 'defaults: { healthCheck: { path: / } }'
const verified = ': { endpoints: [https://a], tls: { verify: true } }'
const allVerified = own('tls: { verify: true }').replaceAll(': sandbox', verified)

test('verify: false gets a warning in capitals where it stands', () => {
  const path = 'upstreams.risk.tls.verify'
  expect(warned(own('tls: { verify: false, insecure: true }'))).toEqual([
    { line: 11, path, message: expect.stringContaining('ANY SERVER IS TRUSTED'), found: 'false for risk' },
  ])
})

test.each<[string, string, object]>([
  ['verify: false in the defaults names its groups', `${unverified}\n${own()}`, { line: 1, found: 'false for risk' }],
  ['and none without https', inClear(`${unverified}\n${own()}`), { path: 'defaults.tls.verify', found: 'false' }],
  ['insecure: true elsewhere', `${insecure}\n${own('tls: { verify: false }')}`, { path: 'upstreams.risk.tls.verify' }],
  ['insecure: true alone', own('tls: { insecure: true }'), { line: 11, path: 'upstreams.risk.tls.insecure' }],
  ['insecure: true alone in the defaults', `${insecure}\n${sandbox}`, { path: 'defaults.tls.insecure' }],
  ['tls of a group without https', inClear(otherTls), { line: 11, path: 'upstreams.risk.tls' }],
  ['a Redis without anything to count', redis('none'), { path: 'limits.redis', message: nothing }],
  [
    'onUnknown: forward where the key is removed',
    forwarding('request: { remove: [idempotency_key] }'),
    ofKey('remove'),
  ],
  [
    'onUnknown: forward where the key is replaced',
    forwarding('request: { set: { Idempotency-Key: a } }'),
    ofKey('set'),
  ],
  [
    'preflight: health without a health check',
    `${health}\n${own()}`,
    { line: 1, path: 'reload.preflight', found: 'health' },
  ],
])('a warning: %s', (_, text, warning) => {
  expect(warned(text)).toMatchObject([warning])
})

test.each([
  ['verify: false that every group overrides', `defaults: { tls: { verify: false } }\n${allVerified}`],
  ['tls where one endpoint of several has https', otherTls.replace(']', ', http://b]')],
  ['tls in the defaults', `defaults: { tls: { minVersion: TLSv1.3 } }\n${sandbox}`],
  ['a Redis that counts', redis('{ rate: 1/s }')],
  ['onUnknown: forward', forwarding()],
  ['onUnknown: reject', forwarding('request: { remove: [idempotency_key] }').replace('forward', 'reject')],
  ['onUnknown: forward where another field is edited', forwarding('request: { remove: [X-Key] }')],
  ['onUnknown: forward where that of a response is', forwarding('response: { remove: [Idempotency-Key] }')],
  ['preflight: health with a health check', `${health}\n${own('healthCheck: { path: /health }')}`],
  ['preflight: health with one that a group turns off', `${health}\n${checked}\n${own('healthCheck: none')}`],
  ['preflight: connect', `${health.replace('health', 'connect')}\n${own()}`],
])('no warning: %s', (_, text) => {
  expect(warned(text)).toEqual([])
})

const warnedOfAdmin = (admin: object, more = '') => {
  const result = parse(`${sandbox}\nadmin: ${JSON.stringify(admin)}\n${more}`)
  if (!result.ok) throw new Error(JSON.stringify(result.problems))
  return result.warnings.map(({ path, message }) => `${path}: ${message}`)
}

const [scraper, reader] = adminTokens
const token = 'a-token-of-an-operator'

test('tokens for /metrics get a warning where nothing is counted', () => {
  const opensNothing = 'this token opens nothing: metrics are off'

  expect(warnedOfAdmin({ tokens: adminTokens }, 'metrics: none')).toEqual([`admin.tokens[0].scope: ${opensNothing}`])
  expect(warnedOfAdmin({ token, metricsToken: `${token}2` }, 'metrics: none')).toEqual([
    `admin.metricsToken: ${opensNothing}`,
  ])
  expect(warnedOfAdmin({ tokens: adminTokens })).toEqual([])
})

test('tokens of which none is for orders get one', () => {
  const message = 'admin.tokens: no operator may send a command: no token has the scope operate'

  expect(warnedOfAdmin({ tokens: [scraper, reader] })).toEqual([message])
  expect(warnedOfAdmin({ tokens: [scraper, reader], token })).toEqual([])
  expect(warnedOfAdmin({ tokens: adminTokens })).toEqual([])
  expect(warnedOfAdmin({})).toEqual([])
})

test('an issuer’s tokens are looked at in the same way', () => {
  const jwt = (scopes: object) => ({ jwt: adminJwt({ scopes }) })

  expect(warnedOfAdmin(jwt({ oncall: 'operate', 'a group': 'metrics' }), 'metrics: none')).toEqual([
    'admin.jwt.scopes."a group": this token opens nothing: metrics are off',
  ])
  expect(warnedOfAdmin(jwt({ auditors: 'read' }))).toEqual([
    'admin.tokens: no operator may send a command: no token has the scope operate',
  ])
  expect(warnedOfAdmin({ ...jwt({ auditors: 'read' }), tokens: adminTokens })).toEqual([])
  expect(warnedOfAdmin({ ...jwt({ oncall: 'operate' }), tokens: [scraper, reader] })).toEqual([])
})
