import { expect, test } from 'vitest'
import { besiege, flood, mostBytes } from '../helpers/besieged.ts'
import { frame, get, head, missing } from '../helpers/http2.ts'
import { onRequest, rawUpstream } from '../helpers/upstream.ts'

const bytes = 4 * 1024 * 1024
const streams = Array.from({ length: 100 }, (_, n) => 2 * n + 1)

// CVE-2019-9511 and its kin: the window stays shut, and what was asked for has nowhere to go.
test.skipIf(missing !== null).each<[string, number, Buffer]>([
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

  const { attacker, statuses, grownBytes } = await besiege(
    async (attacker) => {
      await attacker.send(settings)
      await flood(attacker, 1, () => streams.map((stream) => head(stream, get())))
      for (const stream of streams) await attacker.frame((each) => each.type === 3 && each.stream === stream)
    },
    { upstreams: { market: upstream.url }, listen: { timeouts: { body: '1s' } } },
  )

  expect(attacker.frames.filter(({ type }) => type === 3)).toHaveLength(count)
  expect(attacker.frames.some(({ type, flags }) => type === 0 && flags === 1)).toBe(false)
  expect(attacker.socket.destroyed).toBe(false)
  expect(new Set(statuses)).toEqual(new Set([200]))
  expect(grownBytes).toBeLessThan(mostBytes)
})
