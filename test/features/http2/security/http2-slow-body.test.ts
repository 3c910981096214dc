import { afterEach, expect, test, vi } from 'vitest'
import { bootHttp2, codeOf, frame, frameClient, get, head, missing } from '../../../helpers/http2.ts'
import { httpUpstream, rawUpstream } from '../../../helpers/upstream.ts'
import { eventually } from '../../../helpers/wire.ts'

// The attack: as over HTTP/1.1, an upload of a byte a second; here a hundred of them share a connection.
afterEach(() => void vi.useRealTimers())

/**
 * Opens a gateway that asks for 10 bytes a second, and a client whose uploads send a piece a second, each when the one
 * before has arrived.
 */
const begin = async (piece: string) => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] })
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
  const answered = (stream: number): boolean => client.frames.some((each) => each.type === 1 && each.stream === stream)
  const send = async (pieces: number, first = ''): Promise<void> => {
    for (let i = 0; i < pieces && !answered(1); i++) {
      const had = arrived
      await client.send(frame(0, 0, 1, Buffer.from(i === 0 ? first + piece : piece)))
      await eventually(() => arrived > had || answered(1))
      vi.advanceTimersByTime(1000)
    }
  }
  return { booted, client, send, answered, upstream }
}

test.skipIf(missing !== null)(
  'an upload slower than the rate is ended with 408, and its connection goes on',
  async () => {
    const { client, send, booted, upstream } = await begin('a')

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
  },
)

test.skipIf(missing !== null)('an upload at the rate goes on', async () => {
  const { client, send, answered } = await begin('a'.repeat(10))

  await send(40)

  expect(answered(1)).toBe(false)
  client.socket.destroy()
})

test.skipIf(missing !== null)('an upload that slows down once its window is wide is ended all the same', async () => {
  const { client, send } = await begin('a')

  for (let i = 0; i < 4; i++) await send(1, 'a'.repeat(16_383))
  await client.frame(({ type, payload }) => type === 4 && payload.length === 6) // SETTINGS, of one setting: it is wide
  await send(25)
  const reset = await client.frame(({ type, stream }) => type === 3 && stream === 1)

  expect(reset && codeOf(reset)).toBe(0)
})
