import { hash } from 'node:crypto'
import { expect, test } from 'vitest'
import { bootHttp2, dialHttp2, frame, frameClient, get, head, missing, requestHttp2 } from '../../helpers/http2.ts'
import { httpUpstream } from '../../helpers/upstream.ts'

const secret = 'A'.repeat(43)
const noWindow = frame(4, 0, 0, Buffer.from([0, 4, 0, 0, 0, 0]))
const posting = [...get('/inventory/sync', 'POST'), 'content-type', 'application/json', 'content-length', '2']

// The error of each has nowhere to go for as long as `listen.timeouts.body` lasts.
test.skipIf(missing !== null)('strangers who take no byte of their 401 hold no place of the clients', async () => {
  const { url } = await httpUpstream()
  const { port } = await bootHttp2({
    auth: { methods: ['apiKey'] },
    clients: [{ id: 'bank-a', operations: 'all', apiKeys: [{ id: 'key', sha256: hash('sha256', secret) }] }],
    upstreams: { market: { endpoints: [url], concurrency: 2 }, inventory: { endpoints: [url], concurrency: 2 } },
  })
  const stranger = await frameClient(port)
  await stranger.send(noWindow, head(1), head(3), head(5, posting, false), head(7, posting, false))
  for (const id of [1, 3, 5, 7]) await stranger.frame(({ type, stream }) => type === 1 && stream === id)
  const client = dialHttp2(port)
  const ask = (path: string, method: string) =>
    requestHttp2(client, { ':path': path, ':method': method, 'x-api-key': `key.${secret}` })

  const statuses = [(await ask('/market/insights', 'GET')).status, (await ask('/inventory/sync', 'POST')).status]

  expect(statuses).toEqual([200, 200])
  expect(stranger.frames.some(({ type, flags }) => type === 0 && flags === 1)).toBe(false)
  stranger.socket.destroy()
})
