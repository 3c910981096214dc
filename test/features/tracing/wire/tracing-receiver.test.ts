/**
 * What becomes of spans, and of clients, when the receiver is not there, is another one, or is sent spans by several
 * processes.
 */
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { folderWith } from '../../../core/config/helper.ts'
import { configText } from '../../../helpers/gateway.ts'
import { bootLiveGateway } from '../../../helpers/live-gateway.ts'
import { serve, waitForListening } from '../../../helpers/serve-process.ts'
import { spanReceiver } from '../../../helpers/span-receiver.ts'
import { httpUpstream } from '../../../helpers/upstream.ts'
import { call } from '../../../helpers/wire.ts'

test('a gateway whose receiver hangs serves its clients, and ends at SIGTERM', async () => {
  const [receiver, upstream] = [await spanReceiver(), await httpUpstream()]
  receiver.behave('hang')
  const tracing = { otlp: receiver.url, sample: '100%' }
  const text = configText({ upstream: upstream.url, tracing, shutdown: { wait: '0ms', deadline: '20s' } })
  const served = serve(join(folderWith({ 'gateway.yaml': text }), 'gateway.yaml'))
  const port = await waitForListening(served)

  // Two spans each, so that a batch goes out while they are served.
  const statuses = await Promise.all(Array.from({ length: 300 }, async () => (await call(port)).status))
  served.signal('SIGTERM')

  expect(statuses.every((status) => status === 200)).toBe(true)
  expect(await served.ended).toEqual({ code: 0, signal: null })
})

test('an edit of the receiver sends what waits to the old one, and what is new to the new one', async () => {
  const [first, second, upstream] = [await spanReceiver(), await spanReceiver(), await httpUpstream()]
  const settings = (tracing: { readonly [key: string]: unknown }) => ({ upstream: upstream.url, tracing })
  const live = await bootLiveGateway(settings({ otlp: first.url, sample: '100%' }))
  const port = live.gateway.address.port
  const reload = async (tracing: { readonly [key: string]: unknown }): Promise<void> => {
    live.edit(settings(tracing))
    expect((await live.gateway.reload('request')).result).toBe('applied')
  }

  await call(port)
  await live.line(({ msg }) => msg === 'exchange')
  await reload({ otlp: second.url, sample: '100%' })
  await first.come(2)
  await call(port)
  await reload({ otlp: second.url, sample: '0%' })
  await call(port)
  await reload({})
  await second.come(2)
  await call(port)
  await live.line(() => live.lines.filter(({ msg }) => msg === 'exchange').length === 4)
  await live.gateway.close()

  expect([first.spans.length, second.spans.length]).toEqual([2, 2])
  const lines = live.lines.filter(({ msg }) => msg === 'exchange')
  expect(lines.map(({ trace_id }) => trace_id !== undefined)).toEqual([true, true, true, false])
  expect(lines.map(({ config }) => config)).toEqual([
    first.spans.find(({ kind }) => kind === 'server')?.attributes['lender_gateway.config_hash'],
    second.spans.find(({ kind }) => kind === 'server')?.attributes['lender_gateway.config_hash'],
    expect.anything(),
    expect.anything(),
  ])
})

test('a gateway that begins to trace when it already runs loses no request meanwhile', async () => {
  const [receiver, upstream] = [await spanReceiver(), await httpUpstream()]
  const live = await bootLiveGateway({ upstream: upstream.url })
  const { port } = live.gateway.address

  live.edit({ upstream: upstream.url, tracing: { otlp: receiver.url, sample: '100%' } })
  const [outcome, ...responses] = await Promise.all([
    live.gateway.reload('request'),
    ...Array.from({ length: 50 }, () => call(port)),
  ])
  responses.push(await call(port))
  await live.gateway.close()

  expect(outcome.result).toBe('applied')
  expect(responses.map(({ status }) => status)).toEqual(responses.map(() => 200))
  expect(receiver.spans.length).toBeGreaterThanOrEqual(2)
})
