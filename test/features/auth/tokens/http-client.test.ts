import { once } from 'node:events'
import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { createHttpClient, type HttpClient } from '../../../../src/features/auth/tokens/http-client.ts'
import { needCertificates } from '../../../helpers/certificates.ts'
import { runWithFailingLoad } from '../../../helpers/failing-load.ts'
import { httpsUpstream } from '../../../helpers/https-upstream.ts'
import { switchVerificationOff } from '../../../helpers/unverified-tls.ts'

const { made, missing } = await needCertificates()

const limits = { timeoutMs: 60_000, maxBytes: 1000, connections: 1 }

/** Creates a client as the gateway does. */
const clientOf = (url: string, timeoutMs = limits.timeoutMs): HttpClient => {
  const client = createHttpClient(new URL(url), { ...limits, timeoutMs })
  onTestFinished(() => client.close())
  return client
}

/** Starts a server, and creates its client. */
const openClient = async (listener: RequestListener, timeoutMs?: number) => {
  const server = createServer(listener).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const close = (): void => {
    server.closeAllConnections()
    server.close()
  }
  onTestFinished(close)
  const { port } = server.address() as AddressInfo
  return { ...clientOf(`http://127.0.0.1:${port}/keys?of=us`, timeoutMs), port, closeServer: close }
}

const get = { method: 'GET', headers: { accept: 'application/json' } } as const

test('it sends the request as it is given, to the URL', async () => {
  const client = await openClient(async (request, response) => {
    let body = ''
    for await (const chunk of request) body += chunk
    response.end(`${request.method} ${request.url} ${request.headers.accept} ${body}`)
  })

  expect(await client.request(get)).toEqual({ status: 200, text: 'GET /keys?of=us application/json ' })
  expect((await client.request({ ...get, method: 'POST', body: 'a=b' })).text).toMatch(/ a=b$/)
})

test('it asks for no content coding, because it decodes none', async () => {
  const client = await openClient(({ headers }, response) => response.end(String(headers['accept-encoding'])))

  expect((await client.request(get)).text).toBe('identity')
})

test('a redirect is not followed', async () => {
  const client = await openClient((_, response) => response.writeHead(302, { location: '/elsewhere' }).end())

  expect((await client.request(get)).status).toBe(302)
})

test('a response without end is cut off', async () => {
  const client = await openClient((_, response) => {
    const more = (): void => {
      while (response.write('x'.repeat(100)));
      response.once('drain', more)
    }
    more()
  })

  await expect(client.request(get)).rejects.toThrow('the response is larger than')
})

test('a response that never comes, or never ends, times out', async () => {
  const silent = await openClient(() => {}, 20)
  const endless = await openClient((_, response) => void response.write('{'), 20)

  await expect(silent.request(get)).rejects.toThrow('no response within 20ms')
  await expect(endless.request(get)).rejects.toThrow('no response within 20ms')
})

test('a connection that was closed meanwhile is no failure', async () => {
  const client = await openClient((request, response) => {
    response.end('ok', () => request.socket.destroy())
  })

  for (let i = 0; i < 5; i++) expect((await client.request(get)).text).toBe('ok')
})

test.skipIf(missing)('a server whose certificate does not verify is sent nothing, whatever Node is told', async () => {
  switchVerificationOff()
  const upstream = await httpsUpstream(made.right)

  await expect(clientOf(`https://127.0.0.1:${upstream.port}/`).request(get)).rejects.toThrow('certificate')
  expect(upstream.requests()).toBe(0)
})

test('a library that could not be read is read again for the next request', async () => {
  const { port } = await openClient((_, response) => response.end('keys'))
  const file = new URL('../../../../src/features/auth/tokens/http-client.ts', import.meta.url).href

  const outcomes = await runWithFailingLoad(
    'undici',
    1,
    `import { createHttpClient } from ${JSON.stringify(file)}
    const client = createHttpClient(new URL('http://127.0.0.1:${port}/'), ${JSON.stringify(limits)})
    const get = { method: 'GET', headers: {} }
    const outcome = () => client.request(get).then(({ text }) => text, ({ message }) => message)
    console.log(JSON.stringify([await outcome(), await outcome()]))
    client.close()`,
  )

  expect(outcomes).toEqual(['EMFILE: too many open files', 'keys'])
})
