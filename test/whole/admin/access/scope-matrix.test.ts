/** Every scope at every request of the admin listener, over real sockets, from the one table. */
import { describe, expect, test } from 'vitest'
import { routeScopes } from '../../../../src/core/admin/access/authorize.ts'
import { includesScope, type OperatorScope, operatorScopes } from '../../../../src/core/lib/operators.ts'
import { adminTokens, bearerOf, tokenOf } from '../../../helpers/admin-tokens.ts'
import { logIn } from '../../../helpers/form-browser.ts'
import { bootLiveGateway, fetchAdmin } from '../../../helpers/live-gateway.ts'
import { adminJwt, jwtOf, operatorJwt } from '../../../helpers/operator-jwts.ts'
import { exchangeRaw, parseStatus } from '../../../helpers/raw-client.ts'

const methods = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'] as const

const boot = () => bootLiveGateway({ admin: { tokens: adminTokens, jwt: adminJwt() } })

const proofs: Readonly<Record<string, (scope: OperatorScope) => { readonly authorization: string }>> = {
  'a token of the file': bearerOf,
  'a token of the issuer': (scope) => ({ authorization: `Bearer ${jwtOf(scope)}` }),
}
const cases = Object.entries(proofs).flatMap(([proof, headersOf]) =>
  operatorScopes.map((scope) => [scope, proof, headersOf(scope)] as const),
)

/** Sends a request and returns its status and, of a problem, its code. A stream is left as soon as it begins. */
const ask = async (url: string, method: string, headers: Record<string, string>): Promise<string> => {
  const leave = new AbortController()
  const response = await fetch(url, { method, headers, redirect: 'manual', signal: leave.signal })
  const isProblem = response.headers.get('content-type') === 'application/problem+json'
  const code = isProblem && method !== 'HEAD' ? JSON.parse(await response.text()).code : ''
  leave.abort()
  return `${response.status} ${code}`.trim()
}

const pathOf = (path: string): string => path.replace('*', 'x/page.css')

const known = new Set(routeScopes.map(({ method, path }) => `${method} ${path}`))
const paths = [...new Set(routeScopes.map(({ path }) => path)), '/nowhere']
const isKnown = (method: string, path: string): boolean => known.has(`${method === 'HEAD' ? 'GET' : method} ${path}`)

test.each(cases)('the scope %s of %s opens what the table says, and nothing else', async (held, _, headers) => {
  const { admin } = await boot()
  const wrong: string[] = []
  let asked = 0

  for (const { method, path, scope } of routeScopes)
    for (const each of method === 'GET' ? ['GET', 'HEAD'] : [method]) {
      const got = await ask(admin + pathOf(path), each, headers)
      const isOpen = scope === 'none' || includesScope(held, scope)
      const isRight = isOpen ? !/^401|insufficient-scope|^403$/.test(got) : got.startsWith('403')
      if (!isRight) wrong.push(`${each} ${path}: ${got}`)
      asked++
    }

  expect(wrong).toEqual([])
  expect(asked).toBeGreaterThan(routeScopes.length)
})

test.each(['read', 'operate'] as const)('a session of the scope %s opens what the table says', async (held) => {
  const { admin } = await boot()
  const session = await logIn(admin, tokenOf[held])
  const wrong: string[] = []

  for (const { method, path, scope, bySession } of routeScopes) {
    const got = await ask(admin + pathOf(path), method, session)
    const isKnownTo = scope === 'none' || includesScope(held, scope)
    const expected = !isKnownTo ? /^403 insufficient-scope$/ : bySession ? /^(?!401|403 insufficient)/ : /^401 /
    if (!expected.test(got)) wrong.push(`${method} ${path}: ${got}`)
  }

  expect(wrong).toEqual([])
})

test.each(['metrics', 'read'] as const)('the scope %s opens nothing by another spelling of a path', async (held) => {
  const { gateway } = await boot()
  const { port } = gateway.adminAddress
  const { authorization } = bearerOf(held)
  const spellings = [
    '//P',
    '/%P',
    '/P/',
    '/./P',
    '/live/../P',
    '/assets/../P',
    '/metrics#/P',
    '/metrics;/P',
    'http://a/P',
  ]
  const targets = ['status', 'reload', 'actions/reload'].flatMap((path) =>
    spellings.map((spelling) =>
      spelling.replace('%P', `%${path.charCodeAt(0).toString(16)}${path.slice(1)}`).replace('P', path),
    ),
  )
  const wrong: string[] = []

  for (const target of targets)
    for (const method of ['GET', 'POST']) {
      const head = `${method} ${target} HTTP/1.1\r\nHost: localhost:${port}\r\nAuthorization: ${authorization}\r\n`
      const got = await exchangeRaw(port, `${head}Content-Length: 0\r\nConnection: close\r\n\r\n`)
      if (![403, 404].includes(parseStatus(got))) wrong.push(`${method} ${target}: ${parseStatus(got)}`)
    }

  expect(wrong).toEqual([])
})

const withoutOrders = cases.filter(([scope]) => scope !== 'operate')
test.each(withoutOrders)('the scope %s of %s is refused any other method of any path', async (_, __, headers) => {
  const { admin } = await boot()
  const wrong: string[] = []

  for (const path of paths)
    for (const method of methods) {
      if (isKnown(method, path)) continue
      const got = await ask(admin + pathOf(path), method, headers)
      if (got !== '403 insufficient-scope' && !(method === 'HEAD' && got === '403'))
        wrong.push(`${method} ${path}: ${got}`)
    }

  expect(wrong).toEqual([])
})

test.each([
  ['no credential', {}],
  ['a wrong token', { authorization: `Bearer ${'x'.repeat(43)}` }],
  ['a hash in place of its token', { authorization: `Bearer ${adminTokens[0]?.hash}` }],
  ['a good token of the issuer that opens nothing', { authorization: `Bearer ${operatorJwt({ groups: ['x'] })}` }],
])('%s opens only what needs none', async (_, headers) => {
  const { admin } = await boot()
  const wrong: string[] = []

  for (const path of paths)
    for (const method of methods) {
      const isPublic = routeScopes.some(
        (route) =>
          route.scope === 'none' &&
          route.path === path &&
          isKnown(method, path) &&
          (method === route.method || method === 'HEAD'),
      )
      const got = await ask(admin + pathOf(path), method, headers)
      if (isPublic === got.startsWith('401')) wrong.push(`${method} ${path}: ${got}`)
    }

  expect(wrong).toEqual([])
})

test('the table has every route that is registered, and no other', async () => {
  const { admin } = await boot()

  const { body } = await fetchAdmin(`${admin}/nowhere`, 'GET', { headers: bearerOf('operate') })
  const registered = new Set([...String(body.detail).matchAll(/\/[^, ]*/g)].map(([path]) => path))

  expect([...registered].sort()).toEqual([...new Set(routeScopes.map(({ path }) => path))].sort())
})

describe('a token that Prometheus holds', () => {
  test('scrapes', async () => {
    const { admin } = await boot()

    const response = await fetch(`${admin}/metrics`, { headers: bearerOf('metrics') })

    expect(response.status).toBe(200)
    expect(await response.text()).toContain('lender_gateway_')
  })

  test('is refused every order, which says which scope it takes, and nothing is done', async () => {
    const live = await boot()
    const orders = routeScopes.filter(({ scope, bySession }) => scope === 'operate' && !bySession)

    for (const { method, path } of orders) {
      const { status, headers, body } = await fetchAdmin(live.admin + path, method, { headers: bearerOf('metrics') })
      expect([path, status, body.code]).toEqual([path, 403, 'insufficient-scope'])
      expect(body.detail).toBe(
        'prometheus has the scope metrics: that is for /metrics and /whoami alone; this takes the scope operate',
      )
      expect(headers.get('www-authenticate')).toBe('Bearer error="insufficient_scope", scope="operate"')
    }

    expect(orders.length).toBeGreaterThan(8)
    const lines = live.lines.filter(({ msg }) => msg === 'admin request')
    expect(lines).toHaveLength(orders.length)
    expect(lines.every(({ operator, status }) => operator === 'prometheus' && status === 403)).toBe(true)
    expect(live.lines.filter(({ msg }) => /override|order|reload|configuration/.test(String(msg)))).toEqual([])
  })
})

test('/whoami says who asks', async () => {
  const { admin } = await boot()

  const all = await Promise.all(
    operatorScopes.map(
      async (scope) => (await fetchAdmin(`${admin}/whoami`, 'GET', { headers: bearerOf(scope) })).body,
    ),
  )

  expect(all).toEqual([
    { name: 'prometheus', scope: 'metrics', proof: 'token', session: null },
    { name: 'auditor', scope: 'read', proof: 'token', session: null },
    { name: 'oncall-anna', scope: 'operate', proof: 'token', session: null },
  ])
})
