import { expect, test } from 'vitest'
import type { ListenTlsConfig } from '../../../src/core/config/config.ts'
import { describeServers } from '../../../src/features/openapi/openapi-document.ts'
import { testConfig } from '../../helpers/gateway.ts'
import { documentOf } from './document.ts'

/** Describes the servers of a listener. */
const serversOf = (listen: object, tls: ListenTlsConfig | null = null) =>
  describeServers({ ...testConfig({ listen: { ...listen } }).listen, tls })

const tls: ListenTlsConfig = {
  certificates: [],
  minVersion: 'TLSv1.2',
  clientCertificates: 'none',
  clientCa: null,
  clientCrl: [],
}
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
  [
    'ends with the base path, which belongs to paths',
    'https://a.example/b/lender',
    '/lender',
    'https://a.example/b',
    '/lender',
  ],
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
