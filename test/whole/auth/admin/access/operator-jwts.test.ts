/**
 * Operators with an issuer's token, over real sockets. Which tokens are theirs:
 * `test/features/auth/admin/access/operator-jwts.test.ts`.
 */
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { createAuditLog } from '../../../../features/audit/audit-log-place.ts'
import { adminTokens, tokenOf } from '../../../../helpers/admin-tokens.ts'
import { openAuthorizationServer } from '../../../../helpers/authorization-server.ts'
import { withoutLateness } from '../../../../helpers/findings.ts'
import { hiddenFields, logIn, submitForm, visitPage } from '../../../../helpers/form-browser.ts'
import { bootLiveGateway, fetchAdmin, type LiveGateway, shareLiveGateway } from '../../../../helpers/live-gateway.ts'
import { adminAudience, adminJwt, groupOf, operatorJwt, operatorKey } from '../../../../helpers/operator-jwts.ts'
import { audience, claims, issuer, jwks, signingKey, signToken } from '../../../../helpers/tokens.ts'
import { httpUpstream } from '../../../../helpers/upstream.ts'

const other = signingKey('ES256', 'another')
const bearer = (token: string) => ({ authorization: `Bearer ${token}` })
const whoami = (admin: string, token: string) => fetchAdmin(`${admin}/whoami`, 'GET', { headers: bearer(token) })
const rejections = ({ lines }: LiveGateway) => lines.filter(({ msg }) => msg === 'operator token rejected')
const bootWithOperatorJwts = (jwt: object = {}) =>
  bootLiveGateway({ admin: { jwt: adminJwt(jwt), tokens: adminTokens } })

/** Sends the form of the login. */
const sendLogin = async (admin: string, token: string) =>
  submitForm(`${admin}/login`, { ...hiddenFields(await visitPage(`${admin}/login`)), token })

// Beside tokens of the file, and clients of the same issuer and key.
const live = await shareLiveGateway({
  admin: { jwt: adminJwt(), tokens: adminTokens },
  auth: { methods: ['jwt'], jwt: { issuer, audience: [audience], jwks: jwks(operatorKey) } },
  clients: [{ id: 'bank-a', operations: 'all', claims: { client_id: 'bank-a' } }],
})

describe('an operator with a token of the issuer', () => {
  test('gives orders in its name, by a form of its session too', async () => {
    const headers = bearer(operatorJwt())
    const body = JSON.stringify({ operation: 'leads.pipeline' })

    const done = await fetchAdmin(`${live.admin}/operations/reject`, 'POST', { body, headers })
    const session = await logIn(live.admin, operatorJwt())
    const form = hiddenFields(await visitPage(`${live.admin}/actions/reject?operation=inventory.sync`, session))
    const byForm = await submitForm(`${live.admin}/actions/reject`, form, session)
    const who = [
      await whoami(live.admin, operatorJwt()),
      await fetchAdmin(`${live.admin}/whoami`, 'GET', { headers: session }),
    ]

    const anna = { name: 'anna@lender.example', scope: 'operate', proof: 'jwt' }
    expect([done.status, byForm.status]).toEqual([200, 303])
    expect(who.map(({ body }) => body)).toEqual([
      { ...anna, session: null },
      { ...anna, session: expect.anything() },
    ])
    const orders = live.lines.filter(({ msg }) => msg === 'operation override')
    expect(orders.map(({ by }) => by)).toEqual([anna.name, anna.name])
  })

  test('who has the name of an operator of the file is told from it by the proof', async () => {
    const audit = createAuditLog(onTestFinished)
    const own = await bootLiveGateway({ admin: { jwt: adminJwt(), tokens: adminTokens }, audit: audit.settings })
    const namesake = operatorJwt({ email: 'oncall-anna' })

    for (const token of [tokenOf.operate, namesake])
      await fetchAdmin(`${own.admin}/reload`, 'POST', { headers: bearer(token) })
    await logIn(own.admin, namesake)
    await own.gateway.close()

    const lines = audit.lines().filter(({ operator, event }) => operator === 'oncall-anna' && event !== 'reload')
    expect(lines.map(({ event, proof }) => `${event} ${proof}`).toSorted()).toEqual([
      ...['admin request jwt', 'admin request token', 'login jwt'],
    ])
  })

  test('is one of a real authorization server, and a client of that server is none', async () => {
    const server = await openAuthorizationServer()
    onTestFinished(() => server.close())
    const own = await bootWithOperatorJwts({
      ...{ issuer: server.url, jwks: `${server.url}/jwks`, nameClaim: 'client_id', scopeClaim: undefined },
      scopes: { 'leads.read': 'read' },
    })

    const good = await whoami(own.admin, await server.token(adminAudience))
    const ofClient = await whoami(own.admin, await server.token('https://gateway.example'))
    const opaque = await whoami(own.admin, await server.token(null))

    expect(good.body).toMatchObject({ name: 'bank-a-robot', scope: 'read', proof: 'jwt' })
    expect([ofClient.status, opaque.status]).toEqual([401, 401])
    expect(rejections(own).map(({ reason }) => reason)).toEqual(['wrong-audience', 'unknown-token'])
  })
})

test('a token that is rejected gets 401, and the log says why, and nothing of the token', async () => {
  const token = operatorJwt({ email: 'anna\nroot' })

  const { status, headers, body } = await fetchAdmin(`${live.admin}/status`, 'GET', { headers: bearer(token) })

  expect([status, body.code, headers.get('www-authenticate')]).toEqual([401, 'unauthenticated', 'Bearer'])
  expect(rejections(live).at(-1)).toMatchObject({ client: '127.0.0.1', reason: 'no-name' })
  for (const part of token.split('.')) expect(JSON.stringify([live.lines, body])).not.toContain(part)
})

test('a client of the same issuer and key gets in at the other listener, and an operator does not', async () => {
  const ofClient = signToken(operatorKey, claims({ groups: Object.values(groupOf), email: 'bank@lender.example' }))
  const ask = async (token: string): Promise<number> =>
    (await fetch(`${live.url}/market/insights`, { headers: bearer(token) })).status

  const statuses = [await ask(ofClient), (await whoami(live.admin, ofClient)).status, await ask(operatorJwt())]

  expect(statuses).toEqual([200, 401, 401])
})

describe('a session of such a token', () => {
  const inSeconds = (seconds: number): number => Math.floor(Date.now() / 1000) + seconds

  test('ends with its token, and its page does', async () => {
    let aheadMs = 0
    const read = Date.now.bind(Date)
    const clock = vi.spyOn(Date, 'now').mockImplementation(() => read() + aheadMs)
    onTestFinished(() => clock.mockRestore())
    const token = operatorJwt({ exp: inSeconds(120) })
    const setCookie = (await sendLogin(live.admin, token)).headers.get('set-cookie') ?? ''
    const session = { cookie: setCookie.split(';')[0] ?? '' }
    const streams = [session, bearer(token)].map((headers) => fetch(`${live.admin}/events`, { headers }))
    await Promise.all(streams)

    const before = (await visitPage(`${live.admin}/status`, session)).status
    aheadMs = 126_000 // its `exp`, and the tolerance of 5 s
    const after = (await visitPage(`${live.admin}/status`, session)).status

    expect(Number(/Max-Age=(\d+);/.exec(setCookie)?.[1])).toBeLessThanOrEqual(125)
    expect([before, after]).toEqual([200, 401])
    for (const stream of streams) expect(await (await stream).text()).toMatch(/event: end\ndata: session\n\n$/)
  })

  test('is opened within the tolerance after its token has expired, and its page is kept up to date', async () => {
    const own = await bootWithOperatorJwts({ clockTolerance: '5m' })
    const token = operatorJwt({ exp: inSeconds(-60) })

    const session = await logIn(own.admin, token)
    const streams = [session, bearer(token)].map((headers) => fetch(`${own.admin}/events`, { headers }))
    await Promise.all(streams)
    await own.gateway.close()

    for (const stream of streams) expect(await (await stream).text()).toMatch(/event: end\ndata: leaving\n\n$/)
  })

  test('is not opened by one of no operator', async () => {
    const { status, text } = await sendLogin(live.admin, operatorJwt({ groups: [] }))

    expect(status).toBe(403)
    expect(text).toContain('<p role="alert">No operator has this token.</p>')
  })
})

// What a token is worth after others is `test/features/auth/admin/access/operator-jwts.test.ts`'s.
test.each<[string, number, object]>([
  ['another scope for its group', 401, { scopes: { [groupOf.operate]: 'read' } }],
  ['one more group', 200, { scopes: { ...adminJwt().scopes, more: 'read' } }],
])('at a reload that brings %s a session gets %d, and goes on so at the next', async (_, expected, change) => {
  const own = await bootWithOperatorJwts()
  const [session, ofFile] = [await logIn(own.admin, operatorJwt()), await logIn(own.admin, tokenOf.read)]
  const stream = await fetch(`${own.admin}/events`, { headers: session })
  const statusAfter = async (jwt: object): Promise<number> => {
    own.edit({ admin: { tokens: adminTokens, jwt: adminJwt(jwt) } })
    await own.gateway.reload('signal')
    return (await visitPage(`${own.admin}/status`, session)).status
  }

  expect([await statusAfter(change), await statusAfter({})]).toEqual([expected, expected])
  expect((await visitPage(`${own.admin}/status`, ofFile)).status).toBe(200)
  if (expected === 401) expect(await stream.text()).toMatch(/event: end\ndata: session\n\n$/)
  else await stream.body?.cancel()
})

describe('the keys of the issuer', () => {
  const open = async () => {
    const reply = { status: 200 }
    const server = await httpUpstream((_, response) => void response.writeHead(reply.status).end(jwks(operatorKey)))
    return { reply, server, url: `${server.url}/jwks` }
  }

  test('that were fetched stay in use while the issuer is down; a token of another key gets 503, and a finding says so', async () => {
    const { reply, url } = await open()
    const own = await bootWithOperatorJwts({ jwks: url })
    await whoami(own.admin, operatorJwt())
    reply.status = 500

    const unknown = await whoami(own.admin, operatorJwt({}, other))
    const { status, body } = await fetchAdmin(`${own.admin}/status`, 'GET', { headers: bearer(operatorJwt({ n: 1 })) })

    expect([unknown.status, unknown.body.code, status]).toEqual([503, 'identity-unavailable', 200])
    expect(unknown.headers.get('retry-after')).toBe('1')
    expect(rejections(own)).toEqual([])
    expect(own.lines).toContainEqual(expect.objectContaining({ msg: 'keys of the issuer cannot be fetched' }))
    expect(withoutLateness(body.findings)).toMatchObject([
      {
        ...{ severity: 'warning', about: 'admin.jwt' },
        cause:
          'the keys of the issuer of operators (admin.jwt.jwks) cannot be fetched: it responded with 500: the keys fetched earlier (1) stay in use',
      },
    ])
    expect(body.tokens).toMatchObject({
      jwt: null,
      operators: { source: 'url', keys: 1, error: 'it responded with 500' },
    })
  })

  test('that were never fetched: tokens of the file are accepted, other tokens get 503', async () => {
    const { reply, url } = await open()
    reply.status = 404
    const { admin } = await bootWithOperatorJwts({ jwks: url })

    const login = await sendLogin(admin, operatorJwt())
    const [issued, listed] = [await whoami(admin, operatorJwt()), await whoami(admin, tokenOf.read)]

    expect([issued.status, listed.status, login.status]).toEqual([503, 200, 503])
    expect(login.text).toContain('The keys of the operators’ issuer (admin.jwt.jwks) cannot be fetched')
  })

  test('are not fetched for a client’s unknown keys', async () => {
    const { server, url } = await open()
    const own = await bootLiveGateway({
      admin: { jwt: adminJwt({ jwks: url }) },
      auth: { methods: ['jwt'], jwt: { issuer, audience: [audience], jwks: jwks(operatorKey) } },
      clients: [{ id: 'bank-a', operations: 'all', claims: { client_id: 'bank-a' } }],
    })
    await whoami(own.admin, operatorJwt())

    await fetch(`${own.url}/market/insights`, { headers: bearer(signToken(other)) })

    expect(server.requests).toHaveLength(1)
  })
})
