import { afterEach, expect, test, vi } from 'vitest'
import { bootGateway } from '../helpers/gateway.ts'
import { parseStatus, rawClient } from '../helpers/raw-client.ts'
import { rawUpstream } from '../helpers/upstream.ts'
import { eventually, renderHead } from '../helpers/wire.ts'

// The attack: an upload of a byte a second. No gap in it is long, so nothing ends it, and it holds a connection to the
// upstream for days. What the rate is measured by is `min-rate.test.ts`'s.
afterEach(() => void vi.useRealTimers())

/** Opens a gateway that asks for 10 bytes a second, and a client that has sent its head. */
const begin = async (...framing: readonly string[]) => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] })
  let arrived = 0
  const upstream = await rawUpstream((socket) => {
    socket.on('data', ({ length }) => {
      arrived += length
    })
    socket.on('end', () => socket.end())
  })
  const { port, line } = await bootGateway({
    upstream: upstream.url,
    listen: { minRate: '10B/s', timeouts: { body: '30s' } },
    defaults: { deadline: 'none', timeouts: { headers: 'none' } },
  })
  const client = await rawClient(port)
  const fields = [...framing, 'Connection', 'keep-alive']
  client.send(renderHead({ method: 'POST', target: '/risk/asset-valuation', fields }))
  /** Sends a piece so many times, a second apart, each when the one before has arrived. */
  const send = async (piece: string, times: number): Promise<void> => {
    for (let i = 0; i < times && client.received() === ''; i++) {
      const had = arrived
      client.send(piece)
      await eventually(() => arrived > had || client.received() !== '')
      vi.advanceTimersByTime(1000)
    }
  }
  return { line, client, send, upstream }
}

const tooSlow = { failure: 'request-timeout', cause: 'sends less than listen.minRate' }

test('an upload slower than the rate is ended with 408, though no gap in it is long', async () => {
  const { client, send, line, upstream } = await begin('Transfer-Encoding', 'chunked')

  await send('1\r\na\r\n', 12)
  const text = await client.until((received) => received.includes('\r\n\r\n'))
  await eventually(() => upstream.connections() === 0)

  expect(parseStatus(text)).toBe(408)
  expect(text).toContain('Connection: close')
  expect(await line(({ failure }) => failure !== undefined)).toMatchObject(tooSlow)
})

test('an upload at the rate goes on', async () => {
  const { client, send } = await begin('Transfer-Encoding', 'chunked')

  await send(`a\r\n${'a'.repeat(10)}\r\n`, 40)
  client.close()

  expect(client.received()).toBe('')
})

test('a small body, which is read before it is sent, is held to the rate as well', async () => {
  const { client, line } = await begin('Content-Length', '1000')

  client.send('a')
  await eventually(() => {
    vi.advanceTimersByTime(100)
    return client.received() !== ''
  })

  expect(await line(({ failure }) => failure !== undefined)).toMatchObject(tooSlow)
  expect(parseStatus((await client.ended()).received)).toBe(408)
})
