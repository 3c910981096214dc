import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import type { ServerResponse } from 'node:http'
import { describe, expect, onTestFinished, test } from 'vitest'
import { type AdminRequest, callAdmin } from '../../../../src/core/cli/client/admin-client.ts'
import { type AdminTarget, CliError } from '../../../../src/core/cli/client/admin-target.ts'
import { needCertificates } from '../../../helpers/certificates.ts'
import { freePort } from '../../../helpers/free-port.ts'
import { switchVerificationOff } from '../../../helpers/unverified-tls.ts'
import {
  adminTarget,
  configFileWith,
  jsonResponse,
  rawServer,
  runCommand,
  scriptedAdmin,
  token,
} from '../scripted-admin.ts'

const getStatus: AdminRequest = { method: 'GET', path: '/status', timeoutMs: 10_000 }

/** Sends a request that fails; checks that the error is one line without the token. */
const failureOf = async (target: AdminTarget, more: Partial<AdminRequest> = {}): Promise<string> => {
  const error: unknown = await callAdmin(target, { ...getStatus, ...more }).catch((thrown: unknown) => thrown)
  if (!(error instanceof CliError)) throw error
  expect(error.message).not.toContain(token)
  // biome-ignore lint/suspicious/noControlCharactersInRegex: those are meant
  expect(error.message).not.toMatch(/[\0-\x1f\x7f-\x9f]/)
  return error.message
}

/** Counts the connections that this process opens, from now on. */
const countConnections = (): (() => number) => {
  let count = 0
  const onConnection = (): void => {
    count++
  }
  subscribe('net.client.socket', onConnection)
  onTestFinished(() => void unsubscribe('net.client.socket', onConnection))
  return () => count
}

const known = { value: token, from: 'LENDER_GATEWAY_ADMIN_TOKEN' }

describe('a request', () => {
  test('carries the token, an address as Host, and no body', async () => {
    const admin = await scriptedAdmin(jsonResponse({}))

    await callAdmin(adminTarget(admin.port, { token: known }), { method: 'POST', path: '/reload', timeoutMs: 10_000 })

    expect(admin.received).toMatchObject([
      {
        request: 'POST /reload',
        headers: { host: `127.0.0.1:${admin.port}`, authorization: `Bearer ${token}`, 'content-length': '0' },
      },
    ])
  })

  test('carries no authorization when there is no token', async () => {
    const admin = await scriptedAdmin(jsonResponse({}))

    await callAdmin(adminTarget(admin.port), getStatus)

    expect(admin.received[0]?.headers).not.toHaveProperty('authorization')
  })

  test('reaches a listener on every address by the name of loopback', async () => {
    const admin = await scriptedAdmin(jsonResponse({}))

    expect(await callAdmin(adminTarget(admin.port, { host: 'localhost' }), getStatus)).toMatchObject({ status: 200 })
  })
})

describe('a response', () => {
  test('has its status and the clock of the gateway', async () => {
    const admin = await scriptedAdmin(jsonResponse({ a: 1 }, 422))

    const expected = { status: 422, body: { a: 1 }, at: Date.UTC(2026, 10, 21, 2, 5) }
    expect(await callAdmin(adminTarget(admin.port), getStatus)).toEqual(expected)
  })

  const grow = (response: ServerResponse): void => {
    while (!response.destroyed && response.write('[1,'.repeat(1000)));
    response.once('drain', () => grow(response))
  }
  const noJson = 'responds with something other than JSON (200): is that the admin listener of a lender gateway?'

  test.each<[string, (response: ServerResponse) => void, Partial<AdminRequest>, string]>([
    ['that never comes fails after the time limit', () => {}, { timeoutMs: 50 }, 'has not responded within 50ms'],
    ['that never ends does too', (response) => response.write('{'), { timeoutMs: 100 }, 'not responded within 100ms'],
    ['that grows without end fails at the size limit', grow, { maxBytes: 4096 }, 'responds with over 4KiB'],
    ['that is a page fails', (response) => response.end('<html>'), {}, noJson],
    ['of nothing fails', (response) => response.end(), {}, noJson],
  ])('%s', async (_, respond, request, message) => {
    const admin = await scriptedAdmin(respond)

    const failure = await failureOf(adminTarget(admin.port), request)

    expect(failure).toContain(admin.url)
    expect(failure).toContain(message)
  })

  const cut = 'HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{}'

  test.each([
    ['that is cut short', cut, 'closes the connection without a whole response: does it want https?'],
    ['of another protocol', 'SSH-2.0-OpenSSH_10.0\r\n', 'responds with something other than HTTP'],
  ])('%s fails', async (_, bytes, message) => {
    const port = await rawServer((socket) => socket.end(bytes))

    expect(await failureOf(adminTarget(port))).toContain(message)
  })

  test('that redirects is not followed, and the token is not sent', async () => {
    const other = await scriptedAdmin(jsonResponse({}))
    const admin = await scriptedAdmin((response) => void response.writeHead(307, { Location: `${other.url}/` }).end())

    expect(await failureOf(adminTarget(admin.port, { token: known }))).toBe(
      `${admin.url} redirects (307), which this command does not follow`,
    )
    expect(other.received).toEqual([])
  })
})

describe('a gateway that is not there', () => {
  test('at an address of the file: the error names the file, and where to look', async () => {
    const port = await freePort()

    expect(await failureOf(adminTarget(port, { file: 'gateway.yaml' }))).toBe(
      `nothing listens at http://127.0.0.1:${port}, where admin in gateway.yaml has it: is the gateway running? ` +
        '--config FILE or --admin URL asks another one; the log of the gateway has the port, in the line "admin listening"',
    )
  })

  test.each([false, true])('at a port that the system chose, and no other port is tried (TLS: %s)', async (tls) => {
    const connections = countConnections()

    expect(await failureOf(adminTarget(0, { tls, file: 'gateway.yaml', token: known }))).toBe(
      'admin.port in gateway.yaml is 0, so the system chose one: give --admin URL; the log of the gateway has the port, in the line "admin listening"',
    )
    expect(connections()).toBe(0)
  })

  test('because the file could not be read: the error names the reason', async () => {
    const reason = 'gateway.yaml cannot be read: no such file'

    expect(await failureOf(adminTarget(await freePort(), { file: 'gateway.yaml', fallbackReason: reason }))).toMatch(
      /^nothing listens at \S+ \(gateway\.yaml cannot be read: no such file\): is the gateway running\?/,
    )
  })
})

describe('a rejection names what to do', () => {
  const detail = { title: 'T', detail: 'because \u001b[31mred' }

  const of = 'LENDER_GATEWAY_ADMIN_TOKEN'
  const older = { token: { value: token, from: 'admin.token in a.yaml' } }
  const why = 'auditor has the scope read: this takes the scope operate'
  const tooNarrow = { code: 'insufficient-scope', detail: why }
  const byCertificate =
    'asks for a client certificate, and this command has none: ask with curl --cert and --key, or give the operator ' +
    'a token in admin.tokens'

  test.each<[number, object, Partial<AdminTarget>, string]>([
    [401, detail, {}, `wants a token: set ${of}`],
    [401, detail, { file: 'a.yaml' }, `wants a token: set ${of}, or admin.token in a.yaml`],
    [
      401,
      detail,
      { token: known },
      `rejects the token of ${of}: the token is unknown or was removed; its log says why, in the line "operator token rejected"`,
    ],
    [401, detail, older, `rejects the token of admin.token in a.yaml: it may run with an older one; set ${of}`],
    [401, { code: 'certificate-required' }, {}, byCertificate],
    [401, { code: 'certificate-required' }, { token: known }, byCertificate],
    [403, detail, {}, 'rejects /status (403): because \\x1b[31mred'],
    [403, tooNarrow, { token: known }, `knows the token of ${of}, whose scope does not allow /status: ${why}`],
    [404, detail, {}, 'has no /status (404): is that the admin listener, and not the public one?'],
    [421, detail, {}, 'does not serve that name (421): because \\x1b[31mred'],
    [500, detail, {}, 'fails at /status (500): because \\x1b[31mred'],
    [503, { code: 'identity-unavailable', detail: 'no keys' }, {}, 'fails at /status (503): no keys'],
  ])('%i %o %o', async (status, body, target, message) => {
    const admin = await scriptedAdmin(jsonResponse(body, status))

    expect(await failureOf(adminTarget(admin.port, target))).toContain(`${admin.url} ${message}`)
  })

  test.each([
    ['status', {}],
    ['status', { code: 'identity-unavailable' }],
    ['reload', { code: 'identity-unavailable' }],
    ['rollback', { code: 'identity-unavailable' }],
  ])('%s prints it, and exits with 2: %o', async (command, body) => {
    const admin = await scriptedAdmin(jsonResponse({ ...body, detail: 'no gateway is up' }, 503))

    const err = `lender-gateway: ${admin.url} fails at /${command} (503): no gateway is up\n`
    expect(await runCommand([command, '--admin', admin.url])).toEqual({ code: 2, out: '', err })
  })
})

const { made, missing } = await needCertificates()

describe.skipIf(missing)('over TLS', () => {
  const { authority, expired, right, selfSigned, wrongName } = made
  const over = { tls: true, file: 'gateway.yaml', token: known } as const

  test.each([
    ['signed by nobody else', selfSigned],
    ['signed by an authority that is not there', right],
    ['of another name', wrongName],
  ])('the certificate in the file is enough: %s', async (_, pair) => {
    const admin = await scriptedAdmin(jsonResponse({ a: 1 }), pair)

    const { body } = await callAdmin(adminTarget(admin.port, { ...over, certificate: pair.cert }), getStatus)

    expect(body).toEqual({ a: 1 })
  })

  const another = 'shows another certificate than admin.tls.certificate in gateway.yaml'

  test.each([
    ['another one, that nobody vouches for', right, selfSigned.cert, another],
    ['another one, by the same authority', right, wrongName.cert, another],
    ['another one, by the authority that is in the file', right, wrongName.cert + authority.cert, another],
    ['an expired one', expired, expired.cert, '(CERT_HAS_EXPIRED), where admin in gateway.yaml has it: renew it'],
  ])('nothing is sent to a listener that shows %s', async (_, pair, certificate, message) => {
    switchVerificationOff()
    const admin = await scriptedAdmin(jsonResponse({}), pair)

    expect(await failureOf(adminTarget(admin.port, { ...over, certificate }))).toContain(message)
    expect(admin.received).toEqual([])
  })

  test('without a file the system decides, and nothing is sent', async () => {
    switchVerificationOff()
    const admin = await scriptedAdmin(jsonResponse({}), selfSigned)

    expect(await failureOf(adminTarget(admin.port, { ...over, file: null }))).toMatch(
      /shows a certificate that is not trusted \([A-Z_]+\): NODE_EXTRA_CA_CERTS names a file of further authorities$/,
    )
    expect(admin.received).toEqual([])
  })

  test('a trusted one for another name is reported as that, and nothing is sent', async () => {
    const admin = await scriptedAdmin(jsonResponse({}), wrongName)
    const trusted = { NODE_EXTRA_CA_CERTS: configFileWith(authority.cert) }

    // Node reads the variable when a process starts.
    const { code, err } = await runCommand(['status', '--admin', admin.url], trusted, { node: [] })

    expect({ code, err }).toEqual({
      code: 2,
      err: expect.stringMatching(/ shows a certificate for another name than 127/),
    })
    expect(err).toContain('127.0.0.1: --admin https://NAME:PORT asks by a name that the certificate has\n')
    expect(admin.received).toEqual([])
  })

  test.each([
    ['expired', expired],
    ['of another name', wrongName],
  ])('a readiness probe accepts any certificate, and sends no token: %s', async (_what, pair) => {
    const admin = await scriptedAdmin(jsonResponse({ ready: true }), pair)

    const target = adminTarget(admin.port, { ...over, certificate: right.cert })
    await callAdmin(target, { ...getStatus, unauthenticated: true })

    expect(admin.received).toHaveLength(1)
    expect(admin.received[0]?.headers).not.toHaveProperty('authorization')
  })

  test('a file without a certificate in it is reported', async () => {
    expect(await failureOf(adminTarget(1, { ...over, certificate: 'x' }))).toContain('is no certificate; see: check')
  })

  test('http where https is spoken, and the other way round', async () => {
    const [plain, secure] = [await scriptedAdmin(jsonResponse({})), await scriptedAdmin(jsonResponse({}), right)]

    expect(await failureOf(adminTarget(secure.port))).toContain('does it want https?')
    const failure = await failureOf(adminTarget(plain.port, { ...over, certificate: right.cert }))
    expect(failure).toContain('does not speak TLS')
  })
})
