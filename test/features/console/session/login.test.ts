/** Logging in to the pages of the operator's listener, over real sockets. */
import { describe, expect, test } from 'vitest'
import { routeScopes } from '../../../../src/core/admin/access/authorize.ts'
import { isConfidential } from '../../../../src/features/console/session/login.ts'
import { adminTokens, tokenEntry, tokenOf } from '../../../helpers/admin-tokens.ts'
import { hiddenFields, logIn, submitForm, token, visitPage } from '../../../helpers/form-browser.ts'
import { bootLiveGateway, shareLiveGateway } from '../../../helpers/live-gateway.ts'
import { simulateRemoteConnections } from '../../../helpers/remote-connections.ts'

const { admin } = await shareLiveGateway({ admin: { token } })

test('a browser without a session is sent to a form that a password manager and a screen reader understand', async () => {
  for (const target of ['/', '/actions/drain?group=risk'])
    expect(await visitPage(`${admin}${target}`)).toMatchObject({ status: 303, location: '/login', text: '' })
  const { status, text } = await visitPage(`${admin}/login`)

  expect(status).toBe(200)
  expect(text).toMatch(/<form method="post" action="\/login">[\s\S]*<label for="token">/)
  expect(text).toMatch(/<input type="password" id="token" name="token" autocomplete="current-password" required/)
})

describe('the right token', () => {
  test('opens a session, with a cookie that nothing but this host’s pages can use', async () => {
    const page = await visitPage(`${admin}/login`)

    const response = await submitForm(`${admin}/login`, { ...hiddenFields(page), token })

    expect([response.status, response.location]).toEqual([303, '/login?done'])
    expect(response.headers.getSetCookie().map((cookie) => cookie.replace(/=[\w-]{43};/, '=ID;'))).toEqual([
      `__Host-lender-gateway-${new URL(admin).port}=ID; Path=/; Max-Age=1800; Secure; HttpOnly; SameSite=Strict`,
    ])
  })

  test('is logged and recorded by the name of the session, which is not what the cookie holds', async () => {
    const live = await bootLiveGateway({ admin: { token } })

    // It may be pasted with blanks around it.
    const { cookie } = await logIn(live.admin, ` ${token}\n`)

    const line = await live.line(({ msg }) => msg === 'login')
    expect(line).toEqual({
      ...{ level: 30, time: expect.any(Number), client: '127.0.0.1', operator: 'admin.token', proof: 'token' },
      ...{ msg: 'login', session: expect.stringMatching(/^[\da-f]{8}$/) },
    })
    expect(cookie).not.toContain(line.session)
  })

  test('leads to the overview, or says what is wrong when the browser has not kept the cookie', async () => {
    const session = await logIn(admin)

    const [kept, lost] = [await visitPage(`${admin}/login?done`, session), await visitPage(`${admin}/login?done`)]

    expect([kept.status, kept.location]).toEqual([303, '/'])
    expect(lost.text).toContain('<p role="alert">The token was right, but the browser did not store the cookie')
  })
})

test.each([
  ['another one', `${token}2`],
  ['none', ''],
  ['one in other letters', token.toUpperCase()],
])('a wrong token, %s, opens none, and the log says so', async (_, given) => {
  // One limit counts the attempts of all clients.
  const { admin, lines } = await bootLiveGateway({ admin: { token } })
  const page = await visitPage(`${admin}/login`)

  const response = await submitForm(`${admin}/login`, { ...hiddenFields(page), token: given })

  expect([response.status, response.headers.get('set-cookie')]).toEqual([403, null])
  expect(response.text).toContain('<p role="alert">No operator has this token.</p>')
  expect(hiddenFields(response)).toEqual(hiddenFields(page))
  expect(lines).toContainEqual(expect.objectContaining({ msg: 'login rejected', level: 40, client: '127.0.0.1' }))
})

test('no token is none, though the file has its hash', async () => {
  const { admin } = await bootLiveGateway({ admin: { tokens: [tokenEntry('anna', '', 'operate')] } })
  const form = hiddenFields(await visitPage(`${admin}/login`))

  const { status, headers } = await submitForm(`${admin}/login`, { ...form, token: '' })

  expect([status, headers.get('set-cookie')]).toEqual([403, null])
  expect((await visitPage(`${admin}/status`, { authorization: 'Bearer ' })).status).toBe(401)
})

test('a session needs no login, and ends at the logout, with its cookie, and the log says so', async () => {
  const live = await bootLiveGateway({ admin: { token } })
  const session = await logIn(live.admin)
  const { formToken = '' } = hiddenFields(await visitPage(`${live.admin}/actions/reload`, session))
  const again = await visitPage(`${live.admin}/login`, session)

  const response = await submitForm(`${live.admin}/logout`, { formToken }, session)

  expect([again.location, response.status, response.location]).toEqual(['/', 303, '/login'])
  expect(response.headers.get('set-cookie')).toMatch(/^__Host-lender-gateway-\d+=; Path=\/; Max-Age=0; Secure; /)
  expect((await visitPage(`${live.admin}/status`, session)).status).toBe(401)
  const { session: name } = await live.line(({ msg }) => msg === 'login')
  const line = { level: 30, client: '127.0.0.1', session: name }
  expect(await live.line(({ msg }) => msg === 'logout')).toMatchObject(line)
})

test('a token that is for /metrics alone opens none, and the log has its name', async () => {
  const live = await bootLiveGateway({ admin: { tokens: adminTokens } })
  const page = await visitPage(`${live.admin}/login`)

  const response = await submitForm(`${live.admin}/login`, { ...hiddenFields(page), token: tokenOf.metrics })

  expect([response.status, response.headers.get('set-cookie')]).toEqual([403, null])
  expect(response.text).toContain(
    '<p role="alert">This token is for /metrics and /whoami alone: log in with one of the scope read',
  )
  expect(await live.line(({ msg }) => msg === 'login rejected')).toMatchObject({ operator: 'prometheus' })
})

test('a session of the scope read reads the page, which says so, and is rejected every action and order', async () => {
  const live = await bootLiveGateway({ admin: { tokens: adminTokens } })
  const session = await logIn(live.admin, tokenOf.read)
  const pages = routeScopes.filter(({ path }) => path.startsWith('/actions/'))

  const page = await visitPage(`${live.admin}/`, session)
  const order = await submitForm(`${live.admin}/reload`, {}, { ...session, accept: '*/*' })

  expect(page.status).toBe(200)
  expect(page.text).toContain('<p class="who" data-scope="read"><b>auditor</b>, may read and send no commands</p>')
  expect([order.status, JSON.parse(order.text).code]).toEqual([403, 'insufficient-scope'])
  for (const { method, path } of pages) {
    const ask = method === 'GET' ? visitPage : (url: string, headers: typeof session) => submitForm(url, {}, headers)
    const { status, text } = await ask(live.admin + path, session)
    expect([method, path, status]).toEqual([method, path, 403])
    expect(text).toContain('Auditor has the scope read: that is to read, and to send no commands;')
  }
  expect(pages.length).toBeGreaterThan(15)
})

test('without admin.token there is nothing to log in to', async () => {
  const login = `${(await bootLiveGateway()).admin}/login`

  expect([await visitPage(login), await submitForm(login, { token: 'x' })]).toMatchObject(
    Array(2).fill({ location: '/' }),
  )
})

test('a connection that others could read is offered no login, gets none by the form, and is taken with the bearer', async () => {
  simulateRemoteConnections()
  const { admin } = await bootLiveGateway({ admin: { token, host: '0.0.0.0', insecure: true } })

  const page = await visitPage(`${admin}/login`)
  const response = await submitForm(`${admin}/login`, { token })

  expect((await visitPage(`${admin}/`)).location).toBe('/login')
  expect(page.status).toBe(403)
  expect(page.text).not.toContain('<form')
  expect(page.text).toMatch(/no TLS[\s\S]*kubectl port-forward[\s\S]*admin\.tls/)
  expect([response.status, response.headers.get('set-cookie')]).toEqual([403, null])
  expect((await visitPage(`${admin}/status`, { authorization: `Bearer ${token}` })).status).toBe(200)
})

test('the same listener offers the login to a connection by loopback, as through a tunnel', async () => {
  const live = await bootLiveGateway({ admin: { token, host: '0.0.0.0', insecure: true } })

  expect((await visitPage(`${live.admin}/`, await logIn(live.admin))).status).toBe(200)
})

test.each([
  ['with TLS', { encrypted: true, localAddress: '10.1.2.3', remoteAddress: '10.9.9.9' }, true],
  ['by loopback', { localAddress: '127.0.0.1', remoteAddress: '127.0.0.1' }, true],
  ['by loopback of IPv6', { localAddress: '::1', remoteAddress: '::1' }, true],
  ['by loopback of both families', { localAddress: '::ffff:7f00:1', remoteAddress: '::ffff:127.0.0.1' }, true],
  ['over the network', { localAddress: '10.1.2.3', remoteAddress: '10.9.9.9' }, false],
  ['by a sidecar, to the pod’s address', { localAddress: '10.1.2.3', remoteAddress: '127.0.0.6' }, false],
  ['that a neighbor has routed to loopback', { localAddress: '127.0.0.1', remoteAddress: '10.9.9.9' }, false],
  ['that is gone', {}, false],
])('whether a connection is confidential: one %s', (_, connection, isIt) => {
  expect(isConfidential(connection)).toBe(isIt)
})
