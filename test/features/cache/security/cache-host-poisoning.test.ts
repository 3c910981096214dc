import { request } from 'node:http'
import { buffer } from 'node:stream/consumers'
import { expect, test } from 'vitest'
import { bootGateway } from '../../../helpers/gateway.ts'
import { receivedValues } from '../../../helpers/round-trip.ts'
import { httpUpstream } from '../../../helpers/upstream.ts'

/** Asks with a Host of one's own choice. */
const ask = (port: number, host: string, more: Readonly<Record<string, string>> = {}): Promise<string> =>
  new Promise((resolve, reject) => {
    request({ port, path: '/market/insights', headers: { host, ...more } }, (response) =>
      resolve(buffer(response).then(String)),
    )
      .on('error', reject)
      .end()
  })

test.each(['endpoint', 'client'])(
  'a response that repeats the Host (host: %s) is for clients that sent it',
  async (host) => {
    let asked = 0
    const upstream = await httpUpstream((arrived, response) => {
      asked++
      const [site] = receivedValues(arrived, host === 'client' ? 'host' : 'x-forwarded-host')
      response.setHeader('Cache-Control', 'public, max-age=60')
      response.end(`see https://${site}/login`)
    })
    const { port } = await bootGateway({
      upstream: { endpoints: [upstream.url], host },
      operations: { 'market.insights': { cache: true } },
    })

    expect(await ask(port, 'evil.example')).toContain('evil.example')
    expect(await ask(port, 'gateway.example')).toBe('see https://gateway.example/login')
    expect(await ask(port, 'gateway.example')).toBe('see https://gateway.example/login')
    expect(asked).toBe(2)
  },
)

test('one that repeats the scheme is for clients that used that scheme', async () => {
  const upstream = await httpUpstream((arrived, response) => {
    const [scheme] = receivedValues(arrived, 'x-forwarded-proto')
    response.setHeader('Cache-Control', 'public, max-age=60')
    if (scheme === 'http') response.writeHead(301, { location: 'https://gateway.example/market/insights' })
    response.end(scheme)
  })
  const { port } = await bootGateway({
    upstream: upstream.url,
    listen: { trustedProxies: ['127.0.0.1'] },
    operations: { 'market.insights': { cache: true } },
  })
  const by = (scheme: string) => ask(port, 'gateway.example', { 'x-forwarded-proto': scheme })

  expect(await by('http')).toBe('http')
  expect(await by('https')).toBe('https')
})
