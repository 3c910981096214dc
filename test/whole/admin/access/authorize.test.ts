import type { IncomingHttpHeaders } from 'node:http'
import { describe, expect, test } from 'vitest'
import { findPrincipal } from '../../../../src/core/admin/access/authenticate.ts'
import { authorizeRequest, routeScopes } from '../../../../src/core/admin/access/authorize.ts'
import { listOperatorTokens, TokenRejections } from '../../../../src/core/admin/access/operator-tokens.ts'
import { principalsWithoutSession } from '../../../../src/core/admin/access/principal.ts'
import type { AdminConfig } from '../../../../src/core/config/config.ts'
import { createOperatorJwts } from '../../../../src/features/auth/operator-jwts.ts'
import { tokenEntry } from '../../../helpers/admin-tokens.ts'
import { logInMemory } from '../../../helpers/gateway.ts'

const open: AdminConfig = {
  ...{ host: '127.0.0.1', port: 9901, hosts: [], token: null, metricsToken: null, tokens: [], jwt: null, tls: null },
  insecure: false,
}
const locked: AdminConfig = { ...open, token: 'a-token-of-an-operator' }
const local = { host: 'localhost:9901' }

/** Null: allowed. */
const authorize = (headers: IncomingHttpHeaders, admin = open, path = '/status', method = 'GET') => {
  const { log } = logInMemory()
  const proofs = createOperatorJwts(log, new TokenRejections(log))
  const access = { findInSession: () => null, withoutSession: principalsWithoutSession(), proofs }
  const principal = findPrincipal(headers, access, admin)
  return authorizeRequest({ method, path, headers }, principal, admin, listOperatorTokens(admin).length > 0)
}

const statusOf = (...request: Parameters<typeof authorize>): number | null => authorize(...request)?.status ?? null

describe('a Host', () => {
  const hosts = { ...open, hosts: ['gateway.internal'] }

  const own = ['127.0.0.1:9901', 'localhost', 'LOCALHOST:9901', '[::1]:9901', '10.1.2.3', 'gateway.internal:9901']
  const below = ['localhost', '127.0.0.1', '[::1]'].map((start) => `${start}.attacker.example`)

  test.each([...own, 'GATEWAY.internal'])('that is the gateway’s own is served: %s', (host) => {
    expect(statusOf({ host }, hosts)).toBeNull()
  })

  test.each([
    ...['attacker.example', ...below, '127.0.0.1@attacker.example', 'localhost:9901:1', 'gateway.internal.', ''],
    undefined,
  ])('that a web page could have is misdirected: %s', (host) => {
    expect(statusOf({ host }, hosts)).toBe(421)
  })

  test('is checked before the token is looked at', () => {
    expect(statusOf({ host: 'attacker.example', authorization: `Bearer ${locked.token}` }, locked)).toBe(421)
  })
})

describe('a token, once configured,', () => {
  const others = ['Bearer a-token-of-an-operator2', 'Basic a-token-of-an-operator', 'Bearer A-TOKEN-OF-AN-OPERATOR']

  test.each([
    ...[undefined, '', 'Bearer', 'Bearer ', 'Bearer a-token-of-an-operato', 'a-token-of-an-operator', ...others],
    'Bearer a-token-of-an-operator a',
  ])('is not %j', (authorization) => {
    const error = authorize({ ...local, authorization }, locked)

    expect(error).toMatchObject({ status: 401, headers: { 'WWW-Authenticate': 'Bearer' } })
    expect(JSON.stringify(error)).not.toContain(locked.token)
  })

  test.each(['Bearer a-token-of-an-operator', 'bearer a-token-of-an-operator'])('is %s', (authorization) => {
    expect(statusOf({ ...local, authorization }, locked)).toBeNull()
  })
})

describe('a token of Prometheus', () => {
  const scraped: AdminConfig = { ...locked, metricsToken: 'a-token-of-prometheus' }
  const bearer = (token: string | null) => ({ ...local, authorization: `Bearer ${token}` })

  test('opens /metrics, and so does that of operators', () => {
    for (const token of [scraped.metricsToken, scraped.token])
      expect(statusOf(bearer(token), scraped, '/metrics')).toBeNull()
  })

  test.each(['/', '/status', '/config', '/reload', '/operations/reject', '/metrics/'])('does not open %s', (path) => {
    expect(authorize(bearer(scraped.metricsToken), scraped, path)).toMatchObject({
      status: 403,
      code: 'insufficient-scope',
      detail: expect.stringMatching(/^admin\.metricsToken has the scope metrics: /),
    })
  })

  test('is none where there is none in the file', () => {
    expect(statusOf(bearer('a-token-of-prometheus'), locked, '/metrics')).toBe(401)
    expect(statusOf(bearer('null'), locked, '/metrics')).toBe(401)
  })
})

test.each(['/live', '/ready'])('%s asks for neither a token nor a Host', (path) => {
  expect(statusOf({}, locked, path)).toBeNull()
  expect(statusOf({ host: 'attacker.example', origin: 'http://attacker.example' }, locked, path)).toBeNull()
})

test.each([
  [{ origin: 'http://attacker.example' }, 403],
  [{ origin: 'null' }, 403],
  [{ origin: 'http://localhost:8080' }, 403],
  [{ 'sec-fetch-site': 'cross-site' }, 403],
  [{ 'sec-fetch-site': 'same-site' }, 403],
  [{ origin: 'http://localhost:9901' }, null],
  [{ 'sec-fetch-site': 'same-origin' }, null],
  [{ 'sec-fetch-site': 'none' }, null],
])('a web page is served where it is of the listener’s own origin: %j', (headers, status) => {
  expect(statusOf({ ...local, ...headers })).toBe(status)
})

test('the scopes metrics and read are rejected any method of any path that the table has not', () => {
  const known = new Set(routeScopes.map(({ method, path }) => `${method} ${path}`))
  const paths = [...new Set(routeScopes.map(({ path }) => path)), '/nowhere']
  const methods = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']
  const all = paths.flatMap((path) => methods.map((method) => [method, path] as const))
  const others = all.filter((request) => !known.has(request.join(' ')))

  for (const scope of ['metrics', 'read'] as const) {
    const admin: AdminConfig = { ...open, tokens: [tokenEntry('anna', 'a-token-of-anna', scope)] }
    const headers = { ...local, authorization: 'Bearer a-token-of-anna' }
    expect(others.filter(([method, path]) => statusOf(headers, admin, path, method) !== 403)).toEqual([])
  }
  expect(others.length).toBeGreaterThan(100)
})
