import { once } from 'node:events'
import { connect, createServer, type Socket } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import type { Http1Response } from '../../src/core/downstream/http1/http1-response.ts'
import { openDownstreamServer } from '../../src/core/downstream/listener/downstream-server.ts'
import { dialThrough } from '../helpers/dial-through.ts'
import { type LogLine, logInMemory, testConfig } from '../helpers/gateway.ts'
import { serveHttp1 } from '../helpers/http1-server.ts'
import { listen } from '../helpers/listen.ts'
import { rawClient } from '../helpers/raw-client.ts'
import { bareGet, call, eventually } from '../helpers/wire.ts'

const get = bareGet()
const ok = 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok'

/** Connects a client that may end its side and read on. */
const dialHalfOpen = (port: number): Socket => {
  const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true }).resume()
  onTestFinished(() => void socket.destroy())
  return socket
}

const exchangesIn = (lines: readonly LogLine[]) => lines.filter(({ msg }) => msg === 'exchange')

const respond = (response: Http1Response, bytes: number): void => {
  response.writeFields(200, '', ['Content-Length', String(bytes)])
  response.end(Buffer.alloc(bytes))
}

test.each([
  ['cut short', 'GET /mar'],
  ['malformed', 'BAD / HTTP/1.1\r\n\r\n'],
])('what is %s behind a request under way is on record, though its client has ended its side', async (_, second) => {
  const asked = Promise.withResolvers<Socket>()
  const { port, lines } = await dialThrough(asked.resolve)
  const socket = dialHalfOpen(port)

  socket.end(get + second)
  const upstreamSide = await asked.promise
  upstreamSide.write(ok)
  await once(socket, 'end')

  await eventually(() => exchangesIn(lines).length === 2)
  expect(new Set(exchangesIn(lines).map(({ status }) => status))).toEqual(new Set([200, 400]))
})

test('a client that sends requests and takes no response is not read, until it takes one', async () => {
  const sockets: Socket[] = []
  let finishFirst = (): void => {}
  const port = await serveHttp1((request, response) => {
    sockets.push(request.socket)
    if (sockets.length > 1) respond(response, 40_000)
    else finishFirst = () => respond(response, 40_000)
  })
  const client = await rawClient(port)
  const count = 10

  for (let i = 1; i <= 3; i++) {
    client.send(get)
    await eventually(() => sockets.length === i)
  }
  client.send(get)
  await eventually(() => sockets[0]?.isPaused() === true)
  client.send(get.repeat(count - 4))
  finishFirst()
  await client.until((text) => text.split('HTTP/1.1 200 ').length === count + 1 && text.length > count * 40_000)
  client.close()

  expect(sockets).toHaveLength(count)
})

test('a body that has begun is read even so, and its client is not timed out', async () => {
  let finishFirst = (): void => {}
  let socket: Socket | undefined
  let received = ''
  const port = await serveHttp1((request, response) => {
    if (request.method === 'POST') {
      request.consume((chunk) => {
        received += chunk ?? '.'
      })
      return
    }
    if (socket !== undefined) return respond(response, 40_000)
    socket = request.socket
    finishFirst = () => respond(response, 40_000)
  })
  const client = await rawClient(port)

  client.send(`${get.repeat(3)}POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 6\r\n\r\nfir`)
  await eventually(() => received === 'fir')
  client.send(`st.${get}`)
  await eventually(() => received === 'first..' && socket?.isPaused() === true)
  finishFirst()
  await eventually(() => socket?.isPaused() === false)
  client.close()

  expect(received).toBe('first..')
})

test('the body of an error that follows a HEAD arrives', async () => {
  const { client } = await dialThrough(() => {})

  client.send('HEAD /none HTTP/1.1\r\nHost: a\r\n\r\n')
  await client.until((text) => text.includes('\r\n\r\n'))
  client.send('\rX')

  expect((await client.ended()).received).toContain('"code":"bad-request"')
})

test('nothing is forwarded behind a response that announces that it is the last', async () => {
  const begun: string[] = []
  let finish = (): void => {}
  const { client, port } = await dialThrough((socket, head) => {
    begun.push(head.slice(0, 4))
    socket.write('HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n')
    finish = () => void socket.write('0\r\n\r\n')
  })

  client.send('GET /market/insights HTTP/1.0\r\nHost: a\r\nConnection: keep-alive\r\n\r\n')
  await client.until((text) => text.includes('Connection: close') && text.includes('hello'))
  client.send('POST /valuation/score HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\nhi')
  await call(port, { target: '/none' }) // by then the gateway has read it
  finish()
  await client.ended()

  expect(begun).toEqual(['GET '])
})

test('a client that ends its side after two requests, and leaves, cancels the second', async () => {
  let asked = 0
  const { port, line } = await dialThrough((socket) => {
    if (++asked === 1) socket.write(ok)
  })
  const socket = dialHalfOpen(port)

  socket.end(get + get)
  await once(socket, 'data')
  await eventually(() => asked === 2)
  socket.destroy()

  expect(await line(({ status }) => status === 499)).toMatchObject({ failure: 'client-gone' })
})

test('a malformed body gets no second response after the response to its request', async () => {
  const { client, lines } = await dialThrough(() => {})

  client.send('POST /none HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\nabc')
  await client.until((text) => text.includes('"code":"not-found"'))
  client.socket.end()
  const { received } = await client.ended()

  expect(received.match(/HTTP\/1\.1 \d+/g)).toEqual(['HTTP/1.1 404'])
  expect(exchangesIn(lines)).toHaveLength(1)
})

test('a response that ends while the gateway closes ends its connection, whatever its head announced', async () => {
  let finish = (): void => {}
  const sendResponse = (socket: Socket): void => {
    socket.write('HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhello')
    finish = () => void socket.write('world')
  }
  const { client, gateway } = await dialThrough(sendResponse, { shutdown: { wait: '0ms', deadline: '10m' } })

  client.send(get)
  await client.until((text) => text.includes('hello'))
  const closed = gateway.close()
  finish()
  const { received } = await client.ended()
  await closed

  expect(received.endsWith('helloworld')).toBe(true)
})

test('a connection that is handed over when the listener has closed is closed', async () => {
  const snapshot = { config: testConfig(), observers: [], telemetry: { rejectedConnections: {} } }
  const server = await openDownstreamServer({ value: snapshot } as never, logInMemory().log, {
    bindTarget: 'elsewhere',
  })
  await server.close(0)
  const acceptor = createServer((socket) => server.adoptConnection(socket))
  const client = await rawClient(await listen(acceptor))

  client.send(get)

  expect((await client.ended()).received).toBe('')
})

test('a response that breaks off behind another leaves that one whole, and ends the connection in its place', async () => {
  const first = Promise.withResolvers<Socket>()
  const { client, line, lines } = await dialThrough((socket, head) => {
    if (head.startsWith('GET ')) socket.end('HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\npart')
    else first.resolve(socket)
  })

  client.send(`POST /valuation/score HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n${get}`)
  await line(({ operation }) => operation === 'market.insights')
  const upstreamSide = await first.promise
  upstreamSide.write(ok)
  const { received, how } = await client.ended()

  expect([received.split('HTTP/1.1 ').length, received.endsWith('\r\n\r\nok'), how]).toEqual([2, true, 'end'])
  expect(exchangesIn(lines)).toMatchObject([
    { operation: 'market.insights', failure: 'truncated' },
    { operation: 'valuation.score', status: 200 },
  ])
})

test('no response follows one that only the end of the connection delimits', async () => {
  const responses: Http1Response[] = []
  const client = dialHalfOpen(await serveHttp1((_, response) => void responses.push(response)))

  client.write('GET / HTTP/1.0\r\nHost: a\r\nConnection: keep-alive\r\n\r\n'.repeat(2))
  await eventually(() => responses.length === 2)
  responses[0]?.writeFields(200, '', [])
  responses[0]?.end('ok')
  await once(client, 'end')

  expect(responses[1]?.destroyed).toBe(true)
})

test('a client gets 100 Continue in its turn, and its timeout begins then', async () => {
  const events: string[] = []
  let finishFirst = (): void => {}
  const port = await serveHttp1((request, response) => {
    if (request.method === 'GET') {
      finishFirst = () => respond(response, 0)
      return
    }
    response.writeContinue(() => events.push('told'))
    events.push('asked')
    finishFirst()
  })
  const client = await rawClient(port)

  client.send(`${get}POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\n`)
  await client.until((text) => text.endsWith('HTTP/1.1 100 Continue\r\n\r\n'))
  client.close()

  await eventually(() => events.length === 2)
  expect(events).toEqual(['asked', 'told'])
})
