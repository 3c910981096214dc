/** Every scope at every request of the admin listener, over real sockets, from the one table; and the page of docs. */
import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { routeScopes } from '../../../../src/core/admin/access/authorize.ts'
import { includesScope, type OperatorScope, operatorScopes } from '../../../../src/core/lib/operators.ts'
import { adminTokens, bearerOf, tokenOf } from '../../../helpers/admin-tokens.ts'
import { logIn } from '../../../helpers/form-browser.ts'
import { bootLiveGateway, fetchAdmin, shareLiveGateway } from '../../../helpers/live-gateway.ts'
import { adminJwt, jwtOf, operatorJwt } from '../../../helpers/operator-jwts.ts'
import { exchangeRaw, parseStatus } from '../../../helpers/raw-client.ts'

const live = await shareLiveGateway({ admin: { tokens: adminTokens, jwt: adminJwt() } })
const { admin } = live

/** Sends a request and returns its status and, of a problem, its code. A stream is left as soon as it begins. */
const askAdmin = async (path: string, method: string, headers: Record<string, string>): Promise<string> => {
  const leave = new AbortController()
  const url = admin + path.replace('*', 'x/page.css')
  const response = await fetch(url, { method, headers, redirect: 'manual', signal: leave.signal })
  const isProblem = response.headers.get('content-type') === 'application/problem+json'
  const code = isProblem && method !== 'HEAD' ? JSON.parse(await response.text()).code : ''
  leave.abort()
  return `${response.status} ${code}`.trim()
}

test.each(operatorScopes)('the scope %s opens what the table says, and nothing else', async (held) => {
  const wrong: string[] = []

  for (const { method, path, scope } of routeScopes) {
    const got = await askAdmin(path, method, bearerOf(held))
    const isOpen = scope === 'none' || includesScope(held, scope)
    const isRight = isOpen ? !/^401|insufficient-scope|^403$/.test(got) : got === '403 insufficient-scope'
    if (!isRight) wrong.push(`${method} ${path}: ${got}`)
  }

  expect(wrong).toEqual([])
})

test.each<[OperatorScope, metrics: string, status: string, cache: string]>([
  ['metrics', '200', '403 insufficient-scope', '403 insufficient-scope'],
  ['read', '200', '200', '403 insufficient-scope'],
  ['operate', '200', '200', '200'],
])('the scope %s of a token of the issuer opens the same', async (scope, ...expected) => {
  const headers = { authorization: `Bearer ${jwtOf(scope)}` }

  const requests = ['HEAD /metrics', 'GET /status', 'DELETE /cache'].map((each) => each.split(' '))
  const got = requests.map(([method = '', path = '']) => askAdmin(path, method, headers))

  expect(await Promise.all(got)).toEqual(expected)
})

test.each(['read', 'operate'] as const)('a session of the scope %s opens what the table says', async (held) => {
  const session = await logIn(admin, tokenOf[held])
  const wrong: string[] = []

  for (const { method, path, scope, bySession } of routeScopes) {
    const got = await askAdmin(path, method, session)
    const isKnownTo = scope === 'none' || includesScope(held, scope)
    const expected = !isKnownTo ? /^403 insufficient-scope$/ : bySession ? /^(?!401|403 insufficient)/ : /^401 /
    if (!expected.test(got)) wrong.push(`${method} ${path}: ${got}`)
  }

  expect(wrong).toEqual([])
})

test.each([
  ['metrics', 'GET', 'status'],
  ['read', 'POST', 'reload'],
  ['read', 'GET', 'actions/reload'],
] as const)('the scope %s opens nothing by another spelling of %s /%s', async (held, method, path) => {
  const { port } = live.gateway.adminAddress
  const escaped = `%${path.charCodeAt(0).toString(16)}${path.slice(1)}`
  const spellings = ['//P', '/P/', '/./P', '/live/../P', '/assets/../P', '/metrics#/P', '/metrics;/P', 'http://a/P']
  const targets = [`/${escaped}`, ...spellings.map((spelling) => spelling.replace('P', path))]
  const wrong: string[] = []

  for (const target of targets) {
    const head = `${method} ${target} HTTP/1.1\r\nHost: localhost:${port}\r\nAuthorization: ${bearerOf(held).authorization}`
    const got = await exchangeRaw(port, `${head}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n`)
    if (![403, 404].includes(parseStatus(got))) wrong.push(`${target}: ${parseStatus(got)}`)
  }

  expect(wrong).toEqual([])
})

test.each([
  ['no credential', {}],
  ['a wrong token', { authorization: `Bearer ${'x'.repeat(43)}` }],
  ['a hash in place of its token', { authorization: `Bearer ${adminTokens[0]?.hash}` }],
])('%s opens only what needs none', async (_, headers) => {
  const wrong: string[] = []

  for (const { method, path, scope } of [...routeScopes, { method: 'GET', path: '/nowhere', scope: 'read' }]) {
    const got = await askAdmin(path, method, headers)
    if ((scope === 'none') === got.startsWith('401')) wrong.push(`${method} ${path}: ${got}`)
  }

  expect(wrong).toEqual([])
})

test('a good token of the issuer that opens nothing is no operator', async () => {
  // One limit counts the wrong tokens of all clients.
  const own = await bootLiveGateway({ admin: { tokens: adminTokens, jwt: adminJwt() } })
  const headers = { authorization: `Bearer ${operatorJwt({ groups: ['x'] })}` }

  expect((await fetchAdmin(`${own.admin}/status`, 'GET', { headers })).status).toBe(401)
  expect((await fetchAdmin(`${own.admin}/live`, 'GET', { headers })).status).toBe(200)
})

test('the table has every route that is registered, and no other', async () => {
  const { body } = await fetchAdmin(`${admin}/nowhere`, 'GET', { headers: bearerOf('operate') })
  const registered = new Set([...String(body.detail).matchAll(/\/[^, ]*/g)].map(([path]) => path))

  expect([...registered].sort()).toEqual([...new Set(routeScopes.map(({ path }) => path))].sort())
})

test('an order that is rejected says the scope that it takes, is logged by the name of its operator, and nothing is done', async () => {
  const before = live.lines.length

  const { headers, body } = await fetchAdmin(`${admin}/operations/reject`, 'POST', { headers: bearerOf('metrics') })

  expect(body.detail).toBe(
    'prometheus has the scope metrics: that is for /metrics and /whoami alone; this takes the scope operate',
  )
  expect(headers.get('www-authenticate')).toBe('Bearer error="insufficient_scope", scope="operate"')
  expect(live.lines.slice(before)).toMatchObject([{ msg: 'admin request', operator: 'prometheus', status: 403 }])
})

test('/whoami says who asks', async () => {
  const ask = async (scope: OperatorScope) =>
    Object.values((await fetchAdmin(`${admin}/whoami`, 'GET', { headers: bearerOf(scope) })).body)

  expect(await Promise.all(operatorScopes.map(ask))).toEqual([
    ['prometheus', 'metrics', 'token', null],
    ['auditor', 'read', 'token', null],
    ['oncall-anna', 'operate', 'token', null],
  ])
})

describe('the pages for operators', () => {
  const read = (name: string): string => readFileSync(new URL(`../../../../docs/${name}`, import.meta.url), 'utf8')

  test('docs/admin-api.md has the scope of every request, and no other', () => {
    const [, table = ''] = read('admin-api.md').split('| request | scope | response |')
    const rows = (table.split('\n\n')[0] ?? '').split('\n').slice(2)
    const documented = rows.flatMap((row) => {
      const [, requests = '', scope = ''] = row.split('|')
      const word = scope.replaceAll('`', '').trim()
      return [...requests.matchAll(/`((?:GET|POST|DELETE) [^`]*)`/g)].map(([, request]) => `${request}: ${word}`)
    })

    const isPage = ({ path }: (typeof routeScopes)[number]): boolean => path.startsWith('/actions/')
    const built = routeScopes
      .filter((route) => !isPage(route))
      .map(({ method, path, scope }) => `${method} ${path}: ${scope}`)
    expect(documented.toSorted()).toEqual(built.toSorted())
    expect(rows.at(-1)).toContain('| `GET` and `POST` of [`/actions/…`](page.md#actions) | `operate` |')
    expect(routeScopes.filter(isPage).every(({ scope }) => scope === 'operate')).toBe(true)
  })

  test('docs/operators.md has the scopes, the least first', () => {
    const [, table = ''] = read('operators.md').split('| scope | opens |')

    expect([...(table.split('\n\n')[0] ?? '').matchAll(/^\| `(\w+)`/gm)].map(([, scope]) => scope)).toEqual(
      operatorScopes,
    )
  })
})
