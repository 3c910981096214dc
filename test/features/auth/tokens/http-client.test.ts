import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, expect, test } from 'vitest'
import { createHttpClient, type HttpClient } from '../../../../src/features/auth/tokens/http-client.ts'
import { makeCertificates } from '../../../helpers/certificates.ts'
import { runWithFailingLoad } from '../../../helpers/failing-load.ts'
import { httpsUpstream } from '../../../helpers/https-upstream.ts'
import { needProgram } from '../../../helpers/program.ts'
import { switchVerificationOff } from '../../../helpers/unverified-tls.ts'

const openssl = await needProgram('openssl')

const closing: (() => void)[] = []

afterEach(() => {
  for (const close of closing.splice(0).reverse()) close()
})

/** Starts a server that counts its requests. */
const startServer = async (listener: RequestListener) => {
  let requests = 0
  const http = createServer((request, response) => {
    requests++
    listener(request, response)
  })
  await new Promise<void>((resolve) => http.listen(0, '127.0.0.1', resolve))
  closing.push(() => {
    http.closeAllConnections()
    http.close()
  })
  return { port: (http.address() as AddressInfo).port, requests: () => requests }
}

/** Starts a server, and creates its client as the gateway does. */
const openClient = async (
  listener: RequestListener,
  timeoutMs = 60_000,
): Promise<HttpClient & { requests(): number }> => {
  const { port, requests } = await startServer(listener)
  const client = createHttpClient(new URL(`http://127.0.0.1:${port}/keys?of=us`), {
    timeoutMs,
    maxBytes: 1000,
    connections: 2,
  })
  closing.push(() => client.close())
  return { ...client, requests }
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
  expect(client.requests()).toBe(1)
})

test('a response without end is cut off', async () => {
  const client = await openClient((_, response) => {
    const more = (): void => {
      while (response.write('x'.repeat(100)));
      response.once('drain', more)
    }
    more()
  })

  await expect(client.request(get)).rejects.toThrow('the answer is larger than')
})

test('a response that never comes, or never ends, times out', async () => {
  const silent = await openClient(() => {}, 20)
  const endless = await openClient((_, response) => void response.write('{'), 20)

  await expect(silent.request(get)).rejects.toThrow('no answer within 20ms')
  await expect(endless.request(get)).rejects.toThrow('no answer within 20ms')
})

test('a connection that was closed meanwhile is no failure', async () => {
  const client = await openClient((request, response) => {
    response.end('ok', () => request.socket.destroy())
  })

  for (let i = 0; i < 5; i++) expect((await client.request(get)).text).toBe('ok')
})

test.skipIf(openssl.missing)(
  'a server whose certificate does not verify is sent nothing, whatever Node is told',
  async () => {
    switchVerificationOff()
    const upstream = await httpsUpstream(makeCertificates(openssl.path ?? '').right)
    const limits = { timeoutMs: 60_000, maxBytes: 1000, connections: 1 }
    const client = createHttpClient(new URL(`https://127.0.0.1:${upstream.port}/`), limits)
    closing.push(() => client.close())

    await expect(client.request(get)).rejects.toThrow('certificate')
    expect(upstream.requests()).toBe(0)
  },
)

test('a server that does not listen is an error', async () => {
  const client = await openClient(() => {})
  for (const close of closing.splice(0).reverse()) close()

  await expect(client.request(get)).rejects.toThrow()
})

test('a library that could not be read is read again for the next request', async () => {
  const { port } = await startServer((_, response) => response.end('keys'))
  const file = new URL('../../../../src/features/auth/tokens/http-client.ts', import.meta.url).href

  const outcomes = await runWithFailingLoad(
    'undici',
    1,
    `import { createHttpClient } from ${JSON.stringify(file)}
    const limits = { timeoutMs: 60_000, maxBytes: 1000, connections: 1 }
    const client = createHttpClient(new URL('http://127.0.0.1:${port}/'), limits)
    const get = { method: 'GET', headers: {} }
    const outcome = () => client.request(get).then(({ text }) => text, ({ message }) => message)
    console.log(JSON.stringify([await outcome(), await outcome()]))
    client.close()`,
  )

  expect(outcomes).toEqual(['EMFILE: too many open files', 'keys'])
})
