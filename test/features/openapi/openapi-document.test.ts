import { join } from 'node:path'
import { expect, test } from 'vitest'
import { parse } from 'yaml'
import type { ListenTlsConfig } from '../../../src/core/config/config.ts'
import { describeServers } from '../../../src/features/openapi/openapi-document.ts'
import { runCommand } from '../../core/cli/scripted-admin.ts'
import { folderWith, sandbox } from '../../core/config/helper.ts'
import { testConfig } from '../../helpers/gateway.ts'
import { bootLiveGateway, fetchAdmin } from '../../helpers/live-gateway.ts'
import { documentOf, problemsOf } from './document.ts'

/** Describes the servers of a listener. */
const serversOf = (listen: object, tls: ListenTlsConfig | null = null) =>
  describeServers({ ...testConfig({ listen: { ...listen } }).listen, tls })

const certificates = { certificates: [], clientCertificates: 'none', clientCa: null, clientCrl: [] } as const
const tls: ListenTlsConfig = { ...certificates, minVersion: 'TLSv1.2' }
const hosts = ['gateway.example', '[::1]:8080']

test('without a name, the gateway is where the document came from', () => {
  expect(serversOf({ basePath: '/lender' })).toEqual({ servers: [{ url: '/' }], pathPrefix: '/lender' })
})

test.each([
  ['http:', {}, null],
  ['https:', {}, tls],
  ['', { trustedProxies: ['10.0.0.0/8'] }, null],
])('each host is a server, by %j', (scheme, listen, given) => {
  expect(serversOf({ hosts, ...listen }, given)).toEqual({
    servers: [{ url: `${scheme}//gateway.example` }, { url: `${scheme}//[::1]:8080` }],
    pathPrefix: '',
  })
})

test.each([
  ['is the server', 'https://gateway.example', '', 'https://gateway.example', ''],
  ['ends with the base path of paths', 'https://a.example/b/lender', '/lender', 'https://a.example/b', '/lender'],
  ['hides the base path behind a proxy', 'https://a.example/b', '/lender', 'https://a.example/b', ''],
  ['has a host that ends like the base path', 'https://lender', '/lender', 'https://lender', ''],
])('a public URL %s', (_, publicUrl, basePath, url, pathPrefix) => {
  expect(serversOf({ publicUrl, basePath, hosts })).toEqual({ servers: [{ url }], pathPrefix })
})

test('behind a proxy that rewrites paths, the paths are those that clients write', () => {
  const document = documentOf({ listen: { publicUrl: 'https://a.example/b', basePath: '/lender' } })

  expect(Object.keys(Object(document.paths))).toContain('/market/insights')
  expect(document.servers).toEqual([{ url: 'https://a.example/b' }])
})

test('GET /openapi.json responds with the document of what runs, to those who hold the token', async () => {
  const admin = { token: 'a-token-of-an-operator' }
  const bearer = { headers: { Authorization: `Bearer ${admin.token}` } }
  const live = await bootLiveGateway({ admin })

  const rejected = await fetchAdmin(`${live.admin}/openapi.json`)
  const { status, headers, body } = await fetchAdmin(`${live.admin}/openapi.json`, 'GET', bearer)
  live.edit({ admin, listen: { basePath: '/lender' } })
  await live.gateway.reload('request')
  const edited = await fetchAdmin(`${live.admin}/openapi.json`, 'GET', bearer)

  expect([rejected.status, status]).toEqual([401, 200])
  expect(headers.get('content-type')).toBe('application/json; charset=utf-8')
  expect(body).toEqual(documentOf())
  expect(await problemsOf(body)).toEqual([])
  expect(Object.keys(edited.body.paths ?? {})).toContain('/lender/market/insights')
})

const run = (...args: readonly string[]) => runCommand(['openapi', ...args])

test('openapi without a file takes config/gateway.yaml, and prints YAML', async () => {
  const { code, out, err } = await run()

  expect({ code, err }).toEqual({ code: 0, err: '' })
  expect(Object.keys(parse(out).paths)).toHaveLength(9)
})

test('openapi of a broken file exits with 1, with the problems where no document is expected; of none with 2', async () => {
  const file = join(folderWith({ 'broken.yaml': `lisen: {}\n${sandbox}` }), 'broken.yaml')

  const { code, out, err } = await run('--config', file)

  expect({ code, out }).toEqual({ code: 1, out: '' })
  expect(err).toContain(`${file}:1:1 lisen: unknown key; did you mean "listen"?`)
  expect(await run('--config', 'missing.yaml')).toMatchObject({ code: 2, out: '' })
})
