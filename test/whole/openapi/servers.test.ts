import { expect, test } from 'vitest'
import { describeServers } from '../../../src/features/openapi/openapi-document.ts'
import { testConfig } from '../../helpers/gateway.ts'

test.each([
  ['', { from: ['10.0.0.1'] }],
  ['https:', { from: ['10.0.0.1'], scheme: 'https' }],
])('behind a proxy that says who its client is, each host is a server, by %j', (scheme, proxyProtocol) => {
  const { listen } = testConfig({ listen: { hosts: ['gateway.example', '[::1]:8080'], proxyProtocol } })

  expect(describeServers(listen)).toEqual({
    servers: [{ url: `${scheme}//gateway.example` }, { url: `${scheme}//[::1]:8080` }],
    pathPrefix: '',
  })
})
