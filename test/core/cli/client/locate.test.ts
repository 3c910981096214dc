import { tmpdir } from 'node:os'
import { describe, expect, onTestFinished, test } from 'vitest'
import {
  adminHostHeader,
  locateGateway,
  locateProbeTarget,
  reachableHost,
  targetUrl,
} from '../../../../src/core/cli/client/admin-target.ts'
import { defaultConfigFile } from '../../../../src/core/cli/options.ts'
import { adminTarget, configFileWith, token } from '../scripted-admin.ts'

const other = 'ponmlkjihgfedcba-9876543210'

describe('the address', () => {
  test.each([
    ['127.0.0.1', '127.0.0.1'],
    ['0.0.0.0', '127.0.0.1'],
    ['::', 'localhost'],
    ['0:0:0:0:0:0:0:0', 'localhost'],
    ['::0', 'localhost'],
    ['::1', '::1'],
    ['10.0.0.1', '10.0.0.1'],
    ['ops.internal', 'ops.internal'],
  ])('of a listener on %s is %s', (bound, host) => {
    expect(reachableHost(bound)).toBe(host)
  })

  test('of IPv6 is written in brackets, and its zone is not sent', () => {
    const address = adminTarget(9901, { host: 'fe80::1%eth0' })

    expect([targetUrl(address), adminHostHeader(address)]).toEqual(['http://[fe80::1%eth0]:9901', '[fe80::1]:9901'])
  })

  test('is that of the file, in which nothing else need be sound', async () => {
    const config = configFileWith(`admin: { host: "::", port: 9000, token: ${token} }\nupstreams: nonsense\nbogus: [`)

    expect(await locateGateway({ config }, {})).toEqual({
      ...adminTarget(9000, { host: 'localhost', file: config }),
      token: { value: token, from: `admin.token in ${config}` },
    })
  })

  test('is built in when no file was named and there is none, and that is reported', async () => {
    const folder = process.cwd()
    onTestFinished(() => process.chdir(folder))
    process.chdir(tmpdir())

    const found = await locateGateway({ config: defaultConfigFile }, {})

    expect(found).toMatchObject({
      host: '127.0.0.1',
      port: 9901,
      fallbackReason: `${defaultConfigFile} cannot be read: no such file`,
    })
  })

  test.each([
    ['/nowhere/gateway.yaml', 'no such file'],
    [tmpdir(), 'it is a directory'],
  ])('is none when a named file cannot be read, as another gateway may listen there: %s', async (config, reason) => {
    const message = `--config ${config} cannot be read: ${reason}; --admin URL asks a gateway without one`

    await expect(locateGateway({ config }, {})).rejects.toThrow(message)
    await expect(locateProbeTarget({ config }, {})).rejects.toThrow(message)
  })

  test.each([
    ['http://10.0.0.1:9000', { tls: false, host: '10.0.0.1', port: 9000 }],
    ['http://0.0.0.0:9000/', { tls: false, host: '127.0.0.1', port: 9000 }],
    ['https://[fd00::1]:9000', { tls: true, host: 'fd00::1', port: 9000 }],
    ['https://ops.internal', { tls: true, host: 'ops.internal', port: 443 }],
    ['HTTP://OPS.internal', { tls: false, host: 'ops.internal', port: 80 }],
  ])('is --admin when that is given: %s', async (admin, address) => {
    expect(await locateGateway({ config: '/nowhere', admin }, {})).toMatchObject({
      ...address,
      token: null,
      fallbackReason: null,
    })
  })

  test.each([
    ...['ops.internal:9901', '127.0.0.1:9901', 'ftp://ops.internal', 'http://ops.internal/status', 'http://'],
    ...['http://ops.internal?a', 'http://ops.internal#a', 'http://ops.internal:0', 'http://me:hunter2@ops.internal'],
    ...[''],
  ])('is a URL of scheme, host and port, and any other text is not printed: %s', async (admin) => {
    await expect(locateGateway({ config: '/nowhere', admin }, {})).rejects.toThrow(
      /^--admin: a URL of scheme, host and port is expected, such as http:\/\/127.0.0.1:9901$/,
    )
  })
})

describe('the token', () => {
  const environment = { LENDER_GATEWAY_ADMIN_TOKEN: other }
  const file = (): string => configFileWith(`admin: { port: 9000, token: ${token} }`)

  const tokenOf = async (admin: string | undefined, from: Readonly<Record<string, string>>) =>
    (await locateGateway({ config: file(), admin }, from)).token?.value ?? null

  test.each([
    ['the environment’s goes before the file’s', undefined, environment, other],
    ['the file’s goes to the listener that the file names', undefined, {}, token],
    ['an empty variable is none', undefined, { LENDER_GATEWAY_ADMIN_TOKEN: '' }, token],
    ['also when the command line names it', 'http://127.0.0.1:9000', {}, token],
    ['not to another host', 'http://10.0.0.1:9000', {}, null],
    ['not to another port', 'http://127.0.0.1:9001', {}, null],
    ['not by another scheme', 'https://127.0.0.1:9000', {}, null],
    ['the environment’s goes wherever the command line says', 'http://10.0.0.1:9000', environment, other],
  ])('%s', async (_what, admin, from, expected) => {
    expect(await tokenOf(admin, from)).toBe(expected)
  })

  test('is not looked for by a readiness probe', async () => {
    expect((await locateProbeTarget({ config: file() }, environment)).token).toBeNull()
    expect((await locateProbeTarget({ config: file(), admin: 'http://10.0.0.1:9000' }, environment)).token).toBeNull()
  })

  test.each(['a b', `${token}\n`, 'a\r\nX: 1', 'é'])(
    'that is malformed is not sent, and not printed: %j',
    async (value) => {
      const error: Error = await locateGateway({ config: file() }, { LENDER_GATEWAY_ADMIN_TOKEN: value }).catch(
        (thrown) => thrown,
      )

      expect(error.message).toMatch(/^LENDER_GATEWAY_ADMIN_TOKEN holds no token: /)
      expect(error.message).not.toContain(value.trim())
    },
  )

  test('crosses no network when TLS in the file is broken', async () => {
    const config = configFileWith(
      `admin: { host: 10.0.0.1, token: ${token}, tls: { certificate: "file:none", key: "file:none" } }`,
    )

    await expect(locateGateway({ config }, {})).rejects.toThrow(
      /admin\.tls .*; no token is sent to http:\/\/10\.0\.0\.1:9901/,
    )
    expect(await locateProbeTarget({ config }, {})).toMatchObject({ host: '10.0.0.1', token: null })
  })
})
