import { constants } from 'node:http2'
import type { Socket } from 'node:net'
import { afterEach, expect, vi } from 'vitest'
import { bootHttp2, codeOf, frame, frameClient, get, head, missing } from '../../../helpers/http2.ts'
import { flood, maxGrowthBytes, runAttack } from '../../../helpers/http2-attack.ts'
import { drill, test } from '../../../helpers/speed.ts'
import { onRequest, rawUpstream } from '../../../helpers/upstream.ts'
import { eventually } from '../../../helpers/wire.ts'

const bytes = 4 * 1024 * 1024
const streams = Array.from({ length: 100 }, (_, n) => 2 * n + 1)

// CVE-2019-9511 and its kin: the window stays shut, and what was asked for has nowhere to go.
drill.skipIf(missing !== null).each<[string, number, Buffer]>([
  ['opens no window', 100, frame(4, 0, 0, Buffer.from([0, 4, 0, 0, 0, 0]))],
  ['opens it for the head of each alone', 100, frame(4, 0, 0, Buffer.from([0, 4, 0, 0, 0, 1]))],
])('a client that asks for much and %s has its streams cut', async (_, count, settings) => {
  let open = 0
  const upstream = await rawUpstream((socket) => {
    open++
    socket.on('close', () => open--).on('end', () => socket.end())
    onRequest(
      socket,
      () => void socket.write(`HTTP/1.1 200 OK\r\nContent-Length: ${bytes}\r\n\r\n${'a'.repeat(bytes)}`),
    )
  })

  const { attacker, statuses, grownBytes } = await runAttack(
    async (attacker) => {
      await attacker.send(settings)
      await flood(attacker, 1, () => streams.map((stream) => head(stream, get())))
      for (const stream of streams) await attacker.frame((each) => each.type === 3 && each.stream === stream)
    },
    {
      upstreams: { market: upstream.url },
      // The upstream, in this process, has 400 MiB to write: on a busy machine it answers late.
      defaults: { deadline: 'none', timeouts: { connect: '60s', headers: 'none' } },
      listen: { timeouts: { body: '1s' } },
    },
  )

  expect(attacker.frames.filter(({ type }) => type === 3)).toHaveLength(count)
  expect(attacker.frames.some(({ type, flags }) => type === 0 && flags === 1)).toBe(false)
  expect(attacker.socket.destroyed).toBe(false)
  expect(new Set(statuses)).toEqual(new Set([200]))
  expect(grownBytes).toBeLessThan(maxGrowthBytes)
})

afterEach(() => void vi.useRealTimers())

const endless = (socket: Socket): void => {
  socket.write('HTTP/1.1 200 OK\r\nContent-Length: 1000000000\r\n\r\n')
  const more = (): void => void socket.write(Buffer.alloc(64 * 1024), (error) => void (error ?? more()))
  more()
}

/**
 * Opens a gateway that asks for so much, and a client that has asked for an endless response and taken the first window
 * of it.
 */
const reader = async (minRate: string) => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] })
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

const window = 65_535
const open = Buffer.alloc(4)
open.writeUInt32BE(window)

test.skipIf(missing !== null)('a client that takes less than the rate has its stream cut, and no other', async () => {
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

  expect(lines.find(({ msg }) => msg === 'exchange')).toMatchObject({
    ...{ failure: 'client-gone', status: 499, cause: 'takes less than listen.minRate' },
  })
  expect(passed).toBeLessThan(60_000)
  expect(reset).toMatchObject({ stream: 1 })
  expect(reset && codeOf(reset)).toBe(constants.NGHTTP2_INTERNAL_ERROR)
  expect(await client.frame(({ type, stream }) => type === 1 && stream === 3)).toBeDefined()
})

test.skipIf(missing !== null)('one that takes as much as the rate asks for is not', async () => {
  const { client, lines, taken } = await reader('6KiB/s')

  for (let round = 2; round <= 12; round++) {
    vi.advanceTimersByTime(10_000)
    await client.send(frame(8, 0, 0, open), frame(8, 0, 1, open))
    await eventually(() => taken() === round * window || client.socket.destroyed)
  }

  expect(lines.filter(({ msg }) => msg === 'exchange')).toEqual([])
  client.socket.destroy()
})
