import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import type { Http1Response } from '../../src/core/downstream/http1/http1-response.ts'
import { openDownstreamServer } from '../../src/core/downstream/listener/downstream-server.ts'
import { bootGateway, logInMemory, testConfig } from '../helpers/gateway.ts'
import { serveHttp1 } from '../helpers/http1-server.ts'
import { rawClient } from '../helpers/raw-client.ts'
import { httpUpstream, onRequest, rawUpstream } from '../helpers/upstream.ts'
import { call, eventually } from '../helpers/wire.ts'

const get = 'GET /market/insights HTTP/1.1\r\nHost: a\r\n\r\n'

test.each([
  ['cut short', 'GET /mar'],
  ['malformed', 'BAD / HTTP/1.1\r\n\r\n'],
])('what is %s behind a request under way is on record, though its client has ended its side', async (_, second) => {
  const { promise: released, resolve: release } = Promise.withResolvers<void>()
  const upstream = await httpUpstream(async (_request, response) => {
    await released
    response.end('ok')
  })
  const { port, lines } = await bootGateway({ upstream: upstream.url })
  const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true }).resume()

  socket.end(get + second)
  await eventually(() => upstream.begun() === 1)
  release()
  await once(socket, 'end')
  socket.destroy()

  await eventually(() => lines.filter(({ msg }) => msg === 'exchange').length === 2)
  expect(
    lines
      .filter(({ msg }) => msg === 'exchange')
      .map(({ status }) => status)
      .sort(),
  ).toEqual([200, 400])
})

test('a client that sends requests and takes no response is not read from, until it does', async () => {
  const sockets: Socket[] = []
  let finishFirst = () => {}
  const port = await serveHttp1((request, response) => {
    sockets.push(request.socket)
    response.writeFields(200, '', ['Content-Length', '40000'])
    if (sockets.length > 1) response.end(Buffer.alloc(40_000))
    else finishFirst = () => response.end(Buffer.alloc(40_000))
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

test('a client that pipelines 150 requests gets 150 responses, and may send another behind them', async () => {
  const upstream = await httpUpstream((_request, response) => response.end('ok'))
  const { port } = await bootGateway({ upstream: upstream.url })
  const client = await rawClient(port)
  const received = (count: number) => client.until((text) => text.split('HTTP/1.1 200 ').length === count + 1)

  client.send(get.repeat(150))
  await received(150)
  client.send(get)
  const text = await received(151)
  client.close()

  expect(text).not.toMatch(/^Connection: close/im)
})

test('a body that has begun is read all the same, so that its client is not late with it', async () => {
  let finishFirst = () => {}
  let socket: Socket | undefined
  let received = ''
  const port = await serveHttp1((request, response) => {
    if (request.method === 'POST') {
      request.consume((chunk) => {
        received += chunk ?? '.'
      })
      return
    }
    response.writeFields(200, '', ['Content-Length', '40000'])
    if (socket !== undefined) return response.end(Buffer.alloc(40_000))
    socket = request.socket
    finishFirst = () => response.end(Buffer.alloc(40_000))
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

test('the body of an error that follows a HEAD is there', async () => {
  const { port } = await bootGateway()
  const client = await rawClient(port)

  client.send('HEAD /none HTTP/1.1\r\nHost: a\r\n\r\n')
  await client.until((text) => text.includes('\r\n\r\n'))
  client.send('\rX')
  const { received } = await client.ended()

  expect(received).toContain('"code":"bad-request"')
})

test('nothing is forwarded behind a response that says that it is the last', async () => {
  const begun: string[] = []
  let finish = () => {}
  const upstream = await rawUpstream((socket) =>
    onRequest(socket, (head) => {
      begun.push(head.slice(0, 4))
      socket.write('HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n')
      finish = () => void socket.write('0\r\n\r\n')
    }),
  )
  const { port } = await bootGateway({ upstream: upstream.url })
  const client = await rawClient(port)

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
  const upstream = await rawUpstream((socket) =>
    onRequest(socket, () => {
      if (++asked === 1) socket.write('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok')
    }),
  )
  const { port, line } = await bootGateway({ upstream: upstream.url })
  const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true })

  socket.end(get + get)
  await once(socket, 'data')
  await eventually(() => asked === 2)
  socket.destroy()

  expect(await line(({ status }) => status === 499)).toMatchObject({ failure: 'client-gone' })
})

test('a malformed body gets no second response when its request has had one', async () => {
  const { port, lines } = await bootGateway()
  const client = await rawClient(port)

  client.send('POST /none HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\nabc')
  await client.until((text) => text.includes('"code":"not-found"'))
  client.socket.end()
  const { received } = await client.ended()

  expect(received.match(/HTTP\/1\.1 \d+/g)).toEqual(['HTTP/1.1 404'])
  expect(lines.filter(({ msg }) => msg === 'exchange')).toHaveLength(1)
})

test('a response that ends while the gateway closes ends its connection, whatever its head had said', async () => {
  let finish = () => {}
  const upstream = await rawUpstream((socket) =>
    onRequest(socket, () => {
      socket.write('HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhello')
      finish = () => void socket.write('world')
    }),
  )
  const { port, gateway } = await bootGateway({ upstream: upstream.url, shutdown: { wait: '0ms', deadline: '10m' } })
  const client = await rawClient(port)

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
  onTestFinished(() => void acceptor.close())
  await once(acceptor.listen(0, '127.0.0.1'), 'listening')
  const client = await rawClient((acceptor.address() as AddressInfo).port)

  client.send(get)

  expect((await client.ended()).received).toBe('')
})

test('a response that breaks off behind another leaves that one whole, and ends the connection in its place', async () => {
  const { promise: released, resolve: release } = Promise.withResolvers<void>()
  const upstream = await rawUpstream((socket) =>
    onRequest(socket, async (head) => {
      if (head.startsWith('GET ')) return void socket.end('HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\npart')
      await released
      socket.write('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok')
    }),
  )
  const { port, line, lines } = await bootGateway({ upstream: upstream.url })
  const client = await rawClient(port)

  client.send(`POST /valuation/score HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n${get}`)
  await line(({ operation }) => operation === 'market.insights')
  release()
  const { received, how } = await client.ended()

  expect([received.split('HTTP/1.1 ').length, received.endsWith('\r\n\r\nok'), how]).toEqual([2, true, 'end'])
  expect(lines.filter(({ msg }) => msg === 'exchange')).toMatchObject([
    { operation: 'market.insights', failure: 'truncated' },
    { operation: 'valuation.score', status: 200 },
  ])
})

test('a response that only the end of the connection delimits leaves no other due behind it', async () => {
  const responses: Http1Response[] = []
  const port = await serveHttp1((_, response) => void responses.push(response))
  const client = connect({ port, host: '127.0.0.1', allowHalfOpen: true }).resume()
  onTestFinished(() => void client.destroy())

  client.write('GET / HTTP/1.0\r\nHost: a\r\nConnection: keep-alive\r\n\r\n'.repeat(2))
  await eventually(() => responses.length === 2)
  responses[0]?.writeFields(200, '', [])
  responses[0]?.end('ok')
  await once(client, 'end')

  expect(responses[1]?.destroyed).toBe(true)
})

test('a client is told to continue in its turn, and has its time from then on', async () => {
  const events: string[] = []
  let finishFirst = () => {}
  const port = await serveHttp1((request, response) => {
    if (request.method === 'GET') {
      finishFirst = () => {
        response.writeFields(200, '', ['Content-Length', '0'])
        response.end()
      }
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
