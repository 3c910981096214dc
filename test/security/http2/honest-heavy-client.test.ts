// No attack: the maximum of requests under way, long heads, and windows that open by 1 KiB (Go's client: by 4 KiB).
import { expect } from 'vitest'
import { frame, get, head } from '../../helpers/http2.ts'
import { type Attack, attack, ping, test, wentOn } from '../../helpers/http2-attack.ts'
import { httpUpstream } from '../../helpers/upstream.ts'

const cookie = head(0, [...get(), 'cookie', 'a'.repeat(20_000)]).subarray(9)
const longHead = (stream: number): Buffer[] => [
  frame(1, 1, stream, cookie.subarray(0, 16_384)),
  frame(9, 4, stream, cookie.subarray(16_384)),
]

const narrow = frame(4, 0, 0, Buffer.from([0, 4, 0, 0, 3, 255]))

test.each([
  ['at the limits', []],
  ['with windows of 1 KiB', [narrow]],
])('a client %s is not cut off', async (_, settings) => {
  const rounds = 4
  const upstream = await httpUpstream((__, response) => void response.end(Buffer.alloc(20_000)))
  let served = 0
  const load: Attack = async ({ socket, send, frames, frame: received }) => {
    await send(...settings)
    for (let round = 0, at = 0; round < rounds; round++) {
      const streams = Array.from({ length: 100 }, (_, n) => 202 * round + 2 * n + 1)
      await send(ping, ...streams.flatMap((stream) => (stream % 4 === 1 ? longHead(stream) : [head(stream)])))
      while (served < (round + 1) * 100 && !socket.destroyed) {
        await received(() => frames.length > at)
        const updates: Buffer[] = []
        for (; at < frames.length; at++) {
          const { type, flags, stream, payload } = frames[at] as (typeof frames)[number]
          if (type !== 0) continue
          if ((flags & 1) === 1) served++
          for (let left = payload.length; left > 0; left -= 1024) {
            const window = Buffer.from([0, 0, Math.min(left, 1024) >> 8, Math.min(left, 1024) & 255])
            updates.push(frame(8, 0, 0, window), frame(8, 0, stream, window))
          }
        }
        await send(...updates)
      }
      // The client gives up a few, as people do who leave a page.
      await send(head(202 * round + 201), frame(3, 0, 202 * round + 201, Buffer.from([0, 0, 0, 8])))
    }
  }

  const { outcome } = await attack(load, { upstreams: { market: upstream.url } })

  expect(outcome).toEqual(wentOn)
  expect(served).toBe(100 * rounds)
})
