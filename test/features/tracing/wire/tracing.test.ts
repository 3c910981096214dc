import { describe, expect, test } from 'vitest'
import { freePort } from '../../../helpers/free-port.ts'
import { bootGateway, type Settings } from '../../../helpers/gateway.ts'
import { rawClient } from '../../../helpers/raw-client.ts'
import { receivedValues } from '../../../helpers/round-trip.ts'
import { type Span, type SpanReceiver, spanReceiver } from '../../../helpers/span-receiver.ts'
import { httpUpstream, onRequest, rawUpstream } from '../../../helpers/upstream.ts'
import { call } from '../../../helpers/wire.ts'

const traceId = '0af7651916cd43dd8448eb211c80319c'
const callerId = 'b7ad6b7169203331'

/** Boots a gateway that exports every trace, asks it, and gives what came of it once it has stopped. */
const traced = async (
  settings: Settings,
  asks: readonly Parameters<typeof call>[1][],
  tracing: { readonly [key: string]: unknown } = {},
) => {
  const receiver = await spanReceiver()
  const booted = await bootGateway({ ...settings, tracing: { otlp: receiver.url, sample: '100%', ...tracing } })
  const responses = []
  for (const asked of asks) responses.push(await call(booted.port, asked))
  for (const _ of asks)
    await booted.line(() => booted.lines.filter(({ msg }) => msg === 'exchange').length === asks.length)
  await booted.gateway.close()
  const { spans } = receiver
  return { responses: responses, spans, receiver, lines: booted.lines, ...sorted(spans) }
}

const sorted = (spans: SpanReceiver['spans']): { readonly server: Span; readonly attempts: readonly Span[] } => {
  const [server] = spans.filter(({ kind }) => kind === 'server')
  if (server === undefined) throw new Error(`no server span among ${JSON.stringify(spans)}`)
  return { server, attempts: spans.filter(({ kind }) => kind === 'client') }
}

const parentOf = (value: string | undefined) => value?.split('-') ?? []

test('a request that is tried again is one trace: the caller, the exchange, and each attempt', async () => {
  const upstream = await httpUpstream((_, response) => {
    response.statusCode = upstream.requests.length < 2 ? 503 : 200
    response.end('abc')
  })

  const { server, attempts, lines } = await traced({ upstream: upstream.url, defaults: { retry: { attempts: 2 } } }, [
    { target: '/market/insights?planted=1', fields: ['traceparent', `00-${traceId}-${callerId}-01`] },
  ])

  expect(attempts).toHaveLength(2)
  expect([server, ...attempts].map((span) => [span.name, span.kind, span.traceId, span.isError])).toEqual([
    ['GET /market/insights', 'server', traceId, false],
    ['GET /market/insights', 'client', traceId, true],
    ['GET /market/insights', 'client', traceId, false],
  ])
  expect(server.parentSpanId).toBe(callerId)
  expect(attempts.map(({ parentSpanId }) => parentSpanId)).toEqual([server.spanId, server.spanId])
  expect(upstream.requests.map((request) => receivedValues(request, 'traceparent'))).toEqual(
    attempts.map(({ spanId }) => [`00-${traceId}-${spanId}-01`]),
  )
  expect(new Set([server, ...attempts].map(({ spanId }) => spanId)).size).toBe(3)
  expect(server.attributes).toEqual({
    'http.request.method': 'GET',
    'http.route': '/market/insights',
    'url.path': '/market/insights',
    'url.scheme': 'http',
    'server.address': '127.0.0.1',
    'http.response.status_code': 200,
    'http.request.body.size': 0,
    'http.response.body.size': 3,
    'lender_gateway.operation': 'market.insights',
    'lender_gateway.group': 'market',
    'lender_gateway.attempts': 2,
    'lender_gateway.config_hash': lines.find(({ msg }) => msg === 'exchange')?.config,
  })
  const common = {
    'http.request.method': 'GET',
    'server.address': '127.0.0.1',
    'server.port': upstream.port,
    'url.full': `${upstream.url}/market/insights`,
    'lender_gateway.group': 'market',
    'lender_gateway.endpoint': upstream.url,
  }
  expect(attempts.map(({ attributes }) => attributes)).toEqual([
    { ...common, 'http.response.status_code': 503, 'error.type': '503' },
    { ...common, 'http.response.status_code': 200, 'http.request.resend_count': 1 },
  ])
  for (const { startMs, endMs } of attempts) {
    expect(startMs).toBeGreaterThanOrEqual(server.startMs - 1)
    expect(endMs).toBeLessThanOrEqual(server.endMs + 1)
    expect(endMs).toBeGreaterThanOrEqual(startMs)
  }
  expect(lines.find(({ msg }) => msg === 'exchange')?.trace_id).toBe(traceId)
})

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

test('a failure has its kind and reason, as in the access line; one of the client is no error', async () => {
  const nobody = await freePort()
  const settings = {
    upstream: `http://127.0.0.1:${nobody}`,
    auth: { methods: ['apiKey'] },
    clients: [],
    operations: { 'market.insights': { auth: 'none' } },
  }

  const { spans, lines } = await traced(settings, [
    { target: '/market/insights' },
    { method: 'POST', target: '/valuation/score', body: Buffer.from('x') },
  ])

  const matching = spans.filter(({ kind }) => kind === 'server')
  const access = lines.filter(({ msg }) => msg === 'exchange')
  expect(
    matching.map(({ attributes: a, isError }) => [a['http.response.status_code'], a['error.type'], isError]),
  ).toEqual([
    [502, 'connect-failed', true],
    [401, 'unauthenticated', false],
  ])
  expect(matching.map(({ attributes: a }) => [a['error.type'], a['lender_gateway.reason']])).toEqual(
    access.map(({ failure, reason }) => [failure, reason]),
  )
  expect(matching.map((span) => span.traceId)).toEqual(access.map(({ trace_id }) => trace_id))
})

test('what is answered from the cache has no attempt', async () => {
  const upstream = await httpUpstream((_, response) => response.writeHead(200, { 'Cache-Control': 'max-age=60' }).end())

  const { spans } = await traced({ upstream: upstream.url, operations: { 'market.insights': { cache: true } } }, [
    {},
    {},
  ])

  const servers = spans.filter(({ kind }) => kind === 'server')
  expect(servers.map(({ attributes }) => attributes['lender_gateway.cache'])).toEqual(['miss', 'hit'])
  expect(spans.filter(({ kind }) => kind === 'client').map(({ parentSpanId }) => parentSpanId)).toEqual([
    servers[0]?.spanId,
  ])
})

describe('which trace context goes where', () => {
  test('tracestate goes on to the upstream as it came, and into no span', async () => {
    const upstream = await httpUpstream()
    const fields = ['tracestate', 'a=1', 'TraceParent', `00-${traceId}-${callerId}-01`, 'Tracestate', 'b=2']

    const { spans } = await traced({ upstream: upstream.url }, [{ fields }])

    expect(receivedValues(upstream.requests[0], 'tracestate')).toEqual(['a=1', 'b=2'])
    expect(spans.map(({ traceState }) => traceState)).toEqual(['', ''])
  })

  test.each([
    ['two of them', ['traceparent', `00-${traceId}-${callerId}-01`, 'traceparent', `00-${traceId}-${callerId}-01`]],
    ['upper case', ['traceparent', `00-${traceId.toUpperCase()}-${callerId}-01`]],
    ['no trace', ['traceparent', `00-${'0'.repeat(32)}-${callerId}-01`]],
    ['no parent', ['traceparent', `00-${traceId}-${'0'.repeat(16)}-01`]],
    ['a version that is none', ['traceparent', `ff-${traceId}-${callerId}-01`]],
    ['more than the version has', ['traceparent', `00-${traceId}-${callerId}-01-more`]],
    ['words', ['traceparent', 'from whoever it may be']],
    ['no parent at all', []],
  ])(
    'a traceparent that counts for nothing (%s) begins a new trace, without the state of the old',
    async (_, fields) => {
      const upstream = await httpUpstream()

      const { server, attempts } = await traced({ upstream: upstream.url }, [
        { fields: [...fields, 'tracestate', 'a=1'] },
      ])

      expect(server.parentSpanId).toBe('')
      expect(server.traceId).not.toBe(traceId)
      expect(receivedValues(upstream.requests[0], 'traceparent')).toEqual([
        `00-${server.traceId}-${attempts[0]?.spanId}-03`,
      ])
      expect(receivedValues(upstream.requests[0], 'tracestate')).toEqual([])
    },
  )

  // W3C Trace Context Level 2 §3.2.2.5: the random flag is kept, and a flag that is not defined is sent as 0.
  test.each([
    ['03', '03'],
    ['01', '01'],
    ['ff', '03'],
    ['fd', '01'],
  ])('the flags %s of a caller go on as %s', async (came, sent) => {
    const upstream = await httpUpstream()

    await traced({ upstream: upstream.url }, [{ fields: ['traceparent', `00-${traceId}-${callerId}-${came}`] }])

    expect(parentOf(receivedValues(upstream.requests[0], 'traceparent')[0])[3]).toBe(sent)
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

test('what a key of idempotency led to stands in the span, and a replay has no attempt', async () => {
  const upstream = await httpUpstream((_, response) => response.end())
  const once = {
    ...{ method: 'POST', target: '/financing/pre-approval', body: Buffer.from('x') },
    fields: ['Idempotency-Key', 'k-1'],
  }

  const { spans } = await traced(
    { upstream: upstream.url, operations: { 'financing.pre-approval': { idempotency: true } } },
    [once, once],
  )

  const servers = spans.filter(({ kind }) => kind === 'server')
  expect(servers.map(({ attributes }) => attributes['lender_gateway.idempotency'])).toEqual(['processed', 'replayed'])
  expect(spans.filter(({ kind }) => kind === 'client')).toHaveLength(1)
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

test('a gateway at its end cuts off a request with a key that waits for an attempt without its client, and sends its span', async () => {
  const { promise: released, resolve: release } = Promise.withResolvers<void>()
  const receiver = await spanReceiver()
  const upstream = await httpUpstream(async (_, response) => {
    await released
    response.writeHead(503, { 'Retry-After': '20' }).end()
  })
  const { gateway, port, line } = await bootGateway({
    upstream: upstream.url,
    tracing: { otlp: receiver.url, sample: '100%' },
    shutdown: { wait: '0ms', deadline: '100ms' },
    defaults: { retry: {} },
    operations: { 'valuation.score': { idempotency: { onUnknown: 'forward' } } },
  })
  const client = await rawClient(port)
  client.send('POST /valuation/score HTTP/1.1\r\nHost: a\r\nIdempotency-Key: k\r\nContent-Length: 3\r\n\r\nabc')
  await expect.poll(() => upstream.begun()).toBe(1)
  client.close()
  await line(({ msg }) => msg === 'exchange')
  release()

  await gateway.close()

  expect(receiver.spans.map(({ kind }) => kind).toSorted()).toEqual(['client', 'server'])
})
