import { afterEach, expect, test, vi } from 'vitest'
import { bootGateway } from '../helpers/gateway.ts'
import { parseStatus, rawClient } from '../helpers/raw-client.ts'
import { rawUpstream } from '../helpers/upstream.ts'
import { eventually, renderHead } from '../helpers/wire.ts'

// The attack: an upload of a byte a second. No gap in it is long, so nothing ends it, and it holds a connection to the
// upstream for days.
afterEach(() => void vi.useRealTimers())

const post = (...framing: readonly string[]): string =>
  renderHead({ method: 'POST', target: '/risk/asset-valuation', fields: [...framing, 'Connection', 'keep-alive'] })

/**
 * Opens a gateway that asks for 10 bytes a second, and a client that sends pieces of its upload, each a second after
 * the other.
 */
const begin = async (head: string, piece: (nth: number) => string) => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] })
  let arrived = ''
  const upstream = await rawUpstream((socket) => {
    socket.setEncoding('latin1')
    socket.on('data', (text: string) => {
      arrived += text
    })
    socket.on('end', () => socket.end())
  })
  const booted = await bootGateway({
    upstream: upstream.url,
    listen: { minRate: '10B/s', timeouts: { body: '30s' } },
    defaults: { deadline: 'none', timeouts: { headers: 'none' } },
  })
  const client = await rawClient(booted.port)
  client.send(head)
  /** Sends so many pieces, a second apart, each when the one before has arrived. */
  const send = async (pieces: number): Promise<void> => {
    for (let i = 0; i < pieces && client.received() === ''; i++) {
      const had = arrived.length
      client.send(piece(i))
      await eventually(() => arrived.length > had || client.received() !== '')
      vi.advanceTimersByTime(1000)
    }
  }
  return { booted, client, send, upstream }
}

test('an upload slower than the rate is ended with 408, though no gap in it is long', async () => {
  const { client, send, booted, upstream } = await begin(post('Transfer-Encoding', 'chunked'), () => '1\r\na\r\n')

  await send(12)
  const text = await client.until((received) => received.includes('\r\n\r\n'))
  await eventually(() => upstream.connections() === 0)

  expect(parseStatus(text)).toBe(408)
  expect(text).toContain('Connection: close')
  expect(await booted.line(({ failure }) => failure !== undefined)).toMatchObject({
    failure: 'request-timeout',
    cause: 'sends less than listen.minRate',
  })
})

test('an upload at the rate goes on', async () => {
  const { client, send } = await begin(post('Transfer-Encoding', 'chunked'), () => `a\r\n${'a'.repeat(10)}\r\n`)

  await send(40)
  client.close()

  expect(client.received()).toBe('')
})

test('a small body, which is read before it is sent, is held to the rate as well', async () => {
  const { client, booted } = await begin(post('Content-Length', '1000'), () => '')

  client.send('a')
  const line = booted.line(({ failure }) => failure !== undefined)
  let answered = false
  void line.then(() => {
    answered = true
  })
  await eventually(() => {
    if (!answered) vi.advanceTimersByTime(100)
    return answered
  })

  expect(await line).toMatchObject({ failure: 'request-timeout', cause: 'sends less than listen.minRate' })
  expect(parseStatus((await client.ended()).received)).toBe(408)
})
