/** What keeps the page up to date, over real sockets. */
import type { IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'
import { fastify } from 'fastify'
import { expect, onTestFinished, test, vi } from 'vitest'
import { registerEventStream } from '../../../../src/features/console/page/page-routes.ts'
import { createSseHub, maxStreams } from '../../../../src/features/console/page/sse-hub.ts'
import { bootLiveGateway, fetchAdmin } from '../../../helpers/live-gateway.ts'
import { type RawClient, rawClient } from '../../../helpers/raw-client.ts'
import { eventually } from '../../../helpers/wire.ts'
import { fixture } from './fixture.ts'

const portOf = (admin: string): number => Number(new URL(admin).port)

/** Requests the stream, and waits until it has begun. */
const watch = async (admin: string, fields = ''): Promise<RawClient> => {
  const client = await rawClient(portOf(admin))
  onTestFinished(client.close)
  client.send(`GET /events HTTP/1.1\r\nHost: 127.0.0.1\r\n${fields}\r\n`)
  await client.until((received) => received.includes('event: tick\ndata: '))
  return client
}

test('the stream begins with the whole page, has a change with the next tick, and does not hold up a gateway that stops', async () => {
  const { admin, gateway } = await bootLiveGateway({
    upstream: { endpoints: ['http://127.0.0.1:1', 'http://127.0.0.1:2'] },
  })

  const client = await watch(admin)
  const body = JSON.stringify({ group: 'risk', url: 'http://127.0.0.1:1' })
  await fetchAdmin(`${admin}/endpoints/drain`, 'POST', { body })
  const ticksBefore = client.received().split('event: tick').length
  const received = await client.until((all) => /by 127.0.0.1 until/.test(all))
  await gateway.close()
  const ended = await client.ended()

  expect(ended).toMatchObject({ how: 'end', received: expect.stringContaining('event: end\ndata: leaving') })
  expect(received).toMatch(/^HTTP\/1\.1 200 OK\r\nContent-Type: text\/event-stream\r\nCache-Control: no-store\r\n/)
  for (const name of ['summary', 'findings', 'operations', 'upstreams', 'rejections', 'records'])
    expect(received).toContain(`"${name}":"<section id=`)
  expect(received).toContain('"operations":{"valuation.score"')
  expect(received.split('event: tick').length - ticksBefore).toBeLessThanOrEqual(2) // one may have been under way
})

test('when as many watch as may, the next one reads so in words', async () => {
  const { admin } = await bootLiveGateway()
  const all = await Promise.all(Array.from({ length: maxStreams }, () => watch(admin)))

  const rejected = await fetchAdmin(`${admin}/events`)
  all[0]?.close()

  expect(rejected.status).toBe(503)
  expect(rejected.headers.get('content-type')).toBe('application/problem+json')
  expect(rejected.body).toMatchObject({ code: 'too-many-streams', detail: expect.stringMatching(/^16 pages are live/) })
  await vi.waitFor(async () => expect((await watch(admin)).received()).toContain('event: tick'), 30_000)
})

/** Opens nothing but the stream, of which the first two frames have a given size. */
const openStream = async (
  bytes: number,
  isAuthorized = true,
  hook: (request: IncomingMessage) => unknown = () => {},
) => {
  const app = fastify()
  const sockets: Socket[] = []
  app.server.on('connection', (socket) => void sockets.push(socket))
  app.addHook('onRequest', async ({ raw }) => void (await hook(raw)))
  let reads = 0
  const { status } = fixture
  const streams = createSseHub(async () => {
    reads++
    const audit = status.audit && { ...status.audit, file: `${reads} `.padEnd(reads > 2 ? 0 : bytes, 'x') }
    return { ...fixture, status: { ...status, audit } }
  })
  registerEventStream(app, streams, () => isAuthorized)
  const admin = await app.listen({ port: 0, host: '127.0.0.1' })
  onTestFinished(async () => {
    streams.end()
    app.server.closeAllConnections()
    await app.close()
  })
  return { streams, sockets, admin, reads: () => reads }
}

/** Lets seconds go by, and their effects reach the sockets. */
const seconds = async (count: number): Promise<void> => {
  for (let second = 0; second < count; second++) {
    await vi.advanceTimersByTimeAsync(1000)
    await new Promise((resolve) => setImmediate(resolve))
  }
}

test('for a page that does not read nothing piles up, and in the end it is cut off', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] })
  onTestFinished(() => void vi.useRealTimers())
  const frameBytes = 8 * 1024 * 1024 // more than the kernel takes
  const { admin, streams, sockets, reads } = await openStream(frameBytes)
  const slow = await rawClient(portOf(admin))
  onTestFinished(slow.close)
  slow.socket.pause()
  slow.send('GET /events HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n')
  await eventually(() => streams.size() === 1)

  await seconds(10)
  const waiting = sockets[0]?.writableLength ?? 0
  const readsThen = reads()
  await seconds(30)

  expect(readsThen).toBeGreaterThanOrEqual(10)
  expect(waiting).toBeGreaterThan(0)
  expect(waiting).toBeLessThan(1.5 * frameBytes)
  expect(streams.size()).toBe(0) // it was cut off
})

test('a client that leaves while its token is verified takes no stream from another', async () => {
  const handled = Promise.withResolvers<void>()
  const { admin, streams } = await openStream(10, true, async (request) => {
    const closed = new Promise((resolve) => request.once('close', resolve))
    client.close()
    await closed
    setImmediate(handled.resolve)
  })
  const client = await rawClient(portOf(admin))

  client.send('GET /events HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n')
  await handled.promise

  expect(streams.size()).toBe(0)
})

test('a page whose operator may no longer see it when its stream begins is told so', async () => {
  const { admin } = await openStream(10, false)

  const response = await fetch(`${admin}/events`)

  expect(response.headers.get('content-type')).toBe('text/event-stream')
  expect(await response.text()).toBe('retry: 1000\n\nevent: end\ndata: session\n\n')
})
