import { expect, test } from 'vitest'
import { bootGateway } from '../../helpers/gateway.ts'
import { block, type FrameClient, frame, frameClient, get, listenHttp2, missing } from '../../helpers/http2.ts'

/** Pings as often as is no flood. */
const keepBusy = async (client: FrameClient): Promise<void> => {
  for (let n = 0; n < 100 && !client.socket.destroyed; n++) {
    const responses = client.frames.filter(({ type }) => type === 6).length
    await client.send(frame(6, 0, 0, Buffer.alloc(8)))
    await client.frame(() => client.frames.filter(({ type }) => type === 6).length > responses)
  }
}

test.skipIf(missing !== null)('clients that never send a request are closed, and the log says 408', async () => {
  const { port, lines, line } = await bootGateway({
    listen: { ...listenHttp2('own'), timeouts: { headers: '600ms', keepAlive: '600ms' } },
  })
  const acts: readonly (readonly [greets: boolean, act: (client: FrameClient) => Promise<void>])[] = [
    [false, async () => {}],
    [true, async () => {}],
    [true, (client) => client.send(frame(1, 1, 1, block(...get())))], // a head that never ends
    [true, (client) => client.send(frame(1, 5, 1, block(...get())).subarray(0, 20))], // a part of a frame
    [true, keepBusy],
  ]

  await Promise.all(
    acts.map(async ([greets, act]) => {
      const client = await frameClient(port, greets)
      await act(client)
      await client.ended()
    }),
  )

  await line(() => lines.filter(({ msg }) => msg === 'exchange').length === acts.length)
  const late = { status: 408, failure: 'request-timeout' }
  expect(lines.filter(({ msg }) => msg === 'exchange')).toMatchObject(acts.map(() => late))
})
