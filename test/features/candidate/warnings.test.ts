import { describe, expect, test } from 'vitest'
import { parse, withRisk } from '../../core/config/helper.ts'

/** Lists the warnings about a group with a candidate, by key path. */
const warned = (...of: Parameters<typeof warningsOf>) => warningsOf(...of).map(({ path, message }) => [path, message])

const warningsOf = (candidate: string, own = 'endpoints: [https://a], healthCheck: { path: /up }', top = '') => {
  const result = parse(`${withRisk(` { ${own}, candidate: ${candidate} }`)}\n${top}`)
  if (!result.ok) throw new Error(JSON.stringify(result.problems))
  return result.warnings
}

const at = 'upstreams.risk.candidate'

const b = (keys: string): string => `{ endpoints: [https://b], ${keys} }`

const tooFast = 'steps: { shares: [1%, 100%], every: 30s }'
const below = 'share: 5%, steps: { shares: [1%, 5%, 25%], every: 15m }'

test('a sound candidate gets no warning', () => {
  expect(warned('https://b')).toEqual([])
  expect(warned('{ endpoints: [https://b], tls: { minVersion: TLSv1.3 } }')).toEqual([])
})

test.each<[string, string, string, string]>([
  ['that is the upstream itself', 'https://a', at, 'nothing to try'],
  ['without a health check', b('healthCheck: none'), at, 'does not notice'],
  ['whose endpoint stands twice', '{ endpoints: [https://b, https://b] }', `${at}.endpoints[1]`, 'listed twice'],
  ['that is not verified', b('tls: { verify: false, insecure: true }'), `${at}.tls.verify`, 'ANY SERVER IS TRUSTED'],
  ['with TLS that nothing uses', '{ endpoints: [http://b], tls: { minVersion: TLSv1.3 } }', `${at}.tls`, 'nothing'],
  ['whose steps are over before they are judged', b(tooFast), `${at}.steps.every`, 'a step is shorter than the window'],
  ['whose first steps are not above its share', b(below), `${at}.steps.shares`, 'this does nothing: 1%, 5%, as'],
  ['with hardly a share', b('share: 0.001%'), `${at}.share`, 'less than the smallest share'],
  ['with too few connections', b('maxConnections: 1'), `${at}.maxConnections`, 'each of 2 workers'],
])('one %s gets a warning', (_, candidate, path, message) => {
  const found = warned(candidate, undefined, 'workers: 2').filter(([key]) => key !== 'workers') // this machine may have one core

  expect(found).toEqual([[path, expect.stringContaining(message)]])
})

describe('secrets that the group sets', () => {
  const group = 'endpoints: [https://a], healthCheck: { path: /up }, request: { set: { Authorization: Basic dTpw } }'

  test('a candidate at another host that inherits secrets of the group gets a warning', () => {
    const warning = [at, expect.stringContaining('for the upstream of the group: Authorization')]

    expect(warned('https://b', group)).toEqual([warning])
    expect(warned('{ endpoints: [https://a, https://b], request: { remove: [X-A] } }', group)).toEqual([warning])
  })

  test('a candidate with its own request.set, or at the same host, gets no warning of secrets', () => {
    expect(warned('{ endpoints: [https://b], request: { set: {} } }', group)).toEqual([])
    expect(warned('{ endpoints: [https://b], request: { set: { Authorization: Basic dTpw } } }', group)).toEqual([])
    expect(warned('https://a/next', group)).toEqual([])
    expect(warned('https://b', group.replace('Authorization', 'X-Release'))).toEqual([])
  })
})

test("a candidate at the group's endpoint with other request fields gets no warning", () => {
  expect(warned('{ endpoints: [https://a], host: b.example }')).toEqual([])
  expect(warned('{ endpoints: [https://a], request: { set: { X-Release: b } } }')).toEqual([])
})

test('verify: false of the group is one warning, at the group', () => {
  const own = 'endpoints: [https://a], healthCheck: { path: /up }, tls: { verify: false, insecure: true }'

  expect(warned('https://b', own).map(([path]) => path)).toEqual(['upstreams.risk.tls.verify'])
})

test('what a group does not verify is said of it where its candidate alone uses TLS, and inherits it', () => {
  const own = 'endpoints: [http://a], healthCheck: { path: /up }, tls: { verify: false, insecure: true }'
  const found = (candidate: string) =>
    warningsOf(candidate, own).find(({ path }) => path === 'upstreams.risk.tls.verify')?.found

  expect(found('https://b')).toBe('false for risk')
  expect(found('{ endpoints: [https://b], tls: { verify: true } }')).toBe('false')
})

test('insecure of a group does something where its candidate alone is not verified', () => {
  const own = 'endpoints: [https://a], healthCheck: { path: /up }, tls: { insecure: true }'
  const unverified = '{ endpoints: [https://b], tls: { verify: false } }'

  expect(warned(unverified, own).map(([path]) => path)).toEqual([`${at}.tls.verify`])
  expect(() => warned(unverified)).toThrow('insecure: true')
  const warning = expect.stringContaining('this does nothing')
  expect(warned('https://b', own)).toEqual([['upstreams.risk.tls.insecure', warning]])
})

test('TLS of a group does something where its candidate alone uses TLS', () => {
  const own = 'endpoints: [http://a], healthCheck: { path: /up }, tls: { minVersion: TLSv1.3 }'

  expect(warned('https://b', own)).toEqual([])
  expect(warned('http://b', own)).toEqual([['upstreams.risk.tls', expect.stringContaining('this does nothing')]])
})

test('the sandbox as a candidate serves other machines when the listener is open to them', () => {
  const written = withRisk(' { endpoints: [https://a], healthCheck: { path: /up }, candidate: sandbox }')
  const real = written.replaceAll(': sandbox\n', ': https://a\n')
  const result = parse(`${real}\nallowSandbox: true\nlisten: { host: 0.0.0.0 }`)

  const found = 'the sandbox behind risk'
  expect(result.ok && result.warnings.find(({ path }) => path === 'allowSandbox')).toMatchObject({ found })
})

test('a candidate that is not told the key of idempotency cannot recognize it', () => {
  const operations = 'operations: { risk.asset-valuation: { idempotency: { onUnknown: forward } } }'

  const warning = {
    path: 'operations.risk.asset-valuation.idempotency',
    found: `idempotency-key in ${at}.request.remove`,
  }
  expect(warningsOf(b('request: { remove: [Idempotency-Key] }'), undefined, operations)).toMatchObject([warning])
})

test('a Redis that only keeps shifts gets no warning', () => {
  const redis = 'redis: { url: "redis://redis.internal" }'
  const keys = `encryptionKeys: ["${Buffer.alloc(32).toString('base64')}"]`
  const limits = `limits: { ${redis} }`
  const idempotency = `idempotency: { ${redis}, ${keys} }`
  const parsed = parse(`${withRisk(' https://a')}\n${limits}\n${idempotency}`)

  expect(parsed.ok && parsed.warnings.map(({ path }) => path)).toEqual(['limits.redis', 'idempotency.redis'])
  expect(warned('https://b', undefined, limits)).toEqual([])
  expect(warned('https://b', undefined, idempotency)).toEqual([])
  // One of the two is enough for it.
  expect(warned('https://b', undefined, `${limits}\n${idempotency}`).map(([path]) => path)).toEqual(['limits.redis'])
})
