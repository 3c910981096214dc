import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { type LinkOptions, slowLink } from './slow-link.ts'
import { pseudoRandomBytes, sha256 } from './wire.ts'

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
  server.end('response')
  const response = await readAll(client)

  expect([String(question), String(response)]).toEqual(['question', 'response'])
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
