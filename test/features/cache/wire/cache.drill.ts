import { expect, onTestFinished, test, vi } from 'vitest'
import { bootGateway } from '../../../helpers/gateway.ts'
import { httpUpstream } from '../../../helpers/upstream.ts'
import { call, dial, eventually, renderHead } from '../../../helpers/wire.ts'

test('a client that reads what is stored without a pause gets it, though for longer than one may take nothing', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] })
  onTestFinished(() => void vi.useRealTimers())
  const body = Buffer.alloc(32 * 1024 ** 2)
  const upstream = await httpUpstream((_, response) => {
    response.setHeader('Cache-Control', 'max-age=60').end(body)
  })
  const { port } = await bootGateway({
    upstream: upstream.url,
    listen: { timeouts: { body: '30s' } },
    cache: { maxBytes: '128MiB' },
    operations: { 'market.insights': { cache: { maxEntry: '33MiB' } } },
  })
  await call(port)
  const client = (await dial(port)).pause()
  onTestFinished(() => void client.destroy())
  let received = 0

  client.write(renderHead({}))
  // More at a time than Linux reports room for in a send buffer: a third of at most 4 MiB.
  for (let more = 4 * 1024 ** 2; !client.destroyed && received <= body.length; more += 4 * 1024 ** 2) {
    await eventually(() => {
      received += client.read()?.length ?? 0
      return client.destroyed || received >= Math.min(more, body.length + 1)
    })
    vi.advanceTimersByTime(20_000)
  }

  expect(received).toBeGreaterThan(body.length)
  expect(upstream.begun()).toBe(1)
})
