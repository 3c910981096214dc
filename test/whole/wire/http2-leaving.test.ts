/**
 * When GOAWAY goes (RFC 9113 §6.8). Some clients, Java 17's among them, give up whatever is under way when it comes.
 */
import type { Socket } from 'node:net'
import { afterEach, describe, expect, test, vi } from 'vitest'
import { codeOf, type FrameClient, frame, frameClient, head, listenHttp2, missing } from '../../helpers/http2.ts'
import { bootLiveGateway, fetchAdmin } from '../../helpers/live-gateway.ts'
import { onRequest, rawUpstream } from '../../helpers/upstream.ts'
import { eventually } from '../../helpers/wire.ts'

afterEach(() => void vi.useRealTimers())

/** Boots a gateway whose clock stands still, before an upstream that responds when the test says so. */
const arrange = async (listen: object = {}) => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] })
  const requests: Socket[] = []
  const upstream = await rawUpstream((socket) => onRequest(socket, () => void requests.push(socket)))
  const timeouts = { headers: '30m', body: '30m' }
  const settings = (changed: object) => ({
    upstream: { endpoints: [upstream.url], timeouts, deadline: 'none', retry: 'none' },
    listen: { ...listenHttp2(), ...listen, ...changed },
    shutdown: { wait: '10m', deadline: '20m' },
  })
  const live = await bootLiveGateway(settings({}))
  const client = await frameClient(live.gateway.address.port)
  return {
    client,
    lines: live.lines,
    async begin(stream: number) {
      const before = requests.length
      await client.send(head(stream))
      await eventually(() => requests.length > before)
    },
    async respond(nth: number, stream: number) {
      requests[nth]?.end('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok')
      await client.frame((each) => each.stream === stream && each.type === 0 && (each.flags & 1) === 1)
    },
    async edit() {
      live.edit(settings({ maxTarget: '16KiB' }))
      await fetchAdmin(`${live.admin}/reload`, 'POST')
    },
    drain: () => void live.gateway.close(600_000),
    stop: () => void live.gateway.close(),
  }
}

/** Waits until the gateway has read what was sent, and what it has written has arrived; or has ended the connection. */
const roundTrip = async (client: FrameClient): Promise<void> => {
  const acknowledged = client.frames.filter(isPong).length
  await client.send(frame(6, 0, 0, Buffer.alloc(8)))
  await eventually(() => client.frames.filter(isPong).length > acknowledged || client.socket.readableEnded)
}
const isPong = ({ type, flags }: FrameClient['frames'][number]): boolean => type === 6 && flags === 1

const goneAway = async (client: FrameClient): Promise<boolean> => {
  await roundTrip(client)
  return client.frames.some(({ type }) => type === 7)
}

const goAway = async (client: FrameClient): Promise<number | undefined> => {
  const found = await client.frame(({ type }) => type === 7)
  return found && codeOf(found)
}

type Arranged = Awaited<ReturnType<typeof arrange>>

describe.skipIf(missing !== null)('over HTTP/2', () => {
  const onlyOne = { maxRequestsPerConnection: 1 }

  test.each<[string, object, (gateway: Arranged) => unknown]>([
    ['drains', {}, ({ drain }) => drain()],
    ['has an edit that ends connections', {}, ({ edit }) => edit()],
    ['serves the last request of the connection', onlyOne, () => {}],
  ])('a gateway that %s says GOAWAY when nothing has been under way for 100 ms', async (_, listen, cause) => {
    const arranged = await arrange(listen)
    const { client, begin, respond } = arranged

    await begin(1)
    await cause(arranged)
    await begin(3)
    await respond(0, 1)
    await respond(1, 3)
    await roundTrip(client)
    vi.advanceTimersByTime(99)
    await begin(5)
    vi.advanceTimersByTime(1_000)
    await respond(2, 5)
    await roundTrip(client)
    vi.advanceTimersByTime(99)
    const before = await goneAway(client)
    vi.advanceTimersByTime(1)

    expect([before, await goAway(client)]).toEqual([false, 0])
    const exchanges = arranged.lines.filter(({ msg }) => msg === 'exchange')
    expect(exchanges.map(({ status }) => status)).toEqual([200, 200, 200])
  })

  test.each<[string, object, (gateway: Arranged) => unknown]>([
    ['an edit', {}, ({ edit }) => edit()],
    ['the last request of the connection', onlyOne, () => {}],
  ])('a client that always has a request under way gets GOAWAY 30 s after %s', async (_, listen, cause) => {
    const arranged = await arrange(listen)
    const { client, begin, respond } = arranged

    await begin(1)
    await cause(arranged)
    vi.advanceTimersByTime(20_000)
    await begin(3)
    await respond(0, 1)
    vi.advanceTimersByTime(9_999)
    const before = await goneAway(client)
    vi.advanceTimersByTime(1)
    const code = await goAway(client)
    await respond(1, 3)

    expect([before, code]).toEqual([false, 0])
  })

  test('requests that their client gives up count towards those that a connection may carry', async () => {
    const { client, begin } = await arrange({ maxRequestsPerConnection: 2 })
    const goneAfter: boolean[] = []

    for (const stream of [1, 3]) {
      await begin(stream)
      await client.send(frame(3, 0, stream, Buffer.from([0, 0, 0, 8])))
      await roundTrip(client)
      vi.advanceTimersByTime(100)
      goneAfter.push(await goneAway(client))
    }
    await client.send(head(5))

    expect(goneAfter).toEqual([false, true])
    expect(await client.frame(({ type, stream }) => stream === 5 && type === 1)).toBe(undefined)
  })

  test('a connection that was opened just before an edit serves its first request', async () => {
    const { client, begin, respond, edit, lines } = await arrange()

    await edit()
    const before = await goneAway(client)
    await begin(1)
    await respond(0, 1)
    await roundTrip(client)
    vi.advanceTimersByTime(100)

    expect([before, await goAway(client)]).toEqual([false, 0])
    expect(lines.map(({ reason }) => reason)).not.toContain('head-too-slow')
  })

  test('a gateway that stops says GOAWAY when the requests that were under way have ended, though later ones are', async () => {
    const { client, begin, respond, stop } = await arrange()

    await begin(1)
    await begin(3)
    stop()
    await begin(5)
    await respond(0, 1)
    const before = await goneAway(client)
    await respond(1, 3)
    const code = await goAway(client)
    await respond(2, 5)

    expect([before, code]).toEqual([false, 0])
  })

  test('a gateway that stops says GOAWAY when half of the time that it has is over', async () => {
    const { client, begin, respond, stop } = await arrange()

    await begin(1)
    stop()
    vi.advanceTimersByTime(599_999)
    const before = await goneAway(client)
    vi.advanceTimersByTime(1)
    const code = await goAway(client)
    await respond(0, 1)

    expect([before, code]).toEqual([false, 0])
  })
})
