import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, expect, test } from 'vitest'
import { createHttpClient, type HttpClient } from '../../src/shared/http-client.ts'
import { makeCertificates } from '../helpers/certificates.ts'
import { httpsUpstream } from '../helpers/https-upstream.ts'
import { needProgram } from '../helpers/program.ts'

const openssl = await needProgram('openssl')

const closing: (() => void)[] = []

afterEach(() => {
  for (const close of closing.splice(0)) close()
})

/** Starts a server, and opens it as the gateway does. */
const serving = async (listener: RequestListener, timeoutMs = 60_000): Promise<HttpClient & { requests(): number }> => {
  let requests = 0
  const http = createServer((request, response) => {
    requests++
    listener(request, response)
  })
  await new Promise<void>((resolve) => http.listen(0, '127.0.0.1', resolve))
  const { port } = http.address() as AddressInfo
  const server = createHttpClient(new URL(`http://127.0.0.1:${port}/keys?of=us`), {
    timeoutMs,
    maxBytes: 1000,
    connections: 2,
  })
  closing.push(() => {
    server.close()
    http.closeAllConnections()
    http.close()
  })
  return { ...server, requests: () => requests }
}

const get = { method: 'GET', headers: { accept: 'application/json' } } as const

test('it asks what it is told to, where it is told to', async () => {
  const server = await serving(async (request, response) => {
    let body = ''
    for await (const chunk of request) body += chunk
    response.end(`${request.method} ${request.url} ${request.headers.accept} ${body}`)
  })

  expect(await server.request(get)).toEqual({ status: 200, text: 'GET /keys?of=us application/json ' })
  expect((await server.request({ ...get, method: 'POST', body: 'a=b' })).text).toMatch(/ a=b$/)
})

test('it asks for no coding, because it undoes none', async () => {
  const server = await serving(({ headers }, response) => response.end(String(headers['accept-encoding'])))

  expect((await server.request(get)).text).toBe('identity')
})

test('a redirect is not followed', async () => {
  const server = await serving((_, response) => response.writeHead(302, { location: '/elsewhere' }).end())

  expect((await server.request(get)).status).toBe(302)
  expect(server.requests()).toBe(1)
})

test('an answer without end is cut', async () => {
  const server = await serving((_, response) => {
    const more = (): void => {
      while (response.write('x'.repeat(100)));
      response.once('drain', more)
    }
    more()
  })

  await expect(server.request(get)).rejects.toThrow('the answer is larger than')
})

test('one that never comes, or never ends, is not waited for', async () => {
  const silent = await serving(() => {}, 20)
  const endless = await serving((_, response) => void response.write('{'), 20)

  await expect(silent.request(get)).rejects.toThrow('no answer within 20ms')
  await expect(endless.request(get)).rejects.toThrow('no answer within 20ms')
})

test('a connection that was closed meanwhile is no failure', async () => {
  const server = await serving((request, response) => {
    response.end('ok', () => request.socket.destroy())
  })

  for (let i = 0; i < 5; i++) expect((await server.request(get)).text).toBe('ok')
})

test.skipIf(openssl.missing)('one whose certificate does not verify is told nothing', async () => {
  const upstream = await httpsUpstream(makeCertificates(openssl.path ?? '').right)
  const bounds = { timeoutMs: 60_000, maxBytes: 1000, connections: 1 }
  const server = createHttpClient(new URL(`https://127.0.0.1:${upstream.port}/`), bounds)
  closing.push(() => server.close())

  await expect(server.request(get)).rejects.toThrow('certificate')
  expect(upstream.requests()).toBe(0)
})

test('one that nobody listens for says so', async () => {
  const server = await serving(() => {})
  for (const close of closing.splice(0)) close()

  await expect(server.request(get)).rejects.toThrow()
})
