import { expect, onTestFinished, test } from 'vitest'
import { bootGateway } from '../helpers/gateway.ts'
import { isWholeResponse, parseStatus, type RawClient, rawClient } from '../helpers/raw-client.ts'
import { httpUpstream, rawUpstream } from '../helpers/upstream.ts'
import { call, eventually, renderHead } from '../helpers/wire.ts'

/** Has a client send a little now and then, until it is cut. */
const drip = ({ socket }: RawClient, text: string): void => {
  const tap = setInterval(() => socket.write(text), 20)
  socket.on('close', () => clearInterval(tap))
}

// The attack (Slowloris): many clients begin a request, and add a field to it now and then. Each is one of ten thousand
// connections, and a server that waits for the end of a head for ever has soon none left.
test('a crowd that sends its heads a field at a time gets 408, and another client is served meanwhile', async () => {
  const crowd = 50
  const upstream = await httpUpstream()
  const { port } = await bootGateway({
    upstream: upstream.url,
    listen: { maxConnections: crowd + 10, timeouts: { headers: '500ms' } },
  })
  // Each begins as soon as it is connected: of one that has sent nothing in time, nothing is said.
  const begin = async (): Promise<RawClient> => {
    const client = await rawClient(port)
    client.send('GET /market/insights HTTP/1.1\r\nHost: a\r\n')
    drip(client, 'X-Slow: a\r\n')
    return client
  }

  const clients = await Promise.all(Array.from({ length: crowd }, begin))
  const meanwhile = await call(port)
  const ended = await Promise.all(clients.map((client) => client.ended()))
  const afterwards = await call(port)

  expect([meanwhile.status, afterwards.status]).toEqual([200, 200])
  expect(ended.map(({ received }) => parseStatus(received))).toEqual(Array(crowd).fill(408))
  expect(upstream.begun()).toBe(2)
})

// The attack: connections are ten thousand, and cost the client next to nothing. An attacker who keeps them all, without
// ever asking for anything, keeps every other client out.
test('a connection on which no request comes is closed', async () => {
  const upstream = await httpUpstream()
  const timeouts = { headers: '200ms', keepAlive: '200ms' }
  const { port } = await bootGateway({ upstream: upstream.url, listen: { timeouts } })
  const get = renderHead({ fields: ['Connection', 'keep-alive'] })
  const rejected = 'POST /none HTTP/1.1\r\nHost: a\r\nContent-Length: 60000\r\n\r\n'
  const cases = [
    ['', ''],
    ['', '\r\n'],
    [get, ''],
    [get, '\r\n'],
    [get, 'G'],
    [rejected, 'x'],
  ] as const

  const ends = cases.map(async ([first, then]) => {
    const client = await rawClient(port)
    if (first !== '') {
      client.send(first)
      await client.until(isWholeResponse)
    }
    if (then !== '') drip(client, then)
    return (await client.ended()).how
  })

  expect(await Promise.all(ends)).toEqual(cases.map(() => expect.stringMatching(/^(?:end|reset)$/)))
})

// The attack: uploads that go on and on, a byte at a time, until an upstream has no connection left. A body that streams
// is not read before there is one, so no gap in it is timed and the request is never complete: the next client with an
// upload waited for ever.
test('an upload for which there is no connection gets an error in the time of the deadline', async () => {
  let reached = 0
  const upstream = await rawUpstream((socket) => {
    reached++
    socket.resume().on('end', () => socket.end())
  })
  const defaults = { maxConnections: 1, deadline: '200ms' }
  const { port } = await bootGateway({ upstream: upstream.url, defaults })
  const open = async (bytes: string, ...framing: readonly string[]): Promise<RawClient> => {
    const client = await rawClient(port)
    onTestFinished(() => client.close())
    const fields = [...framing, 'Connection', 'keep-alive']
    client.send(renderHead({ method: 'POST', target: '/valuation/score', fields }) + bytes)
    return client
  }
  const holder = await open('1\r\nx\r\n', 'Transfer-Encoding', 'chunked')
  await eventually(() => reached === 1)

  const waiting = await Promise.all([
    open('3\r\nabc\r\n0\r\n\r\n', 'Transfer-Encoding', 'chunked'),
    open('x'.repeat(70_000), 'Content-Length', '70000'),
    open('', 'Transfer-Encoding', 'chunked', 'Expect', '100-continue'),
  ])

  for (const client of waiting)
    expect(await client.until(isWholeResponse)).toMatch(/^HTTP\/1\.1 504 [\s\S]*deadline-exceeded/)
  expect(holder.received()).toBe('')
})
