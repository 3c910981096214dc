/** Clients that send or take too slowly, or nothing at all. */
import { constants } from 'node:http2'
import type { Socket } from 'node:net'
import { afterAll, afterEach, expect, vi } from 'vitest'
import {
  block,
  bootHttp2,
  codeOf,
  type FrameClient,
  frame,
  frameClient,
  get,
  head,
  missing,
} from '../../../helpers/http2.ts'
import { attackedGateway, flood, maxGrowthBytes } from '../../../helpers/http2-attack.ts'
import { isWidening } from '../../../helpers/http2-flow-control.ts'
import { describeDrills, describeTests, drill, test } from '../../../helpers/speed.ts'
import { httpUpstream, onRequest, openRawUpstream, type RawUpstream, rawUpstream } from '../../../helpers/upstream.ts'
import { eventually } from '../../../helpers/wire.ts'

const stopClock = (): void => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] })
afterEach(() => void vi.useRealTimers())

// The attack: as over HTTP/1.1, an upload of a byte a second; here a hundred of them share a connection.
describeTests.skipIf(missing !== null)('an upload', () => {
  /**
   * Opens a gateway that asks for 10 bytes a second, and a client whose uploads send a byte a second, each when the
   * one before has arrived.
   */
  const begin = async () => {
    stopClock()
    let arrived = 0
    const upstream = await rawUpstream((socket) => {
      socket.on('data', (chunk: Buffer) => {
        arrived += chunk.length
      })
      socket.on('end', () => socket.end())
    })
    const other = await httpUpstream()
    const booted = await bootHttp2({
      upstreams: { risk: upstream.url, market: other.url },
      listen: { minRate: '10B/s', timeouts: { body: '30s' } },
      defaults: { deadline: 'none', timeouts: { headers: 'none' } },
    })
    const client = await frameClient(booted.port)
    await client.send(head(1, get('/risk/asset-valuation', 'POST'), false))
    const answered = (): boolean => client.frames.some(({ type, stream }) => type === 1 && stream === 1)
    const send = async (pieces: number, first = ''): Promise<void> => {
      for (let i = 0; i < pieces && !answered(); i++) {
        const had = arrived
        await client.send(frame(0, 0, 1, Buffer.from(i === 0 ? `${first}a` : 'a')))
        await eventually(() => arrived > had || answered())
        vi.advanceTimersByTime(1000)
      }
    }
    return { booted, client, send, upstream }
  }

  test('slower than the rate is ended with 408, and its connection goes on', async () => {
    const { client, send, booted, upstream } = await begin()

    await send(12)
    const reset = await client.frame(({ type, stream }) => type === 3 && stream === 1)
    await client.send(head(3))

    expect(reset && codeOf(reset)).toBe(0)
    expect(await booted.line(({ operation }) => operation === 'risk.asset-valuation')).toMatchObject({
      status: 408,
      failure: 'request-timeout',
      cause: 'sends less than listen.minRate',
    })
    expect(await client.frame(({ type, stream }) => type === 1 && stream === 3)).toBeDefined()
    await eventually(() => upstream.connections() === 0)
  })

  test('that slows down once its window is wide is ended all the same', async () => {
    const { client, send } = await begin()

    for (let i = 0; i < 4; i++) await send(1, 'a'.repeat(16_383))
    await client.frame(isWidening)
    await send(25)
    const reset = await client.frame(({ type, stream }) => type === 3 && stream === 1)

    expect(reset && codeOf(reset)).toBe(0)
  })
})

describeTests.skipIf(missing !== null)('a client that takes', () => {
  const window = 65_535
  const open = Buffer.alloc(4)
  open.writeUInt32BE(window)

  const endless = (socket: Socket): void => {
    socket.write('HTTP/1.1 200 OK\r\nContent-Length: 1000000000\r\n\r\n')
    const more = (): void => void socket.write(Buffer.alloc(64 * 1024), (error) => void (error ?? more()))
    more()
  }

  /**
   * Opens a gateway that asks for so much, and a client that has asked for an endless response and taken the first
   * window of it.
   */
  const reader = async (minRate: string) => {
    stopClock()
    const upstream = await rawUpstream((socket) => onRequest(socket, () => endless(socket)))
    const booted = await bootHttp2({
      upstream: upstream.url,
      listen: { minRate, timeouts: { body: '1h' } },
      defaults: { timeouts: { body: 'none' } },
    })
    const client = await frameClient(booted.port)
    const taken = (): number =>
      client.frames.reduce((sum, { type, payload }) => sum + (type === 0 ? payload.length : 0), 0)
    await client.send(head(1))
    await eventually(() => taken() === window)
    return { ...booted, client, taken }
  }

  test('less than the rate has its stream cut, and no other', async () => {
    const { client, lines } = await reader('10MiB/s')

    let passed = 0
    await eventually(() => {
      if (lines.some(({ msg }) => msg === 'exchange')) return true
      vi.advanceTimersByTime(10)
      passed += 10
      return false
    })
    const reset = await client.frame(({ type }) => type === 3)
    await client.send(head(3, get('/nothing')))

    const cause = 'takes less than listen.minRate'
    expect(lines.find(({ msg }) => msg === 'exchange')).toMatchObject({ failure: 'client-gone', status: 499, cause })
    expect(passed).toBeLessThan(60_000)
    expect(reset).toMatchObject({ stream: 1 })
    expect(reset && codeOf(reset)).toBe(constants.NGHTTP2_INTERNAL_ERROR)
    expect(await client.frame(({ type, stream }) => type === 1 && stream === 3)).toBeDefined()
  })

  test('as much as the rate asks for has not', async () => {
    const { client, lines, taken } = await reader('6KiB/s')

    for (let round = 2; round <= 12; round++) {
      vi.advanceTimersByTime(10_000)
      await client.send(frame(8, 0, 0, open), frame(8, 0, 1, open))
      await eventually(() => taken() === round * window || client.socket.destroyed)
    }

    expect(lines.filter(({ msg }) => msg === 'exchange')).toEqual([])
    client.socket.destroy()
  })
})

/** Pings as often as is no flood. */
const keepBusy = async (client: FrameClient): Promise<void> => {
  for (let n = 0; n < 100 && !client.socket.destroyed; n++) {
    const responses = client.frames.filter(({ type }) => type === 6).length
    await client.send(frame(6, 0, 0, Buffer.alloc(8)))
    await client.frame(() => client.frames.filter(({ type }) => type === 6).length > responses)
  }
}

test.skipIf(missing !== null)('clients that never send a request are closed, and the log says 408', async () => {
  const { port, lines, line } = await bootHttp2({ listen: { timeouts: { headers: '600ms', keepAlive: '600ms' } } })
  const acts: readonly (readonly [greets: boolean, act: (client: FrameClient) => Promise<void>])[] = [
    [false, async () => {}],
    [true, async () => {}],
    [true, (client) => client.send(frame(1, 1, 1, block(...get())))], // a head that never ends
    [true, (client) => client.send(frame(1, 5, 1, block(...get())).subarray(0, 20))], // a part of a frame
    [true, keepBusy],
  ]

  await Promise.all(
    acts.map(async ([greets, act]) => {
      const client = await frameClient(port, greets)
      await act(client)
      await client.ended()
    }),
  )

  await line(() => lines.filter(({ msg }) => msg === 'exchange').length === acts.length)
  const late = { status: 408, failure: 'request-timeout' }
  expect(lines.filter(({ msg }) => msg === 'exchange')).toMatchObject(acts.map(() => late))
})

// CVE-2019-9511 and its kin: the window stays shut, and what was asked for has nowhere to go.
describeDrills.skipIf(missing !== null)('a client that asks for much', () => {
  const bytes = 4 * 1024 * 1024
  const streams = Array.from({ length: 100 }, (_, n) => 2 * n + 1)
  const response = `HTTP/1.1 200 OK\r\nContent-Length: ${bytes}\r\n\r\n${'a'.repeat(bytes)}`
  let market: RawUpstream
  afterAll(() => market.close())
  const attack = attackedGateway(async () => {
    market = await openRawUpstream((socket) => {
      socket.on('end', () => socket.end())
      onRequest(socket, () => void socket.write(response))
    })
    return {
      upstreams: { market: market.url },
      // The upstream, in this process, has 400 MiB to write: on a busy machine it answers late.
      defaults: { deadline: 'none', timeouts: { connect: '60s', headers: 'none' } },
      listen: { timeouts: { body: '1s' } },
    }
  })

  drill.each<[string, Buffer]>([
    ['opens no window', frame(4, 0, 0, Buffer.from([0, 4, 0, 0, 0, 0]))],
    ['opens it for the head of each alone', frame(4, 0, 0, Buffer.from([0, 4, 0, 0, 0, 1]))],
  ])('and %s has its streams cut', async (_, settings) => {
    const { attacker, statuses, grownBytes } = await attack(async (attacker) => {
      await attacker.send(settings)
      await flood(attacker, 1, () => streams.map((stream) => head(stream, get())))
      for (const stream of streams) await attacker.frame((each) => each.type === 3 && each.stream === stream)
    })

    expect(attacker.frames.filter(({ type }) => type === 3)).toHaveLength(100)
    expect(attacker.frames.some(({ type, flags }) => type === 0 && flags === 1)).toBe(false)
    expect(attacker.socket.destroyed).toBe(false)
    expect(new Set(statuses)).toEqual(new Set([200]))
    expect(grownBytes).toBeLessThan(maxGrowthBytes)
  })
})
