import type { Socket } from 'node:net'
import { describe, expect, onTestFinished, test } from 'vitest'
import { bootGateway } from '../helpers/gateway.ts'
import { isWholeResponse, parseStatus, type RawClient, rawClient } from '../helpers/raw-client.ts'
import { httpUpstream, rawUpstream } from '../helpers/upstream.ts'
import { call, eventually, renderHead } from '../helpers/wire.ts'

describe('slow heads:', () => {
  // The attack (Slowloris): many clients begin a request, and add a field to it now and then. Each is one of ten
  // thousand connections, and a server that waits for the end of a head for ever has soon none left.
  const crowd = 100
  const headersMs = 500

  test('a crowd that sends its heads a field at a time gets 408, and another client is served meanwhile', async () => {
    const upstream = await httpUpstream()
    const { port } = await bootGateway({
      upstream: upstream.url,
      listen: { maxConnections: crowd + 10, timeouts: { headers: `${headersMs}ms` } },
    })
    // Each begins as soon as it is connected: of one that has sent nothing in time, nothing is said.
    const begin = async (): Promise<RawClient> => {
      const client = await rawClient(port)
      client.send('GET /market/insights HTTP/1.1\r\nHost: a\r\n')
      return client
    }
    const clients = await Promise.all(Array.from({ length: crowd }, begin))
    const tap = setInterval(() => {
      for (const { socket } of clients) if (!socket.destroyed) socket.write('X-Slow: a\r\n')
    }, 50)
    onTestFinished(() => clearInterval(tap))

    const meanwhile = await call(port, { target: '/market/insights' })
    const ended = await Promise.all(clients.map((client) => client.ended()))
    const afterwards = await call(port, { target: '/market/insights' })

    expect([meanwhile.status, afterwards.status]).toEqual([200, 200])
    expect(ended.map(({ received }) => parseStatus(received))).toEqual(Array(crowd).fill(408))
    expect(upstream.begun()).toBe(2)
  })
})

describe('kept connections:', () => {
  // The attack: connections are ten thousand, and cost the client next to nothing. An attacker who keeps them all,
  // without ever asking for anything, keeps every other client out.
  const timeouts = { headers: '200ms', keepAlive: '200ms' }
  const get = 'GET /market/insights HTTP/1.1\r\nHost: a\r\n\r\n'
  const rejectedRequest = 'POST /none HTTP/1.1\r\nHost: a\r\nContent-Length: 60000\r\n\r\n'

  /** Sends a byte now and then until the connection ends. */
  const drip = (socket: Socket, text: string): void => {
    const tap = setInterval(() => socket.write(text), 20)
    socket.on('close', () => clearInterval(tap))
  }

  test.each([
    ['that never sends a byte', '', null],
    ['that sends empty lines and no request', '', '\r\n'],
    ['that has had its answer', get, null],
    ['that sends empty lines behind its answer', get, '\r\n'],
    ['that sends the next request a byte at a time', get, 'G'],
    ['that sends the body of a refused request a byte at a time', rejectedRequest, 'x'],
  ])('a connection %s is closed', async (_, first, then) => {
    const upstream = await httpUpstream()
    const { port } = await bootGateway({ upstream: upstream.url, listen: { timeouts } })
    const client = await rawClient(port)

    if (first !== '') {
      client.send(first)
      await client.until(isWholeResponse)
    }
    if (then !== null) drip(client.socket, then)
    const { how } = await client.ended()

    expect(how).toMatch(/^(?:end|reset)$/)
  })
})

describe('slow uploads:', () => {
  // The attack: uploads that go on and on, a byte at a time, until an upstream has no connection left. A body that
  // streams is not read before there is one, so no gap in it is timed and the request is never complete: the next
  // client with an upload waited for ever.
  const deadlineMs = 200
  const post = (...framing: readonly string[]): string =>
    renderHead({ method: 'POST', target: '/valuation/score', fields: [...framing, 'Connection', 'keep-alive'] })

  test.each([
    ['in chunks', post('Transfer-Encoding', 'chunked'), '3\r\nabc\r\n0\r\n\r\n'],
    ['of a large length', post('Content-Length', '70000'), 'x'.repeat(70_000)],
    ['that waits to be asked for', post('Transfer-Encoding', 'chunked', 'Expect', '100-continue'), ''],
  ])(
    'an upload %s gets an error in the time of the deadline when there is no connection for it',
    async (_, head, body) => {
      let reached = 0
      const upstream = await rawUpstream((socket) => {
        reached++
        socket.on('data', () => {})
        socket.on('end', () => socket.end())
      })
      const { port } = await bootGateway({
        upstream: upstream.url,
        defaults: { maxConnections: 1, deadline: `${deadlineMs}ms` },
      })
      const holder = await rawClient(port)
      holder.send(`${post('Transfer-Encoding', 'chunked')}1\r\nx\r\n`)
      await eventually(() => reached === 1)
      const client = await rawClient(port)

      client.send(head + body)
      const received = await client.until(isWholeResponse)
      const holding = holder.received()
      holder.close()
      client.close()

      expect(parseStatus(received)).toBe(504)
      expect(received).toContain('deadline-exceeded')
      expect(holding).toBe('')
    },
  )
})
