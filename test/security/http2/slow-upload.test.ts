import { afterEach, describe, expect, test, vi } from 'vitest'
import { bootGateway } from '../../helpers/gateway.ts'
import { codeOf, frame, frameClient, get, head, listenHttp2, missing } from '../../helpers/http2.ts'
import { isWidening } from '../../helpers/http2-flow-control.ts'
import { httpUpstream, rawUpstream } from '../../helpers/upstream.ts'
import { eventually } from '../../helpers/wire.ts'

const stopClock = (): void => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] })
afterEach(() => void vi.useRealTimers())

// The attack: an upload of a byte a second, a hundred of them on one connection.
describe.skipIf(missing !== null)('an upload', () => {
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
    const booted = await bootGateway({
      upstreams: { risk: upstream.url, market: other.url },
      listen: { ...listenHttp2('own'), minRate: '10B/s', timeouts: { body: '30s' } },
      defaults: { deadline: 'none', timeouts: { headers: 'none' } },
    })
    const client = await frameClient(booted.port)
    await client.send(head(1, get('/risk/asset-valuation', 'POST'), false))
    const responded = (): boolean => client.frames.some(({ type, stream }) => type === 1 && stream === 1)
    const send = async (pieces: number, first = ''): Promise<void> => {
      for (let i = 0; i < pieces && !responded(); i++) {
        const had = arrived
        await client.send(frame(0, 0, 1, Buffer.from(i === 0 ? `${first}a` : 'a')))
        await eventually(() => arrived > had || responded())
        vi.advanceTimersByTime(1000)
      }
    }
    return { booted, client, send, upstream }
  }

  test('an upload slower than the rate gets 408, and its connection stays open', async () => {
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

  test('an upload that slows down once its window is wide is ended too', async () => {
    const { client, send } = await begin()

    for (let i = 0; i < 4; i++) await send(1, 'a'.repeat(16_383))
    await client.frame(isWidening)
    await send(25)
    const reset = await client.frame(({ type, stream }) => type === 3 && stream === 1)

    expect(reset && codeOf(reset)).toBe(0)
  })
})
