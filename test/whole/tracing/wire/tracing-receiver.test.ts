import { expect, onTestFinished } from 'vitest'
import { bootLiveGateway } from '../../../helpers/live-gateway.ts'
import { rawClient } from '../../../helpers/raw-client.ts'
import { spanReceiver } from '../../../helpers/span-receiver.ts'
import { test } from '../../../helpers/speed.ts'
import { httpUpstream } from '../../../helpers/upstream.ts'
import { call } from '../../../helpers/wire.ts'
import { startWorkerGateway } from '../../../helpers/worker-gateway.ts'

test('an attempt that outlives its client, and then an edit of the receiver, has its span at the old one', async () => {
  const [first, second] = [await spanReceiver(), await spanReceiver()]
  const { promise: released, resolve: release } = Promise.withResolvers<void>()
  const upstream = await httpUpstream((_, response) => void released.then(() => response.end('done')))
  const operations = { 'valuation.score': { idempotency: true } }
  const settings = (otlp: string) => ({ upstream: upstream.url, operations, tracing: { otlp, sample: '100%' } })
  const live = await bootLiveGateway(settings(first.url))
  const client = await rawClient(live.gateway.address.port)
  client.send('POST /valuation/score HTTP/1.1\r\nHost: a\r\nIdempotency-Key: a\r\nContent-Length: 3\r\n\r\nabc')
  await expect.poll(() => upstream.requests.length).toBe(1)
  client.close()
  await live.line(({ failure }) => failure === 'client-gone')

  live.edit(settings(second.url))
  const { result } = await live.gateway.reload('request')
  release()

  const spans = await first.come(2)
  expect([result, ...spans.map(({ kind }) => kind)]).toEqual(['applied', 'server', 'client'])
})

test('of two workers each exports its own spans, and can be distinguished from the other', async () => {
  const [receiver, upstream] = [await spanReceiver(), await httpUpstream()]
  const gateway = await startWorkerGateway({
    upstream: upstream.url,
    tracing: { otlp: receiver.url, sample: '100%' },
    shutdown: { wait: '0ms', deadline: '20s' },
  })
  onTestFinished(() => gateway.stop())

  await Promise.all(Array.from({ length: 20 }, () => call(gateway.port)))

  // At the end it would have a second, which is little on a slow machine.
  expect(await receiver.come(40)).toHaveLength(40)
  expect(new Set(receiver.spans.map(({ resource }) => resource['service.instance.id'])).size).toBe(2)
  gateway.signal('SIGTERM')
  expect(await gateway.ended).toBe(0)
  expect(receiver.spans).toHaveLength(40)
})
