import { describe, expect, test } from 'vitest'
import { freePort } from '../../../helpers/free-port.ts'
import { bootGateway } from '../../../helpers/gateway.ts'
import { bootLiveGateway } from '../../../helpers/live-gateway.ts'
import { rawClient } from '../../../helpers/raw-client.ts'
import { receivedValues } from '../../../helpers/round-trip.ts'
import { spanReceiver } from '../../../helpers/span-receiver.ts'
import { httpUpstream, onRequest, rawUpstream } from '../../../helpers/upstream.ts'
import { bareGet, call, fieldValues } from '../../../helpers/wire.ts'
import { callerId, sorted, traced, traceId } from './traced.ts'

const parentOf = (value: string | undefined) => value?.split('-') ?? []

test('what could not be sent at all is an attempt of its own, at the endpoint that it was for', async () => {
  const [upstream, nobody] = [await httpUpstream(), await freePort()]
  const endpoints = [`http://127.0.0.1:${nobody}`, upstream.url]

  const { spans } = await traced({ upstream: { endpoints, balance: 'round-robin' } }, [{}, {}])

  const rejected = spans.find(({ attributes }) => attributes['error.type'] === 'connect-failed')
  const { server, attempts } = sorted(spans.filter((span) => span.traceId === rejected?.traceId))
  const names = ['server.port', 'error.type', 'lender_gateway.reason', 'http.request.resend_count']
  const shown = attempts.map(({ attributes, isError }) => [...names.map((name) => attributes[name]), isError])
  expect(shown).toEqual([
    [nobody, 'connect-failed', 'refused', undefined, true],
    [upstream.port, undefined, undefined, 1, false],
  ])
  expect(attempts.map(({ parentSpanId }) => parentSpanId)).toEqual([server.spanId, server.spanId])
  expect([server.isError, server.attributes['lender_gateway.attempts']]).toEqual([false, 2])
})

test('a request that is sent once more because its connection was stale has a span for both', async () => {
  let heads = 0
  const parents: string[] = []
  const upstream = await rawUpstream((socket) =>
    onRequest(socket, (head) => {
      heads++
      parents.push(/^traceparent: (.*)$/im.exec(head)?.[1]?.trim() ?? '')
      if (heads === 2) return void socket.destroy() // it was idle, and is closed just now
      socket.write('HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n')
    }),
  )

  const { spans } = await traced({ upstream: upstream.url }, [{}, {}])

  const matching = spans.filter(({ kind }) => kind === 'client')
  const resent = matching.map(({ attributes }) => [attributes['error.type'], attributes['http.request.resend_count']])
  expect(resent).toEqual([
    [undefined, undefined],
    ['reset-before-headers', undefined],
    [undefined, 1],
  ])
  expect(parents.map((value) => parentOf(value)[2])).toEqual(matching.map(({ spanId }) => spanId))
  expect(new Set(matching.slice(1).map(({ parentSpanId }) => parentSpanId)).size).toBe(1)
})

// tracing.test.ts has which of it counts.
describe('which trace context goes where', () => {
  test('that of a caller goes on to the upstream, its state as it came, and into no span', async () => {
    const upstream = await httpUpstream()
    const fields = ['tracestate', 'a=1', 'TraceParent', `00-${traceId}-${callerId}-01`, 'Tracestate', 'b=2']

    const { spans, server, attempts } = await traced({ upstream: upstream.url }, [{ fields }], { sample: '0%' })

    expect([server.traceId, server.parentSpanId]).toEqual([traceId, callerId])
    expect(receivedValues(upstream.requests[0], 'traceparent')).toEqual([`00-${traceId}-${attempts[0]?.spanId}-01`])
    expect(receivedValues(upstream.requests[0], 'tracestate')).toEqual(['a=1', 'b=2'])
    expect(spans.map(({ traceState }) => traceState)).toEqual(['', ''])
  })

  test('what is not sampled is not exported, but has an id that the log and the upstream share', async () => {
    const [upstream, receiver] = [await httpUpstream(), await spanReceiver()]
    const booted = await bootGateway({ upstream: upstream.url, tracing: { otlp: receiver.url, sample: '0%' } })

    await call(booted.port)
    const line = await booted.line(({ msg }) => msg === 'exchange')
    await booted.gateway.close()

    const [, id, , flags] = parentOf(receivedValues(upstream.requests[0], 'traceparent')[0])
    expect([id, flags]).toEqual([line.trace_id, '02'])
    expect(receiver.batches).toEqual([])
  })

  test.each([
    [{ remove: ['Traceparent'] }, []],
    [{ set: { traceparent: 'of-the-file' } }, ['of-the-file']],
  ])('what the file says of fields has the last word: %j', async (request, arrived) => {
    const upstream = await httpUpstream()

    const { attempts } = await traced({ upstream: { endpoints: [upstream.url], request } }, [{}])

    expect(receivedValues(upstream.requests[0], 'traceparent')).toEqual(arrived)
    expect(attempts).toHaveLength(1)
  })

  test('the receiver gets what the file says, and which process sends', async () => {
    const upstream = await httpUpstream()

    const { receiver, spans } = await traced({ upstream: upstream.url }, [{}], {
      headers: { Authorization: 'Bearer x', 'X-Tenant': 'lender' },
      serviceName: 'lender-gateway-eu',
    })

    expect(receiver.batches).toHaveLength(1)
    expect(receiver.batches[0]).toMatchObject({
      path: '/v1/traces',
      headers: { authorization: 'Bearer x', 'x-tenant': 'lender', 'content-type': 'application/x-protobuf' },
    })
    expect(spans[0]?.resource).toMatchObject({
      'service.name': 'lender-gateway-eu',
      'service.version': expect.stringMatching(/^\d+\.\d+\.\d+$/),
      'service.instance.id': expect.stringMatching(/^[0-9a-f-]{36}$/),
      'telemetry.sdk.language': 'nodejs',
    })
  })
})

// hostile-trace-context.test.ts has what goes on then.
test('with tracing off the log knows no trace', async () => {
  const booted = await bootGateway()

  await call(booted.port, { fields: ['traceparent', `00-${traceId}-${callerId}-01`] })

  expect(await booted.line(({ msg }) => msg === 'exchange')).not.toHaveProperty('trace_id')
})

test('Server-Timing says how long gateway and upstream took, beside that of the upstream, without a receiver', async () => {
  const upstream = await httpUpstream((_, response) => response.writeHead(200, { 'Server-Timing': 'db;dur=1' }).end())
  const operations = { 'risk.asset-valuation': { maxBody: '1B' } }
  const { port } = await bootGateway({ upstream: upstream.url, operations, tracing: { serverTiming: true } })
  const rejected = { method: 'POST', target: '/risk/asset-valuation', body: Buffer.from('xx') }
  const timings = async (asked: Parameters<typeof call>[1]) =>
    fieldValues((await call(port, asked)).fields, 'server-timing')

  const both = expect.stringMatching(/^gateway;dur=\d+(\.\d)?, upstream;dur=\d+(\.\d)?$/)
  expect(await timings({})).toEqual(['db;dur=1', both])
  expect(await timings(rejected)).toEqual([expect.stringMatching(/^gateway;dur=\d+(\.\d)?$/)])
  expect(receivedValues(upstream.requests[0], 'traceparent')).toEqual([])
})

test('a gateway that has to cut a request at its end still sends the spans that wait', async () => {
  const receiver = await spanReceiver()
  const upstream = await httpUpstream(({ url }, response) => {
    if (url === '/market/insights') response.end('ok')
  })
  const { gateway, port } = await bootGateway({
    upstream: upstream.url,
    tracing: { otlp: receiver.url, sample: '100%' },
    shutdown: { wait: '0ms', deadline: '100ms' },
  })
  await call(port)
  const client = await rawClient(port)
  client.send(bareGet('/leads/pipeline'))
  await expect.poll(() => upstream.begun()).toBe(2)

  await gateway.close()

  const names = receiver.spans.filter(({ kind }) => kind === 'server').map(({ name }) => name)
  expect(names.toSorted()).toEqual(['GET /leads/pipeline', 'GET /market/insights'])
})

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
