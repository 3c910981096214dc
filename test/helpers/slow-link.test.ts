import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import fc from 'fast-check'
import { expect, onTestFinished, test } from 'vitest'
import { Line, type LinkOptions, slowLink } from './slow-link.ts'
import { eventually, pseudoRandomBytes, sha256 } from './wire.ts'

/** Opens a link between two sockets, with both ends in hand. */
const ends = async (link: Omit<LinkOptions, 'to'>): Promise<{ readonly client: Socket; readonly server: Socket }> => {
  const listener = createServer({ allowHalfOpen: true })
  const accepted = once(listener, 'connection') as Promise<[Socket]>
  listener.listen(0, '127.0.0.1')
  await once(listener, 'listening')
  const { port, close } = await slowLink({ ...link, to: (listener.address() as AddressInfo).port })
  const client = connect({ port, host: '127.0.0.1', allowHalfOpen: true })
  const [server] = await accepted
  client.on('error', () => {})
  server.on('error', () => {})
  onTestFinished(async () => {
    client.destroy()
    server.destroy()
    listener.close()
    await close()
  })
  return { client, server }
}

const readAll = async (socket: Socket): Promise<Buffer> => {
  const chunks: Buffer[] = []
  socket.on('data', (chunk: Buffer) => chunks.push(chunk))
  await once(socket, 'end')
  return Buffer.concat(chunks)
}

test('what is sent arrives as it was, and not before its delay and its rate allow', async () => {
  const { client, server } = await ends({ delayMs: 30, bytesPerSecond: 1_000_000 })
  const sent = pseudoRandomBytes(200_000)
  const startedAt = performance.now()

  client.end(sent)
  const got = await readAll(server)

  expect(sha256(got)).toBe(sha256(sent))
  expect(performance.now() - startedAt).toBeGreaterThanOrEqual(230)
})

test('a half-close is passed on, and the other direction goes on', async () => {
  const { client, server } = await ends({ delayMs: 5 })

  client.end('question')
  const question = await readAll(server)
  server.end('answer')
  const response = await readAll(client)

  expect([String(question), String(response)]).toEqual(['question', 'answer'])
})

test('a reset arrives behind what was sent before it', async () => {
  const { client, server } = await ends({ delayMs: 5 })
  const got: string[] = []
  client.on('data', (chunk) => got.push(String(chunk)))
  const failed = new Promise<NodeJS.ErrnoException>((resolve) => client.once('error', resolve))

  client.write('question')
  await once(server, 'data')
  server.write('last words', () => server.resetAndDestroy())

  expect((await failed).code).toBe('ECONNRESET')
  expect(got).toEqual(['last words'])
})

test('a sender is held back when the window is full', async () => {
  const { client, server } = await ends({ delayMs: 20, bytesPerSecond: 20_000_000 })
  const piece = Buffer.alloc(64 * 1024)
  const pieces = 640 // 40 MiB
  let taken = 0
  let received = 0
  let most = 0
  server.on('data', (chunk: Buffer) => {
    received += chunk.length
  })

  for (let i = 0; i < pieces; i++)
    client.write(piece, () => {
      taken += piece.length
      most = Math.max(most, taken - received)
    })
  await eventually(() => received === pieces * piece.length)

  // The buffers of four sockets, and not all that was sent.
  expect(most).toBeLessThan(20 * 1024 * 1024)
})

test('no piece of a line arrives sooner than its rate and delay allow, nor out of order', () => {
  const sends = fc.array(fc.record({ bytes: fc.integer({ min: 1, max: 100_000 }), gapMs: fc.nat(50) }), {
    minLength: 1,
  })

  fc.assert(
    fc.property(sends, fc.nat(100), fc.integer({ min: 1, max: 10_000 }), (all, delayMs, bytesPerMs) => {
      const line = new Line(delayMs, bytesPerMs)
      let now = 0
      let sentBytes = 0
      let before = 0
      for (const { bytes, gapMs } of all) {
        now += gapMs
        sentBytes += bytes
        const dueAt = line.dueAt(bytes, now)
        expect(dueAt + 1e-6).toBeGreaterThanOrEqual(now + delayMs + bytes / bytesPerMs)
        expect(dueAt + 1e-6).toBeGreaterThanOrEqual(delayMs + sentBytes / bytesPerMs)
        expect(dueAt).toBeGreaterThan(before)
        before = dueAt
      }
    }),
  )
})

test('the pieces of a line are together what was sent', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 100_000 }), fc.integer({ min: 1, max: 10_000 }), (bytes, bytesPerMs) => {
      const pieces = new Line(0, bytesPerMs).pieces(Buffer.from(bytes))

      expect(Buffer.concat(pieces).equals(bytes)).toBe(true)
    }),
  )
})
