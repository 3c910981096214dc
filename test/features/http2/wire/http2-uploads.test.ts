import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { describe, expect, test } from 'vitest'
import {
  bootHttp2,
  dialHttp2,
  type Frame,
  frameClient,
  get,
  head,
  missing,
  readStreamResponse,
} from '../../../helpers/http2.ts'
import { FlowControlWindows, isWidening } from '../../../helpers/http2-flow-control.ts'
import { httpUpstream, rawUpstream } from '../../../helpers/upstream.ts'
import { eventually, pseudoRandomBytes, sha256 } from '../../../helpers/wire.ts'

const MiB = 1024 * 1024

const post = (stream: number, path: string, bytes: number): Buffer =>
  head(stream, [...get(path, 'POST'), 'content-length', String(bytes)], false)

/** An upstream that takes little at a time. */
const narrowTo = (behind: number) =>
  rawUpstream((socket) => {
    const out = connect(behind, '127.0.0.1')
    out.on('error', () => {}).pipe(socket)
    socket.on('data', (chunk: Buffer) => {
      socket.pause()
      out.write(chunk, () => setImmediate(() => socket.resume()))
    })
    socket.on('close', () => out.destroy())
  })

// More than the windows of a stream and the kernel's buffers take.
const piece = pseudoRandomBytes(64 * 1024)
const pieces = 384 // 24 MiB

/** An upstream that counts the bytes, and reads them or does not. */
const counting = async () => {
  const sockets: Socket[] = []
  let bytes = 0
  const { url } = await rawUpstream((socket) => {
    sockets.push(socket)
    socket.on('data', (chunk: Buffer) => {
      bytes += chunk.length
    })
  })
  return { url, sockets, bytes: () => bytes }
}

/**
 * A gateway with an upstream that reads (valuation) and one that stops after a single request (risk), and a connection
 * with wide windows.
 */
const widened = async (obeys = true) => {
  const reading = await counting()
  const stalled = await rawUpstream((socket) => void socket.pause())
  const gateway = await bootHttp2({
    upstreams: { valuation: reading.url, risk: { endpoints: [stalled.url], maxConnections: 1 } },
    defaults: { deadline: 'none' },
    operations: { 'valuation.score': { maxBody: '64MiB' }, 'risk.asset-valuation': { maxBody: '64MiB' } },
  })
  const client = await frameClient(gateway.port)
  const credit = new FlowControlWindows(client, obeys)
  await credit.round()
  await client.send(post(1, '/valuation/score', 64 * MiB))
  await credit.spend(1)
  await client.frame(isWidening)
  await client.send(post(3, '/risk/asset-valuation', 64 * MiB))
  await eventually(() => stalled.connections() === 1)
  await credit.round()
  /** Begins bodies for the stalled upstream, and sends as much of each as its window allows. */
  const fill = async (bodies: number): Promise<void> => {
    const streams = Array.from({ length: bodies }, (_, n) => 5 + 2 * n)
    await client.send(...streams.map((stream) => post(stream, '/risk/asset-valuation', 64 * MiB)))
    for (let sent = 1; sent > 0; ) {
      sent = 0
      for (const stream of streams) sent += await credit.spend(stream)
      await credit.round()
    }
  }
  return { client, credit, reading, fill }
}

describe.skipIf(missing !== null)('over HTTP/2', () => {
  test('a body of 10 MiB is sent in ten round trips, not in a hundred and sixty', async () => {
    const upstream = await counting()
    const { port } = await bootHttp2({
      upstream: upstream.url,
      defaults: { deadline: 'none' },
      operations: { 'valuation.score': { maxBody: '64MiB' } },
    })
    const client = await frameClient(port)
    const credit = new FlowControlWindows(client)
    await credit.round()

    await client.send(post(1, '/valuation/score', 10 * MiB))
    let rounds = 0
    while (credit.sentBytes < 10 * MiB && rounds < 200) {
      await credit.spend(1, 10 * MiB - credit.sentBytes)
      await eventually(() => upstream.bytes() >= credit.sentBytes)
      await credit.round()
      rounds++
    }

    expect(rounds).toBeLessThanOrEqual(10)
    client.socket.destroy()
  })

  test('bodies that wait for their upstream leave room for another body', async () => {
    const { client, credit, reading, fill } = await widened()
    await fill(8)

    for (let moved = 0; moved < 4 * MiB; ) {
      const before = reading.bytes()
      const bytes = await credit.spend(1)
      await eventually(() => reading.bytes() >= before + bytes)
      await credit.round()
      moved += bytes
    }

    expect(client.socket.destroyed).toBe(false)
    client.socket.destroy()
  })

  test('a body over its limit gets 413 while its window is wide, and the connection stays open', async () => {
    const upstream = await counting()
    const market = await httpUpstream()
    const { port, line } = await bootHttp2({
      upstreams: { valuation: upstream.url, market: market.url },
      operations: { 'valuation.score': { maxBody: '1MiB' } },
    })
    const client = await frameClient(port)
    const credit = new FlowControlWindows(client)
    await client.send(head(1, get('/valuation/score', 'POST'), false))

    await credit.spend(1)
    await client.frame(isWidening)
    await credit.round()
    await credit.spend(1)
    await client.frame(({ type, stream }) => type === 1 && stream === 1)
    await client.send(head(3))

    expect(await line(({ operation }) => operation === 'valuation.score')).toMatchObject({ status: 413 })
    const isEnd = ({ type, stream, flags }: Frame): boolean => type === 0 && stream === 3 && (flags & 1) === 1
    expect(await client.frame(isEnd)).toBeDefined()
    expect(credit.sentBytes).toBeLessThanOrEqual(4 * MiB)
  })

  // The attack: a body that is read widens the windows; then a hundred wide bodies are not read.
  test('a client that ignores SETTINGS has at most 10 MiB waiting on a connection, not 200', async () => {
    const { client, credit, fill } = await widened(false)
    const before = credit.sentBytes

    await fill(98)

    expect(credit.sentBytes - before).toBeLessThan(10 * MiB)
    expect(client.socket.destroyed).toBe(false)
    client.socket.destroy()
  })

  // What waits is gathered: each byte is still where it was.
  test('a body that waits for its upstream repeatedly arrives unchanged', async () => {
    const body = pseudoRandomBytes(1024 * 1024)
    const upstream = await httpUpstream()
    const narrow = await narrowTo(upstream.port)
    const { port } = await bootHttp2({ upstream: narrow.url })
    const stream = dialHttp2(port).request({ ':path': '/risk/asset-valuation', ':method': 'POST' })
    const response = readStreamResponse(stream)

    for (let at = 0; at < body.length; at += 700) stream.write(body.subarray(at, at + 700))
    stream.end()

    expect(await response).toMatchObject({ status: 200 })
    expect(upstream.requests.map(({ sha256 }) => sha256)).toEqual([sha256(body)])
  })

  const asking = { ':method': 'POST', ':path': '/unknown' }

  test('bytes that a client still sends after its rejection are read, and its stream is not reset', async () => {
    const { port } = await bootHttp2()
    const stream = dialHttp2(port).request(asking)
    const heard = readStreamResponse(stream)
    await once(stream, 'response')

    for (let i = 0; i < pieces; i++) if (!stream.write(piece)) await once(stream, 'drain')
    stream.end()

    expect(await heard).toMatchObject({ status: 404, code: 0 })
    expect(stream.writableFinished).toBe(true)
  })

  test('a rejection is recorded when it is out, however long its client continues', async () => {
    const booted = await bootHttp2()
    const stream = dialHttp2(booted.port).request(asking)
    stream.on('error', () => {})
    stream.write(piece)

    const line = await booted.line(({ failure }) => failure === 'not-found')
    stream.close(8) // CANCEL

    expect(line.status).toBe(404)
  })
})
