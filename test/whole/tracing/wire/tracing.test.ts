import { expect, onTestFinished } from 'vitest'
import { callerId, traced, traceId } from '../../../features/tracing/wire/traced.ts'
import { freePort } from '../../../helpers/free-port.ts'
import { bootGateway } from '../../../helpers/gateway.ts'
import { bootLiveGateway } from '../../../helpers/live-gateway.ts'
import { rawClient } from '../../../helpers/raw-client.ts'
import { receivedValues } from '../../../helpers/round-trip.ts'
import { spanReceiver } from '../../../helpers/span-receiver.ts'
import { drill, test } from '../../../helpers/speed.ts'
import { httpUpstream } from '../../../helpers/upstream.ts'
import { call } from '../../../helpers/wire.ts'
import { startWorkerGateway } from '../../../helpers/worker-gateway.ts'

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
  const common = { 'http.request.method': 'GET', 'server.address': '127.0.0.1', 'lender_gateway.group': 'market' }
  expect(server.attributes).toEqual({
    ...{ ...common, 'http.route': '/market/insights', 'url.path': '/market/insights', 'url.scheme': 'http' },
    ...{ 'http.response.status_code': 200, 'http.request.body.size': 0, 'http.response.body.size': 3 },
    ...{ 'lender_gateway.operation': 'market.insights', 'lender_gateway.attempts': 2 },
    'lender_gateway.config_hash': lines.find(({ msg }) => msg === 'exchange')?.config,
  })
  const asked = { 'server.port': upstream.port, 'url.full': `${upstream.url}/market/insights` }
  const sent = { ...common, ...asked, 'lender_gateway.endpoint': upstream.url }
  expect(attempts.map(({ attributes }) => attributes)).toEqual([
    { ...sent, 'http.response.status_code': 503, 'error.type': '503' },
    { ...sent, 'http.response.status_code': 200, 'http.request.resend_count': 1 },
  ])
  for (const { startMs, endMs } of attempts) {
    expect(startMs).toBeGreaterThanOrEqual(server.startMs - 1)
    expect(endMs).toBeLessThanOrEqual(server.endMs + 1)
    expect(endMs).toBeGreaterThanOrEqual(startMs)
  }
  expect(lines.find(({ msg }) => msg === 'exchange')?.trace_id).toBe(traceId)
})

test('a failure has its kind and reason, as in the access line; one of the client is no error', async () => {
  const operations = { 'market.insights': { auth: 'none' } }
  const upstream = `http://127.0.0.1:${await freePort()}`
  const settings = { upstream, auth: { methods: ['apiKey'] }, clients: [], operations }

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

test('a request that the cache serves has no attempt', async () => {
  const upstream = await httpUpstream((_, response) => response.writeHead(200, { 'Cache-Control': 'max-age=60' }).end())

  const settings = { upstream: upstream.url, operations: { 'market.insights': { cache: true } } }
  const { spans } = await traced(settings, [{}, {}])

  const servers = spans.filter(({ kind }) => kind === 'server')
  expect(servers.map(({ attributes }) => attributes['lender_gateway.cache'])).toEqual(['miss', 'hit'])
  expect(spans.filter(({ kind }) => kind === 'client').map(({ parentSpanId }) => parentSpanId)).toEqual([
    servers[0]?.spanId,
  ])
})

test('what a key of idempotency led to stands in the span, and a replay has no attempt', async () => {
  const upstream = await httpUpstream((_, response) => response.end())
  const once = {
    ...{ method: 'POST', target: '/financing/pre-approval', body: Buffer.from('x') },
    fields: ['Idempotency-Key', 'k-1'],
  }

  const settings = { upstream: upstream.url, operations: { 'financing.pre-approval': { idempotency: true } } }
  const { spans } = await traced(settings, [once, once])

  const servers = spans.filter(({ kind }) => kind === 'server')
  expect(servers.map(({ attributes }) => attributes['lender_gateway.idempotency'])).toEqual(['processed', 'replayed'])
  expect(spans.filter(({ kind }) => kind === 'client')).toHaveLength(1)
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

drill('of two workers each exports its own spans, and can be distinguished from the other', async () => {
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
