import type { Socket } from 'node:net'
import { expect, test } from 'vitest'
import { fakeExchange } from '../../../helpers/exchange.ts'
import { openTestUpstream, sendOutcome } from '../../../helpers/open-upstream.ts'
import { onRequest, rawUpstream } from '../../../helpers/upstream.ts'
import { eventually } from '../../../helpers/wire.ts'

const ok = 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok'

test('of the connections that are free, a request goes out on the one that was used last', async () => {
  const held: Socket[] = []
  const used: Socket[] = []
  const { url } = await rawUpstream((socket) => {
    onRequest(socket, () => {
      if (held.length < 3) return held.push(socket)
      used.push(socket)
      return socket.write(ok)
    })
  })
  const upstream = openTestUpstream(url)
  let responded = 0
  for (const _ of [1, 2, 3]) void sendOutcome(upstream, fakeExchange()).then(() => responded++)
  await eventually(() => held.length === 3)
  for (const i of [0, 2, 1]) {
    const before = responded
    held[i]?.write(ok)
    await eventually(() => responded > before)
  }

  for (const _ of [1, 2, 3]) await sendOutcome(upstream, fakeExchange())

  expect(used.map((socket) => held.indexOf(socket))).toEqual([1, 1, 1])
})
