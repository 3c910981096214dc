import { expect, test } from 'vitest'
import { block, bootHttp2, type FrameClient, frame, frameClient, get, missing } from '../../../helpers/http2.ts'

const listen = { timeouts: { headers: '600ms', keepAlive: '600ms' } }

/** Pings as often as is no flood. */
const keepBusy = async (client: FrameClient): Promise<void> => {
  for (let n = 0; n < 100 && !client.socket.destroyed; n++) {
    const responses = client.frames.filter(({ type }) => type === 6).length
    await client.send(frame(6, 0, 0, Buffer.alloc(8)))
    await client.frame(() => client.frames.filter(({ type }) => type === 6).length > responses)
  }
}

test.skipIf(missing !== null).each<[string, boolean, (client: FrameClient) => Promise<void>]>([
  ['says nothing at all', false, async () => {}],
  ['only greets', true, async () => {}],
  ['begins a head and never ends it', true, (client) => client.send(frame(1, 1, 1, block(...get())))],
  ['sends a part of a frame', true, (client) => client.send(frame(1, 5, 1, block(...get())).subarray(0, 20))],
  ['pings and pings', true, keepBusy],
])('a client that %s has its connection closed, and the log says 408', async (_, greets, act) => {
  const { port, line } = await bootHttp2({ listen })
  const client = await frameClient(port, greets)

  await act(client)
  await client.ended()

  expect(await line(({ msg }) => msg === 'exchange')).toMatchObject({ status: 408, failure: 'request-timeout' })
})
