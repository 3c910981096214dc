import { describe, expect, test } from 'vitest'
import { freePort } from '../../../helpers/free-port.ts'
import { bootGateway } from '../../../helpers/gateway.ts'
import { rawClient } from '../../../helpers/raw-client.ts'
import { receivedValues } from '../../../helpers/round-trip.ts'
import { spanReceiver } from '../../../helpers/span-receiver.ts'
import { httpUpstream, onRequest, rawUpstream } from '../../../helpers/upstream.ts'
import { call } from '../../../helpers/wire.ts'
import { callerId, sorted, traced, traceId } from './traced.ts'

const parentOf = (value: string | undefined) => value?.split('-') ?? []

test('what could not be sent at all is an attempt of its own, at the endpoint that it was for', async () => {
  const [upstream, nobody] = [await httpUpstream(), await freePort()]
  const endpoints = [`http://127.0.0.1:${nobody}`, upstream.url]

  const { spans } = await traced({ upstream: { endpoints, balance: 'round-robin' } }, [{}, {}])

  const rejected = spans.find(({ attributes }) => attributes['error.type'] === 'connect-failed')
  const { server, attempts } = sorted(spans.filter((span) => span.traceId === rejected?.traceId))
  expect(
    attempts.map(({ attributes, isError }) => [
      attributes['server.port'],
      attributes['error.type'],
      attributes['lender_gateway.reason'],
      attributes['http.request.resend_count'],
      isError,
    ]),
  ).toEqual([
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
  expect(matching.map(({ attributes }) => [attributes['error.type'], attributes['http.request.resend_count']])).toEqual(
    [
      [undefined, undefined],
      ['reset-before-headers', undefined],
      [undefined, 1],
    ],
  )
  expect(parents.map((value) => parentOf(value)[2])).toEqual(matching.map(({ spanId }) => spanId))
  expect(new Set(matching.slice(1).map(({ parentSpanId }) => parentSpanId)).size).toBe(1)
})

describe('which trace context goes where', () => {
  test('tracestate goes on to the upstream as it came, and into no span', async () => {
    const upstream = await httpUpstream()
    const fields = ['tracestate', 'a=1', 'TraceParent', `00-${traceId}-${callerId}-01`, 'Tracestate', 'b=2']

    const { spans } = await traced({ upstream: upstream.url }, [{ fields }])

    expect(receivedValues(upstream.requests[0], 'tracestate')).toEqual(['a=1', 'b=2'])
    expect(spans.map(({ traceState }) => traceState)).toEqual(['', ''])
  })

  test('a traceparent that counts for nothing begins a new trace, without the state of the old', async () => {
    const upstream = await httpUpstream()
    const unsound = [
      ['traceparent', `00-${traceId}-${callerId}-01`, 'traceparent', `00-${traceId}-${callerId}-01`],
      ['traceparent', `00-${traceId.toUpperCase()}-${callerId}-01`],
      ['traceparent', `00-${'0'.repeat(32)}-${callerId}-01`],
      ['traceparent', `00-${traceId}-${'0'.repeat(16)}-01`],
      ['traceparent', `ff-${traceId}-${callerId}-01`],
      ['traceparent', `00-${traceId}-${callerId}-01-more`],
      ['traceparent', 'from whoever it may be'],
      [],
    ].map((fields) => ({ fields: [...fields, 'tracestate', 'a=1'] }))

    const { spans, attempts } = await traced({ upstream: upstream.url }, unsound)

    const servers = spans.filter(({ kind }) => kind === 'server')
    expect(servers.map(({ parentSpanId }) => parentSpanId)).toEqual(unsound.map(() => ''))
    expect(servers.map((span) => span.traceId)).not.toContain(traceId)
    expect(upstream.requests.map((request) => receivedValues(request, 'traceparent'))).toEqual(
      attempts.map((span) => [`00-${span.traceId}-${span.spanId}-03`]),
    )
    expect(upstream.requests.flatMap((request) => receivedValues(request, 'tracestate'))).toEqual([])
  })

  // W3C Trace Context Level 2 §3.2.2.5: the random flag is kept, and a flag that is not defined is sent as 0.
  test('of the flags of a caller those go on that are defined', async () => {
    const upstream = await httpUpstream()
    const asks = ['03', '01', 'ff', 'fd'].map((flags) => ({
      fields: ['traceparent', `00-${traceId}-${callerId}-${flags}`],
    }))

    await traced({ upstream: upstream.url }, asks)

    const sent = upstream.requests.map((request) => parentOf(receivedValues(request, 'traceparent')[0])[3])
    expect(sent).toEqual(['03', '01', '03', '01'])
  })

  test('a version that is yet to come is continued as the one that is known', async () => {
    const upstream = await httpUpstream()
    const fields = ['traceparent', `cc-${traceId}-${callerId}-01-what-nobody-knows-yet`]

    const { server, attempts } = await traced({ upstream: upstream.url }, [{ fields }])

    expect([server.traceId, server.parentSpanId]).toEqual([traceId, callerId])
    expect(receivedValues(upstream.requests[0], 'traceparent')).toEqual([`00-${traceId}-${attempts[0]?.spanId}-01`])
  })

  test('the root of the trace decides whether it is sampled', async () => {
    const upstream = await httpUpstream()
    const settings = { upstream: upstream.url }
    const sampled = { fields: ['traceparent', `00-${traceId}-${callerId}-01`] }
    const unsampled = { fields: ['traceparent', `00-${traceId}-${callerId}-00`, 'tracestate', 'a=1'] }

    const { spans } = await traced(settings, [sampled, unsampled, {}], { sample: '0%' })

    expect(spans.map(({ kind, parentSpanId }) => [kind, kind === 'server' ? parentSpanId : ''])).toEqual([
      ['client', ''],
      ['server', callerId],
    ])
    const [, passedOn, begun] = upstream.requests
    expect(receivedValues(passedOn, 'traceparent')).toEqual([`00-${traceId}-${callerId}-00`])
    expect(receivedValues(passedOn, 'tracestate')).toEqual(['a=1'])
    expect(receivedValues(begun, 'traceparent')).toEqual([expect.stringMatching(/^00-[0-9a-f]{32}-[0-9a-f]{16}-02$/)])
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

describe('with tracing off', () => {
  test('what a client says of its trace goes on as it came, sound or not, and the log knows no trace', async () => {
    const upstream = await httpUpstream()
    const booted = await bootGateway({ upstream: upstream.url })
    const fields = ['TraceParent', 'nonsense', 'traceparent', `00-${traceId}-${callerId}-01`, 'TraceState', 'a=1,,b']

    await call(booted.port, { fields })

    const arrived = upstream.requests[0]?.rawHeaders ?? []
    expect(arrived.filter((_, i) => /^trace/i.test(arrived[i - (i % 2)] ?? ''))).toEqual(fields)
    expect(await booted.line(({ msg }) => msg === 'exchange')).not.toHaveProperty('trace_id')
  })
})

describe('Server-Timing', () => {
  const timing = /^gateway;dur=\d+(\.\d)?, upstream;dur=\d+(\.\d)?$/

  test('says how long gateway and upstream took, without a receiver of spans', async () => {
    const upstream = await httpUpstream()
    const booted = await bootGateway({ upstream: upstream.url, tracing: { serverTiming: true } })

    const response = await call(booted.port)

    expect(receivedValues({ rawHeaders: response.fields } as never, 'server-timing')).toEqual([
      expect.stringMatching(timing),
    ])
    expect(receivedValues(upstream.requests[0], 'traceparent')).toEqual([])
  })

  test('stands beside that of the upstream, and in responses of the gateway itself', async () => {
    const upstream = await httpUpstream((_, response) => response.writeHead(200, { 'Server-Timing': 'db;dur=1' }).end())
    const nobody = await freePort()
    const booted = await bootGateway({
      upstream: upstream.url,
      upstreams: { risk: `http://127.0.0.1:${nobody}` },
      operations: { 'risk.asset-valuation': { maxBody: '1B' } },
      tracing: { serverTiming: true },
    })
    const timings = async (asked: Parameters<typeof call>[1]) =>
      receivedValues({ rawHeaders: (await call(booted.port, asked)).fields } as never, 'server-timing')

    expect(await timings({})).toEqual(['db;dur=1', expect.stringMatching(timing)])
    expect(await timings({ method: 'POST', target: '/risk/asset-valuation', body: Buffer.from('xx') })).toEqual([
      expect.stringMatching(/^gateway;dur=\d+(\.\d)?$/),
    ])
  })
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
  client.send('GET /leads/pipeline HTTP/1.1\r\nHost: a\r\n\r\n')
  await expect.poll(() => upstream.begun()).toBe(2)

  await gateway.close()

  const names = receiver.spans.filter(({ kind }) => kind === 'server').map(({ name }) => name)
  expect(names.toSorted()).toEqual(['GET /leads/pipeline', 'GET /market/insights'])
})
