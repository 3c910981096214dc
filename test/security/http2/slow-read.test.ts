import { constants } from 'node:http2'
import { afterEach, describe, expect, test, vi } from 'vitest'
import { bootGateway } from '../../helpers/gateway.ts'
import { codeOf, frame, frameClient, get, head, listenHttp2, missing } from '../../helpers/http2.ts'
import { endlessUpstream } from '../../helpers/http2-attack.ts'
import { httpUpstream } from '../../helpers/upstream.ts'
import { eventually } from '../../helpers/wire.ts'

const stopClock = (): void => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] })
afterEach(() => void vi.useRealTimers())

describe.skipIf(missing !== null)('a client that takes', () => {
  const window = 65_535
  const open = Buffer.alloc(4)
  open.writeUInt32BE(window)

  /** A gateway with this minimum rate, and a client that has taken the first window of an endless response. */
  const reader = async (minRate: string) => {
    stopClock()
    const { url } = await endlessUpstream()
    const booted = await bootGateway({
      upstream: url,
      listen: { ...listenHttp2('own'), minRate, timeouts: { body: '1h' } },
      defaults: { timeouts: { body: 'none' } },
    })
    const client = await frameClient(booted.port)
    const taken = (): number =>
      client.frames.reduce((sum, { type, payload }) => sum + (type === 0 ? payload.length : 0), 0)
    await client.send(head(1))
    await eventually(() => taken() === window)
    return { ...booted, client, taken }
  }

  test('a client that takes less than the rate has its stream cut, and no other stream', async () => {
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

  test('a client that takes the rate is not cut', async () => {
    const { client, lines, taken } = await reader('6KiB/s')

    for (let round = 2; round <= 12; round++) {
      vi.advanceTimersByTime(10_000)
      await client.send(frame(8, 0, 0, open), frame(8, 0, 1, open))
      await eventually(() => taken() === round * window || client.socket.destroyed)
    }

    expect(lines.filter(({ msg }) => msg === 'exchange')).toEqual([])
    client.socket.destroy()
  })

  // The system has a part of the last one, with its end.
  test('a client that takes nothing of responses that went out at once has its requests ended', async () => {
    const { url } = await httpUpstream((_, response) => void response.end(Buffer.alloc(60_000)))
    const { port, lines } = await bootGateway({
      upstream: url,
      listen: { ...listenHttp2('own'), timeouts: { body: '300ms' } },
    })
    const client = await frameClient(port)
    await client.send(frame(4, 0, 0, Buffer.from([0, 4, 0x7f, 0, 0, 0])), frame(8, 0, 0, Buffer.from([0x7f, 0, 0, 0])))
    client.socket.pause()

    for (let id = 1; !lines.some(({ reason }) => reason === 'takes-nothing'); id += 2) {
      await client.send(head(id))
      await eventually(() => lines.filter(({ msg }) => msg === 'exchange').length > id / 2)
    }

    client.socket.destroy()
  })
})
