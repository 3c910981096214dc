/** What becomes of spans, and of clients, when the receiver is not there, or is another one. */
import { expect, test } from 'vitest'
import { bootGateway } from '../../../helpers/gateway.ts'
import { bootLiveGateway } from '../../../helpers/live-gateway.ts'
import { spanReceiver } from '../../../helpers/span-receiver.ts'
import { httpUpstream } from '../../../helpers/upstream.ts'
import { call } from '../../../helpers/wire.ts'

test('a gateway whose receiver hangs serves its clients, and ends', async () => {
  const [receiver, upstream] = [await spanReceiver(), await httpUpstream()]
  receiver.behave('hang')
  const tracing = { otlp: receiver.url, sample: '100%' }
  const { gateway, port } = await bootGateway({ upstream: upstream.url, tracing, shutdown: { wait: '0ms' } })

  // Two spans each, so that a batch goes out while they are served.
  const statuses = await Promise.all(Array.from({ length: 300 }, async () => (await call(port)).status))
  await gateway.close()

  expect(new Set(statuses)).toEqual(new Set([200]))
})

test('an edit of the receiver sends what waits to the old one, what is new to the new one, and loses no request', async () => {
  const [first, second, upstream] = [await spanReceiver(), await spanReceiver(), await httpUpstream()]
  const settings = (tracing: object) => ({ upstream: upstream.url, tracing: { sample: '100%', ...tracing } })
  const live = await bootLiveGateway({ upstream: upstream.url })
  const { port } = live.gateway.address
  const reload = (tracing: object) => {
    live.edit(settings(tracing))
    return live.gateway.reload('request')
  }
  const traced = () => live.lines.filter(({ msg }) => msg === 'exchange').map(({ trace_id }) => trace_id !== undefined)

  // It begins to trace while it serves.
  const [outcome, ...responses] = await Promise.all([
    reload({ otlp: first.url }),
    ...Array.from({ length: 50 }, () => call(port)),
  ])
  responses.push(await call(port))
  await live.line(() => traced().length === 51)
  const before = traced().filter(Boolean).length
  const outcomes = [outcome, await reload({ otlp: second.url })]
  await first.come(2 * before)
  await call(port)
  await live.line(() => traced().length === 52)
  outcomes.push(await reload({}))
  await second.come(2)
  await call(port)
  await live.line(() => traced().length === 53)
  await live.gateway.close()

  expect(outcomes.map(({ result }) => result)).toEqual(['applied', 'applied', 'applied'])
  expect(responses.map(({ status }) => status)).toEqual(responses.map(() => 200))
  expect(before).toBeGreaterThanOrEqual(1)
  expect([first.spans.length, second.spans.length]).toEqual([2 * before, 2])
  expect(traced().slice(-3)).toEqual([true, true, false])
  const servers = [first, second].map(({ spans }) => spans.findLast(({ kind }) => kind === 'server'))
  expect(servers.map((span) => span?.attributes['lender_gateway.config_hash'])).toEqual(
    live.lines
      .filter(({ msg }) => msg === 'exchange')
      .slice(-3, -1)
      .map(({ config }) => config),
  )
})
