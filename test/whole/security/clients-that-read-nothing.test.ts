import { hash } from 'node:crypto'
import { expect, onTestFinished, test } from 'vitest'
import { needCertificates } from '../../helpers/certificates.ts'
import { bootGateway } from '../../helpers/gateway.ts'
import { bootHttp2, dialHttp2, frame, frameClient, get, head, requestHttp2 } from '../../helpers/http2.ts'
import { tlsHandshake } from '../../helpers/tls-client.ts'
import { bootTlsGateway } from '../../helpers/tls-gateway.ts'
import { httpUpstream, onRequest, rawUpstream } from '../../helpers/upstream.ts'
import { dial, renderHead } from '../../helpers/wire.ts'

const { made, missing } = await needCertificates()

const mebibyte = 1024 * 1024
const clients = 40

// The attack: many ask over TLS for what is stored, and read none of it. In memory it stands but once; encrypted it
// would stand there for each of them.
test.skipIf(missing)('clients that do not read what is stored take no copies of it', async () => {
  const body = Buffer.alloc(8 * mebibyte, 'a')
  const upstream = await httpUpstream((_, response) => {
    response.writeHead(200, ['Cache-Control', 'max-age=60', 'Content-Length', String(body.length)])
    response.end(body)
  })
  const cache = { maxEntry: '16MiB' }
  const { port } = await bootTlsGateway(
    made.right,
    {},
    { upstream: upstream.url, operations: { 'market.insights': { cache } } },
  )
  const ask = async () => {
    const { socket } = await tlsHandshake(port)
    onTestFinished(() => void socket.destroy())
    socket.write(renderHead({}))
    return socket
  }
  const first = await ask()
  let bytes = 0
  for await (const chunk of first) bytes += (chunk as Buffer).length
  const before = process.memoryUsage().rss

  const begun = await Promise.all(Array.from({ length: clients }, ask))
  await Promise.all(begun.map((socket) => new Promise((resolve) => socket.once('readable', resolve))))

  expect(bytes).toBeGreaterThan(body.length)
  expect(upstream.begun()).toBe(1)
  expect(process.memoryUsage().rss - before).toBeLessThan(160 * mebibyte) // copies would be 320
})

const interim = (status: number, more = ''): string => `HTTP/1.1 ${status} Again\r\n${more}\r\n`

/** Opens a gateway that relays interim responses, before an upstream that responds with these and then with `last`. */
const relaying = async (interims: readonly string[], onWritten = () => {}) => {
  const upstream = await rawUpstream((socket) =>
    onRequest(socket, () => {
      for (const each of interims) socket.write(each)
      socket.write('HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nlast', onWritten)
    }),
  )
  return bootGateway({ upstream: upstream.url, listen: { interim: 'relay' }, defaults: { retry: 'none' } })
}

// The attack: interim responses without end, to a client that does not read. They are written as they come and put no
// back pressure on the upstream, so all of them waited in the gateway's memory: a gigabyte in five seconds.
test('a client that does not read is not kept interim responses without end', async () => {
  const written = Promise.withResolvers<void>()
  const each = interim(103, `Link: <${'x'.repeat(16_000)}>\r\n`)
  const { port } = await relaying(new Array(1024).fill(each), written.resolve)
  const client = await dial(port)

  client.pause()
  client.write(renderHead({}))
  await written.promise // the gateway has cut it
  let received = 0
  let end = ''
  for await (const chunk of client) {
    received += (chunk as Buffer).length
    end = (end + (chunk as Buffer).toString('latin1')).slice(-4000)
  }

  expect(received).toBeLessThan(2 * mebibyte) // a hundred of them, and the response
  expect(end).toMatch(/HTTP\/1\.1 502 .*"code": ?"bad-response"/s)
})

test.each([
  [101, 'bad-response'],
  [100, 'last'],
])('where the client takes interim responses, 103 sent %i times ends in: %s', async (times, expected) => {
  const { url } = await relaying(new Array(times).fill(interim(103)))

  expect(await (await fetch(`${url}/market/insights`)).text()).toContain(expected)
})

const secret = 'A'.repeat(43)
const noWindow = frame(4, 0, 0, Buffer.from([0, 4, 0, 0, 0, 0]))
const posting = [...get('/inventory/sync', 'POST'), 'content-type', 'application/json', 'content-length', '2']

// The error of each has nowhere to go for as long as `listen.timeouts.body` lasts.
test.skipIf(missing !== null)('strangers who take no byte of their 401 hold no place of the clients', async () => {
  const { url } = await httpUpstream()
  const { port } = await bootHttp2({
    auth: { methods: ['apiKey'] },
    clients: [{ id: 'bank-a', operations: 'all', apiKeys: [{ id: 'key', sha256: hash('sha256', secret) }] }],
    upstreams: { market: { endpoints: [url], concurrency: 2 }, inventory: { endpoints: [url], concurrency: 2 } },
  })
  const stranger = await frameClient(port)
  await stranger.send(noWindow, head(1), head(3), head(5, posting, false), head(7, posting, false))
  for (const id of [1, 3, 5, 7]) await stranger.frame(({ type, stream }) => type === 1 && stream === id)
  const client = dialHttp2(port)
  const ask = (path: string, method: string) =>
    requestHttp2(client, { ':path': path, ':method': method, 'x-api-key': `key.${secret}` })

  const statuses = [(await ask('/market/insights', 'GET')).status, (await ask('/inventory/sync', 'POST')).status]

  expect(statuses).toEqual([200, 200])
  expect(stranger.frames.some(({ type, flags }) => type === 0 && flags === 1)).toBe(false)
  stranger.socket.destroy()
})
