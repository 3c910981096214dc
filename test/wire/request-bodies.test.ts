import { once } from 'node:events'
import type { Socket } from 'node:net'
import { describe, expect, test } from 'vitest'
import { dialThrough } from '../helpers/dial-through.ts'
import { freePort } from '../helpers/free-port.ts'
import { bootGateway } from '../helpers/gateway.ts'
import { liveGatewayForAll } from '../helpers/live-gateway.ts'
import { isWholeResponse, parseStatus, rawClient } from '../helpers/raw-client.ts'
import { httpUpstream, rawUpstream } from '../helpers/upstream.ts'
import {
  call,
  chunked,
  dial,
  eventually,
  fieldValues,
  pseudoRandomBytes,
  readToEnd,
  renderHead,
} from '../helpers/wire.ts'

const KiB = 1024
const MiB = 1024 * KiB
const post = '/valuation/score'

describe('Expect: 100-continue', () => {
  const expecting = (length: number | 'chunked', target = post, method = 'POST'): string =>
    renderHead({
      method,
      target,
      fields: [
        ...['Expect', '100-continue', 'Connection', 'keep-alive'],
        ...(length === 'chunked' ? ['Transfer-Encoding', 'chunked'] : ['Content-Length', String(length)]),
      ],
    })

  const site = liveGatewayForAll()
  const reject = { 'inventory.sync': { state: 'reject' } }
  const bounded = liveGatewayForAll({ defaults: { maxBody: '2000B' }, operations: reject })

  test.each([
    ['a small body', 3, 'abc'],
    ['a large body', 100_000, 'x'.repeat(100_000)],
    ['a chunked body', 'chunked' as const, '3\r\nabc\r\n0\r\n\r\n'],
  ])('100-continue is sent when the gateway reads %s', async (_, length, body) => {
    const client = await rawClient(site.port)
    const before = site.server.requests.length

    client.send(expecting(length))
    await client.until((text) => text.endsWith('HTTP/1.1 100 Continue\r\n\r\n'))
    const meanwhile = site.server.requests.length
    client.send(body)
    const text = await client.until(isWholeResponse)
    client.close()

    expect(meanwhile).toBe(before)
    expect(text).toMatch(/^HTTP\/1\.1 100 Continue\r\n\r\nHTTP\/1\.1 200 OK\r\n/)
  })

  test.each([
    ['a body over its bound', expecting(2001), 413],
    ['an unknown path', expecting(3, '/unknown'), 404],
    ['a wrong method', expecting(3, '/market/insights'), 405],
    ['a malformed Host', expecting(3).replace('gateway.test', 'a b'), 400],
    ['an operation that is switched off', expecting(3, '/inventory/sync'), 503],
  ])('100-continue is never sent before the rejection of %s', async (_, head, status) => {
    const client = await rawClient(bounded.port)

    client.send(head)
    const { received, how } = await client.ended()

    expect([parseStatus(received), how]).toEqual([status, 'end'])
    expect(received).not.toContain('100 Continue')
    expect(received).toMatch(/\r\nconnection: close\r\n/i)
    expect(bounded.server.begun()).toBe(0)
  })

  test('100-continue is not sent for a streaming body whose upstream cannot be reached', async () => {
    const { port } = await bootGateway({ upstream: `http://127.0.0.1:${await freePort()}` })
    const client = await rawClient(port)

    client.send(expecting('chunked'))
    const { received } = await client.ended()

    expect(parseStatus(received)).toBe(502)
    expect(received).not.toContain('100 Continue')
  })

  test.each(['1.0', '1.1'] as const)('is not waited for, HTTP/%s: a body may be sent at once', async (version) => {
    const fields = ['Expect', '100-Continue']

    const response = await call(site.port, { method: 'POST', target: post, version, fields, body: Buffer.from('abc') })

    expect(response.status).toBe(200)
    expect(site.server.requests.at(-1)?.body.toString()).toBe('abc')
    if (version === '1.0') expect(response.interim).toEqual([])
  })

  test('100-continue is not sent when there is no body', async () => {
    const response = await call(site.port, { fields: ['Expect', '100-continue'] })

    expect(response).toMatchObject({ status: 200, interim: [] })
  })
})

describe('a request body', () => {
  const defaults = { maxBody: '100KiB' }

  test.each([{}, { chunkBytes: 10_000 }])('a request body of exactly its limit is forwarded: %j', async (framing) => {
    const upstream = await httpUpstream()
    const { port } = await bootGateway({ upstream: upstream.url, defaults })
    const body = pseudoRandomBytes(100 * KiB)

    expect((await call(port, { method: 'POST', target: post, body, ...framing })).status).toBe(200)
  })

  /** Records the bytes that reach an upstream until each of its connections has ended. */
  const recording = async (onHead: (socket: Socket) => void = () => {}) => {
    const ended = Promise.withResolvers<void>()
    const bytes: Buffer[] = []
    const upstream = await rawUpstream((socket) => {
      socket.once('data', () => onHead(socket))
      socket.on('data', (chunk: Buffer) => bytes.push(chunk))
      socket.on('end', () => socket.end()).on('close', () => ended.resolve())
    })
    const { port } = await bootGateway({ upstream: upstream.url, defaults: { maxBody: '300KiB' } })
    return { port, ended: ended.promise, text: () => Buffer.concat(bytes).toString('latin1') }
  }

  test('a request body over its limit in chunks gets 413, and the upstream request is aborted, never ended', async () => {
    const { port, ended, text } = await recording()
    const body = pseudoRandomBytes(MiB)

    const response = await call(port, { method: 'POST', target: post, body, chunkBytes: 10_000 })
    await ended

    expect(response).toMatchObject({ status: 413, how: 'end', whole: true })
    expect(text()).toMatch(/^POST /)
    expect(text().endsWith('\r\n0\r\n\r\n')).toBe(false)
    expect(text().length).toBeLessThan(302 * KiB)
  })

  test('a request body over its limit in chunks cuts the client’s connection when the response had begun', async () => {
    const { port, ended, text } = await recording((socket) =>
      socket.write('HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc'),
    )
    const client = await rawClient(port)
    const pieces = [...chunked(pseudoRandomBytes(MiB), 10_000)]

    client.send(renderHead({ method: 'POST', target: post, body: Buffer.alloc(0), chunkBytes: 1 }))
    client.send(pieces[0] as Buffer)
    await client.until((received) => received.endsWith('abc'))
    for (const piece of pieces.slice(1)) client.send(piece)
    const { received, how } = await client.ended()
    await ended

    expect([how, parseStatus(received)]).toEqual(['reset', 200])
    expect(text().endsWith('\r\n0\r\n\r\n')).toBe(false)
  })

  // timeouts.test.ts has when.
  test.each([
    ['a large body', 'Content-Length: 1000000', 'abc'],
    ['a chunk of 2^52 bytes', 'Transfer-Encoding: chunked', '10000000000000\r\nhel'],
  ])('a request body with a gap, of %s, gets 408, and both connections end', async (_, framing, begun) => {
    const upstream = await rawUpstream((socket) => socket.resume().on('end', () => socket.end()))
    const { port } = await bootGateway({ upstream: upstream.url, listen: { timeouts: { body: '150ms' } } })
    const client = await rawClient(port)

    client.send(`POST ${post} HTTP/1.1\r\nHost: a\r\n${framing}\r\n\r\n${begun}`)
    const { received, how } = await client.ended()

    expect([parseStatus(received), how]).toEqual([408, 'end'])
    expect(received).toMatch(/\r\nconnection: close\r\n/i)
    await eventually(() => upstream.connections() === 0)
  })
})

describe('memory', () => {
  const total = 256 * MiB
  // Kernel buffers of two connections (Linux lets each grow to a few MiB) and the streams between them.
  const most = 32 * MiB
  const piece = Buffer.alloc(MiB, 'x')

  /** Writes a piece. False: nothing moved for a while, so the piece was not taken. */
  const flows = async (socket: Socket, bytes: Buffer): Promise<boolean> => {
    if (socket.write(bytes)) return true
    const drained = once(socket, 'drain', { signal: AbortSignal.timeout(1000) })
    return drained.then(
      () => true,
      () => false,
    )
  }

  test('memory stays constant when an upstream does not read the body of a request', async () => {
    let resume = (): void => {}
    const done = Promise.withResolvers<number>()
    const upstream = await rawUpstream((socket) => {
      let bytes = 0
      socket.pause()
      resume = () => {
        socket.on('data', (chunk: Buffer) => {
          bytes += chunk.length
        })
        socket.on('end', () => socket.end()).on('close', () => done.resolve(bytes))
        socket.resume()
      }
    })
    const booted = await bootGateway({ upstream: upstream.url, defaults: { maxBody: 'none' } })
    const socket = await dial(booted.port)
    const framed = Buffer.concat([Buffer.from('100000\r\n'), piece, Buffer.from('\r\n')])

    socket.write(renderHead({ method: 'POST', target: post, fields: ['Transfer-Encoding', 'chunked'] }))
    let sent = 0
    while (sent < total && (await flows(socket, framed))) sent += MiB
    resume()
    socket.destroy()

    expect(sent).toBeLessThan(most)
    expect(await done.promise).toBeLessThan(most + MiB)
  })

  test('memory stays constant when a client does not read the body of a response', async () => {
    let sent = 0
    const stopped = Promise.withResolvers<void>()
    const { client } = await dialThrough(async (socket) => {
      socket.write(`HTTP/1.1 200 OK\r\nContent-Length: ${total}\r\n\r\n`)
      while (sent < total && (await flows(socket, piece))) sent += MiB
      stopped.resolve()
    })

    client.socket.pause()
    client.send(renderHead({}))
    await stopped.promise

    expect(sent).toBeLessThan(most)
  })
})

describe('a response that comes before the request is complete', () => {
  const response = 'HTTP/1.1 413 Content Too Large\r\nContent-Length: 3\r\n\r\nbig'

  test.each<readonly [string, (socket: Socket) => void]>([
    ['stays', (socket) => void socket.write(response)],
    ['ends', (socket) => void socket.end(response)],
    // The response must be read before the failure of the next write.
    ['resets', (socket) => void socket.write(response, () => socket.resetAndDestroy())],
  ])(
    'a response before the request is complete reaches the client, and ends the connection (the upstream %s)',
    async (_, respond) => {
      const upstream = await rawUpstream((socket) => {
        socket.once('data', () => {
          socket.pause()
          respond(socket)
        })
      })
      const booted = await bootGateway({ upstream: upstream.url })

      const got = await call(booted.port, { method: 'POST', target: post, body: pseudoRandomBytes(8 * MiB) })

      expect(got).toMatchObject({ status: 413, whole: true })
      expect(got.body.toString()).toBe('big')
      expect(fieldValues(got.fields, 'connection')).toEqual(['close'])
    },
  )

  test('a response before the request is complete is cut if it ends with a reset connection: a part never looks whole', async () => {
    const upstream = await rawUpstream((socket) => {
      socket.once('data', () => {
        socket.pause()
        socket.write('HTTP/1.1 413 Content Too Large\r\n\r\npart', () => socket.destroy())
      })
    })
    const booted = await bootGateway({ upstream: upstream.url })
    const client = await dial(booted.port)

    client.write(renderHead({ method: 'POST', target: post, body: pseudoRandomBytes(8 * MiB) }))
    client.write(pseudoRandomBytes(8 * MiB))
    const got = await readToEnd(client).catch(() => null)

    expect(got?.how ?? 'reset').toBe('reset')
  })
})
