/** Operators who show a certificate, over real connections. */
import { X509Certificate } from 'node:crypto'
import { once } from 'node:events'
import type { IncomingHttpHeaders } from 'node:http'
import { Agent, request } from 'node:https'
import type { AddressInfo } from 'node:net'
import { createServer, type TLSSocket } from 'node:tls'
import { describe, expect, onTestFinished, test } from 'vitest'
import { routeScopes } from '../../../../../src/core/admin/access/authorize.ts'
import { includesScope, type OperatorScope } from '../../../../../src/core/lib/operators.ts'
import { findOperatorByCertificate } from '../../../../../src/features/auth/client-certificate.ts'
import { findProblems } from '../../../../core/config/helper.ts'
import { adminTokens, bearerOf } from '../../../../helpers/admin-tokens.ts'
import { needCertificates, type Pair } from '../../../../helpers/certificates.ts'
import { hiddenFields } from '../../../../helpers/form-browser.ts'
import { configText, testConfig } from '../../../../helpers/gateway.ts'
import { bootLiveGateway, liveGatewayForAll } from '../../../../helpers/live-gateway.ts'
import { tlsHandshake } from '../../../../helpers/tls-client.ts'

const { made, missing } = await needCertificates()

/** Makes a client that shows a certificate, on one connection that it keeps. */
const clientOf = (port: number, shown: Pair | null) => {
  const agent = new Agent({ keepAlive: true, maxSockets: 1, rejectUnauthorized: false, ...shown })
  onTestFinished(() => agent.destroy())
  return (path: string, { method = 'GET', headers = {} as Record<string, string>, body = '' } = {}) =>
    new Promise<{ status: number; text: string; headers: IncomingHttpHeaders }>((resolve, reject) => {
      request({ host: '127.0.0.1', port, path, method, agent, headers }, (response) => {
        let text = ''
        response.setEncoding('utf8').on('data', (piece: string) => {
          text += piece
        })
        response.on('end', () => resolve({ status: response.statusCode ?? 0, text, headers: response.headers }))
      })
        .on('error', reject)
        .end(body)
    })
}

describe.skipIf(missing)('an operator with a certificate', () => {
  const fingerprint = ({ cert }: Pair): string => `sha256:${new X509Certificate(cert).fingerprint256}`

  const operators = () => [
    { name: 'oncall-anna', san: 'dns:bank-a.example', scope: 'operate' },
    { name: 'auditor', san: fingerprint(made.client), scope: 'read' },
    { name: 'nobody-now', san: 'dns:localhost', scope: 'operate' },
    { name: 'bert', san: 'uri:urn:other', scope: 'operate' },
  ]

  const settings = (more: object = {}, clientCertificate: object = {}) => ({
    reload: { watch: false },
    admin: {
      tls: {
        certificate: made.right.cert,
        key: made.right.key,
        clientCertificate: { ca: made.authority.cert, operators: operators(), ...clientCertificate },
      },
      ...more,
    },
  })

  const shared = liveGatewayForAll(() => settings())
  const client = (shown: Pair | null) => clientOf(shared.live.gateway.adminAddress.port, shown)

  const order = { method: 'POST', body: JSON.stringify({ operation: 'inventory.sync' }) }

  test('reads and gives orders, by the name in the file, which the log has', async () => {
    const anna = client(made.bankA)

    const who = await anna('/whoami')
    const done = await anna('/operations/reject', order)

    expect(JSON.parse(who.text)).toEqual({
      ...{ name: 'oncall-anna', scope: 'operate', proof: 'certificate', session: null },
    })
    expect(done.status).toBe(200)
    expect(await shared.live.line(({ msg }) => msg === 'operation override')).toMatchObject({ by: 'oncall-anna' })
  })

  test.each<[string, () => Pair | null]>([
    ['none', () => null],
    ['one that the operator’s own authority has not issued', () => made.forgedA],
    ['one that has expired', () => made.expired],
    ['one with the name of no operator', () => made.wrongName],
  ])('is not one who shows %s; probes get responses all the same', async (_, shown) => {
    const ask = client(shown())

    const ready = await ask('/ready')
    const [status, ordered] = [
      await ask('/status', { headers: bearerOf('read') }),
      await ask('/operations/reject', order),
    ]

    expect([ready.status, status.status, ordered.status]).toEqual([200, 401, 401])
    expect(JSON.parse(status.text)).toMatchObject({
      code: 'certificate-required',
      detail: 'connect with the certificate of an operator, and send no token: none opens this listener',
    })
  })

  test('is not one whose forged certificate comes in a resumed session', async () => {
    const first = await tlsHandshake(shared.live.gateway.adminAddress.port, { ...made.forgedA, maxVersion: 'TLSv1.2' })
    const session = first.socket.getSession()
    first.socket.destroy()

    const { socket } = await tlsHandshake(shared.live.gateway.adminAddress.port, {
      ...made.forgedA,
      session,
      maxVersion: 'TLSv1.2',
    })
    const resumed = socket.isSessionReused()
    socket.write('GET /status HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n')
    const text = (await socket.toArray()).join('')

    expect(resumed).toBe(false)
    expect(text).toMatch(/^HTTP\/1\.1 401 /)
  })

  test('is known by the certificate that a connection has shown, also when it has closed', async () => {
    const { right, authority, bankA } = made
    const shown = Promise.withResolvers<TLSSocket>()
    const server = createServer({ ...right, ca: authority.cert, requestCert: true }, (socket) => shown.resolve(socket))
    onTestFinished(() => void server.close())
    await once(server.listen(0, '127.0.0.1'), 'listening')
    const { socket: connected } = await tlsHandshake((server.address() as AddressInfo).port, bankA)
    const socket = await shown.promise
    const configOf = (named: object) => testConfig(settings({}, named)).admin
    const twice = [
      { name: 'oncall-anna', san: 'dns:bank-a.example', scope: 'read' },
      { name: 'oncall-anna', san: fingerprint(made.bankA), scope: 'operate' },
    ]

    const before = findOperatorByCertificate(socket, configOf({}))
    connected.destroy()
    socket.resume()
    await once(socket, 'close')

    expect(before).toMatchObject({ name: 'oncall-anna' })
    expect(findOperatorByCertificate(socket, configOf({}))).toEqual(before)
    // Not where it is under two entries of other scopes, nor where the entry is removed, or the last one.
    for (const named of [twice, operators().slice(1), []])
      expect(findOperatorByCertificate(socket, configOf({ operators: named }))).toBeNull()
  })

  test('gives no order by a page of a browser, but by its forms', async () => {
    const anna = client(made.bankA)

    const byScript = await anna('/reload', { method: 'POST', headers: { 'sec-fetch-site': 'same-origin' } })
    const withCookie = await anna('/reload', { method: 'POST', headers: { cookie: 'a=b' } })
    const withoutToken = await anna('/actions/reload', { method: 'POST', body: '' })
    const page = await anna('/actions/reject?operation=inventory.sync', { headers: { accept: 'text/html' } })
    const fields = hiddenFields({ ...page, headers: new Headers(), location: null })
    const form = await anna('/actions/reject', { method: 'POST', body: `${new URLSearchParams(fields)}` })

    expect([byScript, withCookie, withoutToken, form].map(({ status }) => status)).toEqual([401, 401, 403, 303])
    expect(JSON.parse(byScript.text).detail).toContain('by the forms under /actions/ alone')
    expect(shared.lines.filter(({ msg }) => msg === 'configuration unchanged')).toEqual([])
    expect((await anna('/')).text).toContain('<p class="who" data-scope="operate"><b>oncall-anna</b></p>')
  })

  test.each<OperatorScope>(['operate', 'read'])(
    'opens to a browser what a session of the scope %s opens',
    async (held) => {
      const ask = client(held === 'operate' ? made.bankA : made.client)
      const wrong: string[] = []

      for (const { method, path, scope, bySession } of routeScopes.filter(({ path: each }) => each !== '/events')) {
        const headers = { 'sec-fetch-site': 'same-origin', accept: '*/*' }
        const { status, text } = await ask(path.replace('*', 'page.css'), { method, headers })
        const isKnownTo = scope === 'none' || includesScope(held, scope)
        const isScopeWrong = text.includes('"insufficient-scope"')
        const isRight = isKnownTo ? !isScopeWrong && (status === 401) === !bySession : isScopeWrong && status === 403
        if (!isRight) wrong.push(`${method} ${path}: ${status} ${text.slice(0, 80)}`)
      }

      expect(wrong).toEqual([])
    },
  )

  test('may show a token instead, which decides by itself', async () => {
    const { port } = (await bootLiveGateway(settings({ tokens: adminTokens }))).gateway.adminAddress
    const [plain, anna] = [clientOf(port, null), clientOf(port, made.bankA)]

    expect((await plain('/status', { headers: bearerOf('read') })).status).toBe(200)
    expect((await anna('/status', { headers: { authorization: 'Bearer another-token-than-any' } })).status).toBe(401)
    expect(JSON.parse((await anna('/whoami', { headers: bearerOf('read') })).text).name).toBe('auditor')
  })

  test('is asked for where no token logs in', async () => {
    const tokens = adminTokens.slice(0, 1)
    const { port } = (await bootLiveGateway(settings({ tokens }))).gateway.adminAddress

    const page = await clientOf(port, null)('/', { headers: { accept: 'text/html' } })

    expect([page.status, page.headers.location]).toEqual([401, undefined])
  })

  test('is one of the authority that an edit names, on an open connection or a new one', async () => {
    const live = await bootLiveGateway(settings())
    const { port } = live.gateway.adminAddress
    const [anna, issued] = [clientOf(port, made.bankA), clientOf(port, made.issued)]
    const before = [(await anna('/status')).status, (await issued('/whoami')).status]

    // An issuing authority, whose root need not stand in the file.
    live.edit(settings({}, { ca: made.issuing.cert }))
    const { result } = await live.gateway.reload('signal')
    const [open, anew] = [await anna('/status'), await clientOf(port, made.bankA)('/status')]
    const after = await clientOf(port, made.issued)('/whoami')

    expect([before, result, open.status, anew.status, after.status]).toEqual([[200, 401], 'applied', 401, 401, 200])
    expect(JSON.parse(after.text)).toMatchObject({ name: 'nobody-now', proof: 'certificate' })
  })

  test('cannot be asked for, or not any more, while the gateway runs', async () => {
    const live = await bootLiveGateway(settings())

    live.edit({ reload: { watch: false }, admin: { tls: { certificate: made.right.cert, key: made.right.key } } })

    expect(await live.gateway.reload('signal')).toMatchObject({
      result: 'rejected',
      problems: [{ path: 'admin.tls.clientCertificate', message: expect.stringContaining('it needs a restart') }],
    })
  })

  test.each<[string, string, () => object]>([
    [
      'operators[1].san',
      'this certificate name is listed twice',
      () => ({ operators: [operators()[0], { name: 'bert', san: 'dns:BANK-A.example', scope: 'read' }] }),
    ],
    // A certificate that may issue none would let nobody in.
    [
      'ca',
      'no certificate of an authority: every client certificate would be rejected',
      () => ({ ca: made.bankA.cert }),
    ],
  ])('has a name of its own, in whatever case it is written, and an authority: %s', (path, message, change) => {
    expect(findProblems(configText(settings({}, change())))).toMatchObject([
      { path: `admin.tls.clientCertificate.${path}`, message },
    ])
  })
})
