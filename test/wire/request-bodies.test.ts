import { once } from 'node:events'
import type { Socket } from 'node:net'
import { describe, expect, test } from 'vitest'
import { bootGateway, gatewayForAll } from '../helpers/gateway.ts'
import { parseStatus, rawClient } from '../helpers/raw-client.ts'
import { httpUpstream, onRequest, rawUpstream } from '../helpers/upstream.ts'
import {
  awaitDrain,
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

const code = (body: Buffer | string): unknown => (JSON.parse(body.toString()) as { readonly code: unknown }).code

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

  const site = gatewayForAll()
  const bounded = gatewayForAll({
    defaults: { maxBody: '2000B' },
    operations: { 'inventory.sync': { state: 'refuse' } },
  })

  test.each([
    ['a small body', 3, 'abc'],
    ['a large body', 100_000, 'x'.repeat(100_000)],
    ['a chunked body', 'chunked' as const, '3\r\nabc\r\n0\r\n\r\n'],
  ])('is answered when the gateway reads %s', async (_, length, body) => {
    const client = await rawClient(site.port)
    const before = site.upstream.requests.length

    client.send(expecting(length))
    await client.until((text) => text.endsWith('HTTP/1.1 100 Continue\r\n\r\n'))
    const meanwhile = site.upstream.requests.length
    client.send(body)
    const text = await client.until((received) => received.includes('sha256'))

    expect(meanwhile).toBe(before)
    expect(text).toMatch(/^HTTP\/1\.1 100 Continue\r\n\r\nHTTP\/1\.1 200 OK\r\n/)
    client.close()
  })

  test.each([
    ['a body over its bound', expecting(2001), 413],
    ['an unknown path', expecting(3, '/unknown'), 404],
    ['a wrong method', expecting(3, '/market/insights'), 405],
    ['a malformed Host', expecting(3).replace('gateway.test', 'a b'), 400],
    ['an operation that is switched off', expecting(3, '/inventory/sync'), 503],
  ])('is never answered before the rejection of %s', async (_, head, status) => {
    const client = await rawClient(bounded.port)

    client.send(head)
    const { received, how } = await client.ended()

    expect(parseStatus(received)).toBe(status)
    expect(received).not.toContain('100 Continue')
    expect(received).toMatch(/\r\nconnection: close\r\n/i)
    expect(how).toBe('end')
    expect(bounded.upstream.begun()).toBe(0)
  })

  test('is not answered for a body that streams and that no upstream can be reached for', async () => {
    const upstream = await httpUpstream()
    await upstream.close()
    const booted = await bootGateway({ upstream: upstream.url })
    const client = await rawClient(booted.port)

    client.send(expecting('chunked'))
    const { received } = await client.ended()

    expect(parseStatus(received)).toBe(502)
    expect(received).not.toContain('100 Continue')
  })

  test.each(['1.0', '1.1'] as const)(
    'is not waited for, HTTP/%s: a client may send its body at once',
    async (version) => {
      const fields = ['Expect', '100-Continue']

      const response = await call(site.port, {
        method: 'POST',
        target: post,
        version,
        fields,
        body: Buffer.from('abc'),
      })

      expect(response.status).toBe(200)
      expect(site.upstream.requests.at(-1)?.body.toString()).toBe('abc')
      if (version === '1.0') expect(response.interim).toEqual([])
    },
  )

  test('is not answered when there is no body', async () => {
    const response = await call(site.port, { fields: ['Expect', '100-continue'] })

    expect(response).toMatchObject({ status: 200, interim: [] })
  })

  test('an unknown expectation is 417', async () => {
    const before = site.upstream.begun()

    const response = await call(site.port, { fields: ['Expect', '100-continue, x'] })

    expect(response.status).toBe(417)
    expect(code(response.body)).toBe('expectation-failed')
    expect(site.upstream.begun()).toBe(before)
  })
})

describe('a request body over its limit', () => {
  test('by Content-Length is 413, with nothing forwarded', async () => {
    const upstream = await httpUpstream()
    const booted = await bootGateway({ upstream: upstream.url, defaults: { maxBody: '100KiB' } })

    const response = await call(booted.port, { method: 'POST', target: post, body: pseudoRandomBytes(100 * KiB + 1) })

    expect(response).toMatchObject({ status: 413, how: 'end', whole: true })
    expect(code(response.body)).toBe('content-too-large')
    expect(upstream.begun()).toBe(0)
    expect(upstream.connections()).toBe(0)
  })

  test.each([undefined, 10_000])('of exactly the limit is forwarded (chunks of %s)', async (chunkBytes) => {
    const upstream = await httpUpstream()
    const booted = await bootGateway({ upstream: upstream.url, defaults: { maxBody: '100KiB' } })

    const response = await call(booted.port, {
      method: 'POST',
      target: post,
      body: pseudoRandomBytes(100 * KiB),
      ...(chunkBytes === undefined ? {} : { chunkBytes }),
    })

    expect(response.status).toBe(200)
  })

  /** Records what reaches an upstream until each of its connections has ended. */
  const recording = async (onHead: (socket: Socket) => void = () => {}) => {
    const ends: (() => void)[] = []
    const bytes: Buffer[] = []
    const ended = new Promise<void>((resolve) => ends.push(resolve))
    const upstream = await rawUpstream((socket) => {
      socket.once('data', () => onHead(socket))
      socket.on('data', (chunk: Buffer) => bytes.push(chunk))
      socket.on('end', () => socket.end())
      socket.on('close', () => ends[0]?.())
    })
    return { upstream, ended, text: () => Buffer.concat(bytes).toString('latin1') }
  }

  test('in chunks is 413, and the upstream request is aborted, never ended', async () => {
    const { upstream, ended, text } = await recording()
    const booted = await bootGateway({ upstream: upstream.url, defaults: { maxBody: '100KiB' } })

    const response = await call(booted.port, {
      method: 'POST',
      target: post,
      body: pseudoRandomBytes(MiB),
      chunkBytes: 10_000,
    })
    await ended

    expect(response).toMatchObject({ status: 413, how: 'end', whole: true })
    expect(text()).toMatch(/^POST /)
    expect(text().endsWith('\r\n0\r\n\r\n')).toBe(false)
    expect(text().length).toBeLessThan(102 * KiB)
  })

  test("in chunks cuts the client's connection when the response had begun", async () => {
    const { upstream, ended, text } = await recording((socket) =>
      socket.write('HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc'),
    )
    const booted = await bootGateway({ upstream: upstream.url, defaults: { maxBody: '100KiB' } })
    const client = await rawClient(booted.port)
    const pieces = [...chunked(pseudoRandomBytes(MiB), 10_000)]

    client.send(renderHead({ method: 'POST', target: post, body: Buffer.alloc(0), chunkBytes: 1 }))
    client.send(pieces[0] as Buffer)
    await client.until((received) => received.endsWith('abc'))
    for (const piece of pieces.slice(1)) client.send(piece)
    const { received, how } = await client.ended()
    await ended

    expect(how).toBe('reset')
    expect(parseStatus(received)).toBe(200)
    expect(text().endsWith('\r\n0\r\n\r\n')).toBe(false)
  })
})

describe('a gap in a request body', () => {
  const gapMs = 150

  test.each([
    ['a small body', ['Content-Length', '10']],
    ['a large body', ['Content-Length', '1000000']],
    ['a chunked body', ['Transfer-Encoding', 'chunked']],
    ['a chunk of 2^52 bytes', ['Transfer-Encoding', 'chunked']],
  ])('of %s is 408 in its time, and the connection ends', async (name, framing) => {
    const upstream = await rawUpstream((socket) => socket.resume().on('end', () => socket.end()))
    const booted = await bootGateway({ upstream: upstream.url, listen: { timeouts: { body: `${gapMs}ms` } } })
    const client = await rawClient(booted.port)

    client.send(
      renderHead({ method: 'POST', target: post, fields: [...framing, 'Connection', 'keep-alive'], version: '1.1' }),
    )
    const startedAt = performance.now()
    const isHuge = name.includes('2^52')
    client.send(framing[1] !== 'chunked' ? 'abc' : isHuge ? '10000000000000\r\nhel' : '3\r\nabc\r\n')
    const { received, how } = await client.ended()

    expect(performance.now() - startedAt).toBeGreaterThanOrEqual(gapMs)
    expect(parseStatus(received)).toBe(408)
    expect(code(received.split('\r\n\r\n')[1] ?? '')).toBe('request-timeout')
    expect(received).toMatch(/\r\nconnection: close\r\n/i)
    expect(how).toBe('end')
    await eventually(() => upstream.connections() === 0)
  })
})

describe('memory', () => {
  const total = 256 * MiB
  // Kernel buffers of two connections (Linux lets each grow to a few MiB) and the streams between them.
  const most = 32 * MiB

  test('is constant when an upstream does not read the body of a request', async () => {
    let resume = () => {}
    const done = Promise.withResolvers<number>()
    const upstream = await rawUpstream((socket) => {
      let bytes = 0
      socket.pause()
      resume = () => {
        socket.on('data', (chunk: Buffer) => {
          bytes += chunk.length
        })
        socket.on('end', () => socket.end())
        socket.on('close', () => done.resolve(bytes))
        socket.resume()
      }
    })
    const booted = await bootGateway({ upstream: upstream.url, defaults: { maxBody: 'none' } })
    const socket = await dial(booted.port)
    const piece = Buffer.alloc(MiB, 'x')
    const framed = Buffer.concat([Buffer.from('100000\r\n'), piece, Buffer.from('\r\n')])

    socket.write(renderHead({ method: 'POST', target: post, fields: ['Transfer-Encoding', 'chunked'] }))
    let sent = 0
    while (sent < total && (await flows(socket, framed))) sent += MiB
    resume()
    socket.destroy()
    const arrived = await done.promise

    expect(sent).toBeLessThan(most)
    expect(arrived).toBeLessThan(most + MiB)
  })

  test('is constant when a client does not read the body of a response', async () => {
    let sent = 0
    const stopped = Promise.withResolvers<void>()
    const upstream = await rawUpstream((socket) =>
      onRequest(socket, async () => {
        socket.write(`HTTP/1.1 200 OK\r\nContent-Length: ${total}\r\n\r\n`)
        const piece = Buffer.alloc(MiB, 'x')
        while (sent < total && (await flows(socket, piece))) sent += MiB
        stopped.resolve()
      }),
    )
    const booted = await bootGateway({ upstream: upstream.url })
    const socket = await dial(booted.port)

    socket.pause()
    socket.write(renderHead({}))
    await stopped.promise

    expect(sent).toBeLessThan(most)
    socket.destroy()
  })

  test('the whole of a body arrives when a slow reader reads on', async () => {
    const large = 16 * MiB
    const upstream = await rawUpstream((socket) =>
      onRequest(socket, async () => {
        socket.write(`HTTP/1.1 200 OK\r\nContent-Length: ${large}\r\n\r\n`)
        for (let at = 0; at < large; at += MiB) if (!socket.write(Buffer.alloc(MiB, at / MiB))) await awaitDrain(socket)
      }),
    )
    const booted = await bootGateway({ upstream: upstream.url })
    const socket = await dial(booted.port)

    socket.write(renderHead({}))
    const response = readToEnd(socket)
    // Stops at every piece, and goes on when the loop has come round.
    socket.on('data', () => {
      socket.pause()
      setImmediate(() => socket.resume())
    })
    const { body, whole, how } = await response

    expect({ whole, how, length: body.length }).toEqual({ whole: true, how: 'end', length: large })
    expect(Array.from({ length: 16 }, (_, i) => body[i * MiB + 7])).toEqual(Array.from({ length: 16 }, (_, i) => i))
  })
})

/** Writes a piece and returns whether it was taken: false when nothing at all moves for a while. */
const flows = async (socket: Socket, piece: Buffer): Promise<boolean> => {
  if (socket.write(piece)) return true
  const stalled = new AbortController()
  const timer = setTimeout(() => stalled.abort(), 1000)
  try {
    await once(socket, 'drain', { signal: stalled.signal })
    return true
  } catch {
    return false
  } finally {
    clearTimeout(timer)
  }
}

describe('a response that comes before the request is complete', () => {
  const response = 'HTTP/1.1 413 Content Too Large\r\nContent-Length: 3\r\n\r\nbig'

  test.each<readonly [string, (socket: Socket) => void]>([
    ['stays', (socket) => void socket.write(response)],
    ['ends', (socket) => void socket.end(response)],
    // The response must be read before the failure of the next write.
    ['resets', (socket) => void socket.write(response, () => socket.resetAndDestroy())],
  ])('reaches the client, and ends the connection (the upstream %s)', async (_, respond) => {
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
  })

  test('is cut when it ends with a connection that was reset: a part never passes for the whole', async () => {
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
