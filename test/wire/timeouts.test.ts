import type { Socket } from 'node:net'
import { afterEach, describe, expect, onTestFinished, test, vi } from 'vitest'
import { dialThrough } from '../helpers/dial-through.ts'
import { expectExact } from '../helpers/exact-wait.ts'
import { bootGateway } from '../helpers/gateway.ts'
import { openFullBacklog } from '../helpers/misbehaving-upstream.ts'
import { isWholeResponse, parseStatus, rawClient } from '../helpers/raw-client.ts'
import { httpUpstream, openRawUpstream, rawUpstream } from '../helpers/upstream.ts'
import { bareGet } from '../helpers/wire.ts'

const none = { connect: 'none', headers: 'none', body: 'none' }
const get = bareGet()

const stopClock = (): void => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] })
afterEach(() => void vi.useRealTimers())

describe('a limit is kept', () => {
  const boundMs = 300
  const limit = `${boundMs}ms`

  test.each([
    ['the head of a response', { timeouts: { ...none, headers: limit }, deadline: 'none' }],
    ['the deadline, from the moment that the request is complete', { timeouts: none, deadline: limit }],
  ])('the limit of %s is kept', async (_, defaults) => {
    let arrivedAt = 0
    const { port } = await dialThrough(
      () => {
        arrivedAt = performance.now()
      },
      { defaults },
    )

    await expectExact(boundMs, async () => {
      const after = performance.now()
      expect(await statusOfBytes(port, get)).toBe(504)
      return { after, before: arrivedAt, over: performance.now() }
    })
  })

  test('the limit of the gap between two chunks of a response is kept', async () => {
    let wroteAt = 0
    const respond = (socket: Socket): void => {
      wroteAt = performance.now()
      socket.write('HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc')
    }
    const { port } = await dialThrough(respond, { defaults: { timeouts: { ...none, body: limit }, deadline: 'none' } })

    await expectExact(boundMs, async () => {
      const client = await rawClient(port)
      client.send(get)
      await client.until((text) => text.endsWith('abc'))
      const before = performance.now()
      expect((await client.ended()).how).toBe('reset')
      return { after: wroteAt, before, over: performance.now() }
    })
  })

  /** Expects a status when the limit has passed from the moment that bytes are sent. */
  const expectStatus = (port: number, bytes: string, status: number) =>
    expectExact(boundMs, async () => {
      const after = performance.now()
      expect(await statusOfBytes(port, bytes)).toBe(status)
      return { after, before: after, over: performance.now() }
    })

  test.each([
    ['a connection that is not accepted', openFullBacklog, 'http'],
    ['a TLS handshake that never comes', () => openRawUpstream(() => {}), 'https'],
  ])('timeouts.connect limits %s', async (_, open, scheme) => {
    const upstream = await open()
    onTestFinished(() => upstream.close())
    const { port, line } = await bootGateway({
      upstream: `${scheme}://127.0.0.1:${upstream.port}`,
      defaults: { timeouts: { ...none, connect: limit }, deadline: 'none' },
    })

    await expectStatus(port, get, 504)
    expect((await line(({ msg }) => msg === 'exchange')).failure).toBe('connect-timeout')
  })

  test('the limits of a client’s head, and of the gap between two pieces of its body, are kept', async () => {
    const { port } = await bootGateway({ listen: { timeouts: { headers: limit, body: limit } } })

    await expectStatus(port, get.slice(0, -2), 408)
    for (const framing of ['Content-Length: 10\r\n\r\nabc', 'Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n'])
      await expectStatus(port, `POST /inventory/sync HTTP/1.1\r\nHost: gateway\r\n${framing}`, 408)
  })

  test('the limit of a client that takes nothing of its response is kept', async () => {
    let tookAt = 0
    const piece = Buffer.alloc(64 * 1024)
    const endless = (socket: Socket): void => {
      socket.write('HTTP/1.1 200 OK\r\nContent-Length: 1000000000\r\n\r\n')
      const more = (): void => {
        tookAt = performance.now()
        socket.write(piece, (error) => void (error ?? more()))
      }
      more()
    }
    const { port, line } = await dialThrough(endless, { listen: { timeouts: { body: limit } } })
    let tries = 0

    await expectExact(boundMs, async () => {
      const id = `takes-nothing-${tries++}`
      const client = await rawClient(port)
      onTestFinished(() => client.close())
      const after = performance.now()
      client.send(get.replace('\r\n\r\n', `\r\nX-Request-Id: ${id}\r\n\r\n`))
      await client.until((text) => text.includes('\r\n\r\n'))
      client.socket.pause()
      const { failure, status } = await line(({ requestId }) => requestId === id)
      const over = performance.now()
      expect({ failure, status }).toEqual({ failure: 'client-gone', status: 499 })
      // The gateway begins to wait when the last piece went into the buffers between.
      return { after, before: tookAt, over }
    })
  })
})

describe('a limit is for the side that is waited for', () => {
  test('a response whose chunks each come in time may take longer than the gap between two', async () => {
    stopClock()
    let upstreamSide: Socket | undefined
    const respond = (socket: Socket): void => {
      upstreamSide = socket
      socket.write('HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n')
    }
    const { client } = await dialThrough(respond, { defaults: { timeouts: { ...none, body: '2s' }, deadline: '2s' } })

    client.send(get)
    await client.until((text) => text.endsWith('\r\n\r\n'))
    for (const byte of 'abcde') {
      vi.advanceTimersByTime(1900)
      upstreamSide?.write(byte)
      await client.until((text) => text.endsWith(byte))
    }

    expect(client.received()).toMatch(/abcde$/)
  })

  test.each([
    ['read first', 'Content-Length: 5\r\n\r\n', 'abcde', '1s'],
    ['streamed', 'Transfer-Encoding: chunked\r\n\r\n', '5\r\nabcde\r\n0\r\n\r\n', '10s'],
  ])(
    'a slow upload, %s, counts neither for the head of the response nor for the deadline, and may take long in all',
    async (_, framing, body, gap) => {
      stopClock()
      const upstream = await httpUpstream()
      const { port } = await bootGateway({
        upstream: upstream.url,
        listen: { timeouts: { body: gap } }, // between two pieces of content: shorter than all pieces take
        defaults: { timeouts: { ...none, headers: '1s' }, deadline: '1s' },
      })
      const client = await rawClient(port)

      client.send(`POST /inventory/sync HTTP/1.1\r\nHost: gateway\r\n${framing}`)
      for (const byte of body) {
        await statusOfBytes(port, bareGet('/none')) // what was sent before has come by then
        vi.advanceTimersByTime(900)
        client.send(byte)
      }
      const text = await client.until(isWholeResponse)
      client.close()

      expect(parseStatus(text)).toBe(200)
      expect(upstream.requests[0]?.body.toString()).toBe('abcde')
    },
  )

  test.each([
    ['the deadline', { timeouts: none, deadline: '300ms' }],
    ['the wait for the head', { timeouts: { ...none, headers: '300ms' }, deadline: 'none' }],
  ])('%s begins when a slow upload is complete', async (_, defaults) => {
    const upstream = await rawUpstream(() => {})
    const { port } = await bootGateway({ upstream: upstream.url, defaults })

    await expectExact(300, async () => {
      const client = await rawClient(port)
      client.send('POST /inventory/sync HTTP/1.1\r\nHost: gateway\r\nTransfer-Encoding: chunked\r\n\r\n')
      const lastSent = drip(client.socket, '5\r\nabcde\r\n0\r\n\r\n', 35)
      const over = client.until(isWholeResponse).then(() => performance.now())
      const after = await lastSent
      return { after, before: after, over: await over }
    })
  })

  test('a client that reads slowly is not the fault of the upstream', async () => {
    const size = 16 * 1024 ** 2
    const upstream = await httpUpstream((_, response) => void response.end(Buffer.alloc(size)))
    const { port } = await bootGateway({
      upstream: upstream.url,
      defaults: { timeouts: { ...none, body: '1s' }, deadline: '1s' },
    })
    const client = await rawClient(port)

    client.send(get)
    await client.until((text) => text.includes('\r\n\r\n'))
    client.socket.pause()
    setTimeout(() => client.socket.resume(), 1300)
    const text = await client.until((text) => text.length >= size)
    client.close()

    expect(parseStatus(text)).toBe(200)
  })
})

/** Sends bytes on a connection of their own and returns the status of the response. */
const statusOfBytes = async (port: number, bytes: string): Promise<number> => {
  const client = await rawClient(port)
  client.send(bytes)
  const text = await client.until(isWholeResponse)
  client.close()
  return parseStatus(text)
}

/** Writes a text a byte at a time, the first after one interval, and returns when it wrote the last. */
const drip = async (socket: Socket, text: string, intervalMs: number): Promise<number> => {
  for (const byte of text) {
    await new Promise((resolve) => setTimeout(resolve, intervalMs))
    socket.write(byte)
  }
  return performance.now()
}
