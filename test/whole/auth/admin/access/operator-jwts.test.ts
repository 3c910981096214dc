/** Operators with a token of an issuer, over real sockets. */
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { createAuditLog } from '../../../../features/audit/audit-log-place.ts'
import { adminTokens, bearerOf, tokenOf } from '../../../../helpers/admin-tokens.ts'
import { openAuthorizationServer } from '../../../../helpers/authorization-server.ts'
import { withoutLateness } from '../../../../helpers/findings.ts'
import { hiddenFields, logIn, submitForm, visitPage } from '../../../../helpers/form-browser.ts'
import { bootLiveGateway, fetchAdmin, type LiveGateway } from '../../../../helpers/live-gateway.ts'
import { adminAudience, adminJwt, groupOf, jwtOf, operatorJwt, operatorKey } from '../../../../helpers/operator-jwts.ts'
import { audience, claims, issuer, jwks, signingKey, signToken } from '../../../../helpers/tokens.ts'
import { httpUpstream } from '../../../../helpers/upstream.ts'

const other = signingKey('ES256', 'another')
const bearer = (token: string) => ({ authorization: `Bearer ${token}` })
const order = { method: 'POST', body: JSON.stringify({ operation: 'inventory.sync' }) }

const boot = (jwt: object = {}, admin: object = {}, more: object = {}) =>
  bootLiveGateway({ admin: { jwt: adminJwt(jwt), ...admin }, ...more })

const whoami = (admin: string, token: string) => fetchAdmin(`${admin}/whoami`, 'GET', { headers: bearer(token) })

const refusals = ({ lines }: LiveGateway) => lines.filter(({ msg }) => msg === 'operator token refused')

describe('an operator with a token of the issuer', () => {
  test('is named in the answer, the log, the audit log, the override and on the page', async () => {
    const audit = createAuditLog(onTestFinished)
    const live = await boot({}, {}, { audit: audit.settings })
    const headers = bearer(operatorJwt())

    const who = await whoami(live.admin, operatorJwt())
    const done = await fetchAdmin(`${live.admin}/operations/refuse`, 'POST', { ...order, headers })
    const { body } = await fetchAdmin(`${live.admin}/status`, 'GET', { headers })
    const page = await visitPage(`${live.admin}/`, headers)
    await live.line(({ msg }) => msg === 'admin request')
    await live.gateway.close()

    const name = 'anna@lender.example'
    expect(who.body).toEqual({ name, scope: 'operate', proof: 'jwt', session: null })
    expect(done.status).toBe(200)
    expect(body.operations).toMatchObject({ 'inventory.sync': { state: 'refuse', orderedBy: name } })
    expect(page.text).toContain(`<b>${name}</b>: inventory.sync is refused until`)
    expect(live.lines).toContainEqual(expect.objectContaining({ msg: 'operation override', by: name }))
    expect(live.lines).toContainEqual(expect.objectContaining({ msg: 'admin request', operator: name, status: 200 }))
    expect(audit.lines()).toContainEqual(expect.objectContaining({ event: 'operation override', by: name }))
    expect(audit.lines()).toContainEqual(expect.objectContaining({ event: 'admin request', operator: name }))
  })

  test('who has the name of an operator of the file is told from it by the proof', async () => {
    const audit = createAuditLog(onTestFinished)
    const live = await boot({ nameClaim: 'email' }, { tokens: adminTokens }, { audit: audit.settings })
    const namesake = operatorJwt({ email: 'oncall-anna' })

    for (const token of [tokenOf.operate, namesake])
      await fetchAdmin(`${live.admin}/operations/refuse`, 'POST', { ...order, headers: bearer(token) })
    await logIn(live.admin, namesake)
    await live.gateway.close()

    const lines = audit.lines().filter(({ operator }) => operator === 'oncall-anna')
    expect(lines.map(({ event, proof }) => `${event} ${proof}`).toSorted()).toEqual([
      'admin request jwt',
      'admin request token',
      'login jwt',
    ])
  })

  test('needs a token, which stands in Authorization and nowhere else, beside tokens of the file', async () => {
    const { admin } = await boot({}, { tokens: adminTokens })
    const token = operatorJwt()
    const cookie = `__Host-lender-gateway-${new URL(admin).port}=${token}`

    const none = await fetchAdmin(`${admin}/status`)
    const statuses: number[] = []
    for (const [query, headers] of [
      [`?access_token=${token}`, {}],
      ['', { cookie: `access_token=${token}` }],
      ['', { cookie }],
      ['', { authorization: `DPoP ${token}` }],
      ['', { authorization: `Basic ${token}` }],
      ['', { authorization: token }],
      ['', { 'x-api-key': token }],
      ['', { authorization: `bearer ${token}` }],
    ] as const)
      statuses.push((await fetch(`${admin}/status${query}`, { headers })).status)
    const [listed, issued] = [await whoami(admin, tokenOf.read), await whoami(admin, jwtOf('read'))]

    expect([none.status, none.headers.get('www-authenticate')]).toEqual([401, 'Bearer'])
    expect(statuses).toEqual([401, 401, 401, 401, 401, 401, 401, 200])
    expect(listed.body).toMatchObject({ name: 'auditor', proof: 'token' })
    expect(issued.body).toMatchObject({ name: 'read@lender.example', proof: 'jwt' })
  })

  test('is one of a real authorization server, and a client of that server is none', async () => {
    const server = await openAuthorizationServer()
    onTestFinished(() => server.close())
    const live = await bootLiveGateway({
      admin: {
        jwt: {
          issuer: server.url,
          audience: [adminAudience],
          jwks: `${server.url}/jwks`,
          nameClaim: 'client_id',
          scopes: { 'leads.read': 'read' },
        },
      },
    })

    const good = await whoami(live.admin, await server.token(adminAudience))
    const ofClient = await whoami(live.admin, await server.token('https://gateway.example'))
    const opaque = await whoami(live.admin, await server.token(null))

    expect(good.body).toMatchObject({ name: 'bank-a-robot', scope: 'read', proof: 'jwt' })
    expect([ofClient.status, opaque.status]).toEqual([401, 401])
    expect(refusals(live)).toMatchObject([
      { client: '127.0.0.1', reason: 'wrong-audience' },
      { client: '127.0.0.1', reason: 'unknown-token' },
    ])
  })
})

// Which tokens are is `test/features/auth/admin/access/operator-jwts.test.ts`'s.
describe('a token that is refused', () => {
  test('gets 401, and the log says why, and nothing of the token', async () => {
    const live = await boot()
    const refused = [
      signToken(operatorKey, claims({ groups: [groupOf.operate], email: 'a' })),
      operatorJwt({}, { ...other, kid: operatorKey.kid }),
      operatorJwt({ email: 'anna\nroot' }),
    ]

    for (const token of refused) {
      const { status, headers, body } = await fetchAdmin(`${live.admin}/status`, 'GET', { headers: bearer(token) })

      expect([status, body.code, headers.get('www-authenticate')]).toEqual([401, 'unauthenticated', 'Bearer'])
      for (const part of token.split('.')) expect(JSON.stringify([live.lines, body])).not.toContain(part)
    }
    expect(refusals(live)).toMatchObject(
      ['wrong-audience', 'bad-signature', 'no-name'].map((reason) => ({ client: '127.0.0.1', reason })),
    )
  })

  test('is that of a client of the same issuer and key, which gets in at the other listener', async () => {
    const upstream = await httpUpstream()
    const live = await boot(
      {},
      {},
      {
        upstream: upstream.url,
        auth: { methods: ['jwt'], jwt: { issuer, audience: [audience], jwks: jwks(operatorKey) } },
        clients: [{ id: 'bank-a', operations: 'all', claims: { client_id: 'bank-a' } }],
      },
    )
    const ofClient = signToken(operatorKey, claims({ groups: Object.values(groupOf), email: 'bank@lender.example' }))

    const served = await fetch(`${live.url}/market/insights`, { headers: bearer(ofClient) })
    const refused = await whoami(live.admin, ofClient)
    const ofOperator = await fetch(`${live.url}/market/insights`, { headers: bearer(operatorJwt()) })

    expect([served.status, refused.status, ofOperator.status]).toEqual([200, 401, 401])
  })
})

describe('a session of such a token', () => {
  test('reads the page and gives orders by its forms, in the name of the operator', async () => {
    const live = await boot()

    const session = await logIn(live.admin, operatorJwt())
    const form = hiddenFields(await visitPage(`${live.admin}/actions/refuse?operation=inventory.sync`, session))
    const done = await submitForm(`${live.admin}/actions/refuse`, form, session)
    const { body } = await fetchAdmin(`${live.admin}/whoami`, 'GET', { headers: session })

    expect(done.status).toBe(303)
    expect(body).toMatchObject({ name: 'anna@lender.example', scope: 'operate', proof: 'jwt' })
    expect(body.session).not.toBeNull()
    expect(live.lines).toContainEqual(expect.objectContaining({ msg: 'login', operator: 'anna@lender.example' }))
    expect(live.lines).toContainEqual(expect.objectContaining({ msg: 'operation override', by: 'anna@lender.example' }))
  })

  test('ends with its token, and its page does', async () => {
    let aheadMs = 0
    const read = Date.now.bind(Date)
    const clock = vi.spyOn(Date, 'now').mockImplementation(() => read() + aheadMs)
    onTestFinished(() => clock.mockRestore())
    const live = await boot()
    const token = operatorJwt({ exp: Math.floor(Date.now() / 1000) + 120 })
    const page = await visitPage(`${live.admin}/login`)
    const response = await submitForm(`${live.admin}/login`, { ...hiddenFields(page), token })
    const setCookie = response.headers.get('set-cookie') ?? ''
    const session = { cookie: setCookie.split(';')[0] ?? '' }
    const stream = await fetch(`${live.admin}/events`, { headers: session })
    const ofToken = await fetch(`${live.admin}/events`, { headers: bearer(token) })

    const before = (await visitPage(`${live.admin}/status`, session)).status
    aheadMs = 126_000 // its `exp`, and the tolerance of 5 s
    const after = (await visitPage(`${live.admin}/status`, session)).status

    expect(Number(/Max-Age=(\d+);/.exec(setCookie)?.[1])).toBeLessThanOrEqual(125)
    expect([before, after]).toEqual([200, 401])
    expect(await stream.text()).toMatch(/event: end\ndata: session\n\n$/)
    expect(await ofToken.text()).toMatch(/event: end\ndata: session\n\n$/)
  })

  test('is opened within the tolerance after its token has expired, and its page is kept up to date', async () => {
    const live = await boot({ clockTolerance: '5m' })
    const token = operatorJwt({ exp: Math.floor(Date.now() / 1000) - 60 })

    const session = await logIn(live.admin, token)
    const { body } = await fetchAdmin(`${live.admin}/whoami`, 'GET', { headers: session })
    const streams = await Promise.all(
      [session, bearer(token)].map((headers) => fetch(`${live.admin}/events`, { headers })),
    )
    await live.gateway.close()

    expect(body).toMatchObject({ name: 'anna@lender.example', proof: 'jwt' })
    for (const stream of streams) expect(await stream.text()).toMatch(/event: end\ndata: leaving\n\n$/)
  })

  test('lasts half an hour at most, however long its token does', async () => {
    const live = await boot()
    const page = await visitPage(`${live.admin}/login`)
    const token = operatorJwt({ exp: Math.floor(Date.now() / 1000) + 86_400 })

    const response = await submitForm(`${live.admin}/login`, { ...hiddenFields(page), token })

    expect(response.headers.get('set-cookie')).toContain('Max-Age=1800;')
  })

  test('is not opened by one of no operator, nor by one of a scraper', async () => {
    const live = await boot()
    const form = hiddenFields(await visitPage(`${live.admin}/login`))
    const scraper = 'This token is for /metrics and /whoami alone: log in with one of the scope read or operate.'

    for (const [token, reason] of [
      [operatorJwt({ groups: [] }), 'This is the token of no operator.'],
      [jwtOf('metrics'), scraper],
    ] as const) {
      const { status, text } = await submitForm(`${live.admin}/login`, { ...form, token })

      expect(status).toBe(403)
      expect(text).toContain(`<p role="alert">${reason}</p>`)
    }
    expect(live.lines.filter(({ msg }) => msg === 'login refused')).toHaveLength(2)
  })
})

describe('at a reload', () => {
  const scopes = adminJwt().scopes

  // What a token is worth after others is `test/features/auth/admin/access/operator-jwts.test.ts`'s.
  test.each<[string, number, object]>([
    ['other keys', 401, { jwks: jwks(other) }],
    ['another scope for its group', 401, { scopes: { ...scopes, [groupOf.operate]: 'read' } }],
    ['one more group', 200, { scopes: { ...scopes, more: 'read' } }],
  ])('that brings %s a session gets %d', async (_, expected, change) => {
    const tokens = { tokens: adminTokens, hosts: ['gateway.internal'] }
    const live = await boot({}, { tokens: adminTokens })
    const session = await logIn(live.admin, operatorJwt())
    const ofFile = await logIn(live.admin, tokenOf.read)
    const stream = await fetch(`${live.admin}/events`, { headers: session })
    live.edit({ admin: { ...tokens, jwt: adminJwt(change) } })

    const { result } = await live.gateway.reload('signal')
    const after = (await visitPage(`${live.admin}/status`, session)).status
    live.edit({ admin: { tokens: adminTokens, jwt: adminJwt() } })
    await live.gateway.reload('signal')
    const back = (await visitPage(`${live.admin}/status`, session)).status

    expect([result, after, back]).toEqual(['applied', expected, expected])
    expect((await visitPage(`${live.admin}/status`, ofFile)).status).toBe(200)
    if (expected === 401) expect(await stream.text()).toMatch(/event: end\ndata: session\n\n$/)
    else await stream.body?.cancel()
  })

  test('a token of the issuer before is no good, and a rollback does not bring it back', async () => {
    const live = await boot({}, { tokens: adminTokens })
    live.edit({ admin: { tokens: adminTokens, jwt: adminJwt({ jwks: jwks(other) }) }, listen: { maxTarget: '1KiB' } })
    await live.gateway.reload('signal')

    const back = await fetchAdmin(`${live.admin}/rollback`, 'POST', { headers: bearerOf('operate') })

    expect(back.status).toBe(200)
    expect((await whoami(live.admin, operatorJwt())).status).toBe(401)
    expect((await whoami(live.admin, operatorJwt({}, other))).status).toBe(200)
  })
})

describe('the keys of the issuer', () => {
  const open = async () => {
    const reply = { status: 200, text: jwks(operatorKey) }
    const server = await httpUpstream((_, response) => void response.writeHead(reply.status).end(reply.text))
    return { reply, url: `${server.url}/jwks` }
  }

  test('that are known go on while it is down; another one gets 503, and a finding says so', async () => {
    const { reply, url } = await open()
    const live = await boot({ jwks: url }, { tokens: adminTokens })
    await whoami(live.admin, operatorJwt())
    reply.status = 500

    const unknown = await whoami(live.admin, operatorJwt({}, other))
    const known = await whoami(live.admin, operatorJwt({ jti: 'another' }))
    const { body } = await fetchAdmin(`${live.admin}/status`, 'GET', { headers: bearer(operatorJwt()) })

    expect([unknown.status, unknown.body.code, known.status]).toEqual([503, 'identity-unavailable', 200])
    expect(unknown.headers.get('retry-after')).toBe('1')
    expect(refusals(live)).toEqual([])
    expect(live.lines).toContainEqual(expect.objectContaining({ msg: 'keys of the issuer cannot be fetched' }))
    expect(withoutLateness(body.findings)).toMatchObject([
      {
        severity: 'warning',
        about: 'admin.jwt',
        cause:
          'the keys of the issuer of operators (admin.jwt.jwks) cannot be had: it answered 500: the keys that are known (1) are used on',
      },
    ])
    expect(body.tokens).toMatchObject({ jwt: null, operators: { source: 'url', keys: 1, error: 'it answered 500' } })
  })

  test('were never had: tokens of the file are good, the others get 503', async () => {
    const { reply, url } = await open()
    reply.status = 404
    const live = await boot({ jwks: url }, { tokens: adminTokens })

    const issued = await whoami(live.admin, operatorJwt())
    const listed = await whoami(live.admin, tokenOf.read)
    const form = hiddenFields(await visitPage(`${live.admin}/login`))
    const login = await submitForm(`${live.admin}/login`, { ...form, token: operatorJwt() })

    expect([issued.status, listed.status, login.status]).toEqual([503, 200, 503])
    expect(login.text).toContain('the keys of the issuer of operators’ tokens cannot be had'.replace('the', 'The'))
  })

  test('are fetched by one process, and a client’s unknown keys have none of them fetched', async () => {
    let fetched = 0
    const server = await httpUpstream((_, response) => {
      fetched++
      response.end(jwks(operatorKey))
    })
    const live = await boot(
      { jwks: `${server.url}/jwks` },
      {},
      {
        auth: { methods: ['jwt'], jwt: { issuer, audience: [audience], jwks: jwks(operatorKey) } },
        clients: [{ id: 'bank-a', operations: 'all', claims: { client_id: 'bank-a' } }],
      },
    )
    await whoami(live.admin, operatorJwt())

    for (let i = 0; i < 5; i++)
      await fetch(`${live.url}/market/insights`, { headers: bearer(signToken(other, claims({ n: i }))) })

    expect(fetched).toBe(1)
  })
})
