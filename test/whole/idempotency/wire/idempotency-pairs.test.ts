/** A key of idempotency, and each other feature on the way of its request. */
import { createHash } from 'node:crypto'
import { describe, expect, onTestFinished, test } from 'vitest'
import { createAuditLog } from '../../../features/audit/audit-log-place.ts'
import { contractFile } from '../../../helpers/contract.ts'
import { bootGateway, type Settings } from '../../../helpers/gateway.ts'
import { bootLiveGateway } from '../../../helpers/live-gateway.ts'
import { rawClient } from '../../../helpers/raw-client.ts'
import { receivedValues } from '../../../helpers/round-trip.ts'
import { httpUpstream, onRequest, rawUpstream } from '../../../helpers/upstream.ts'
import { call, eventually, fieldValues, type WireRequest } from '../../../helpers/wire.ts'

const once = { operations: { 'valuation.score': { idempotency: true } } }

/** Sends a POST with a key, and says its status, its code or its body, and whether it was replayed. */
const post = async (port: number, key: string, more: WireRequest = {}) => {
  const { status, fields, body } = await call(port, {
    method: 'POST',
    target: '/valuation/score',
    body: Buffer.from('abc'),
    ...more,
    fields: ['Idempotency-Key', key, ...(more.fields ?? [])],
  })
  const text = body.toString()
  const isProblem = fieldValues(fields, 'content-type').includes('application/problem+json')
  const replayed = fieldValues(fields, 'idempotency-replayed').length > 0 ? ' replayed' : ''
  return `${status} ${isProblem ? JSON.parse(text).code : text}${replayed}`
}

describe('with retries', () => {
  test('the gateway’s second attempt after a refused connection is the same request', async () => {
    const upstream = await httpUpstream((_, response) => response.end('done'))
    const valuation = { endpoints: ['http://127.0.0.1:1', upstream.url], outlier: 'none', retry: {} }
    const { port } = await bootGateway({ upstreams: { valuation }, ...once })

    const got: string[] = []
    for (const key of ['a', 'b', 'a', 'b']) got.push(await post(port, key))

    expect(got).toEqual(['200 done', '200 done', '200 done replayed', '200 done replayed'])
    expect(upstream.requests).toHaveLength(2)
  })

  test.each([
    ['refuse', 1, ['502 reset-before-headers', '409 outcome-unknown']],
    ['forward', 2, ['200 done', '200 done replayed']],
  ])('and onUnknown %s, a reset request is sent so often', async (onUnknown, times, expected) => {
    let heads = 0
    const upstream = await rawUpstream((socket) =>
      onRequest(socket, () => {
        if (++heads === 1) socket.resetAndDestroy()
        else socket.end('HTTP/1.1 200 OK\r\nContent-Length: 4\r\nConnection: close\r\n\r\ndone')
      }),
    )
    const operations = { 'valuation.score': { idempotency: { onUnknown } } }
    const { port } = await bootGateway({ upstream: upstream.url, defaults: { retry: {} }, operations })

    expect([await post(port, 'a'), await post(port, 'a')]).toEqual(expected)
    expect(heads).toBe(times)
  })

  const denial = 'HTTP/1.1 409 Conflict\r\nContent-Length: 0\r\nConnection: close\r\n\r\n'

  test.each([
    ['was reset', null],
    ['got a 503', 'HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\nConnection: close\r\n\r\n'],
  ])('a denial frees no key whose first attempt %s: it may have been processed', async (_, first) => {
    let heads = 0
    const upstream = await rawUpstream((socket) =>
      onRequest(socket, () => {
        if (++heads > 1) socket.end(denial)
        else if (first === null) socket.resetAndDestroy()
        else socket.end(first)
      }),
    )
    const operations = { 'valuation.score': { idempotency: { onUnknown: 'forward' } } }
    const { port } = await bootGateway({ upstream: upstream.url, defaults: { retry: {} }, operations })

    const got = [await post(port, 'a'), await post(port, 'a', { body: Buffer.from('other') })]

    expect(got).toEqual(['409 ', '422 idempotency-key-reused'])
    expect(heads).toBe(2)
  })

  // The balancing draws which attempt comes first. One that ends with the one that sent nothing is a 502.
  test('a key is free when one attempt sent nothing and the other was denied', async () => {
    const upstream = await httpUpstream(({ body }, response) =>
      response.writeHead(`${body}` === 'other' ? 200 : 429).end('done'),
    )
    const retry = { on: ['connect-failed', 429] }
    const valuation = { endpoints: ['http://127.0.0.1:1', upstream.url], outlier: 'none', retry }
    const operations = { 'valuation.score': { idempotency: { onUnknown: 'forward' } } }
    const { port } = await bootGateway({ upstreams: { valuation }, operations })

    const got = [await post(port, 'a'), await post(port, 'a', { body: Buffer.from('other') })]

    expect(got).toEqual([expect.toBeOneOf(['429 done', '502 connect-failed']), '200 done'])
  })
})

test('an open circuit breaker frees the key', async () => {
  let status = 500
  const upstream = await httpUpstream((_, response) => response.writeHead(status).end('done'))
  const circuitBreaker = { minRequests: 1, openFor: '2s' }
  const { port } = await bootGateway({
    upstreams: { valuation: { endpoints: [upstream.url], circuitBreaker } },
    ...once,
  })

  await post(port, 'a')
  const rejected = await post(port, 'b')
  status = 200

  expect(rejected).toBe('503 circuit-open')
  await expect.poll(() => post(port, 'b')).toBe('200 done')
  expect(await post(port, 'b')).toBe('200 done replayed')
  expect(await post(port, 'a')).toBe('409 outcome-unknown')
})

test('a deadline leaves an unknown outcome', async () => {
  const upstream = await httpUpstream(() => {})
  const operations = { 'valuation.score': { idempotency: true, deadline: '1s' } }
  const { port } = await bootGateway({ upstream: upstream.url, operations })

  expect([await post(port, 'a'), await post(port, 'a')]).toEqual(['504 deadline-exceeded', '409 outcome-unknown'])
  expect(upstream.begun()).toBe(1)
})

test('a deadline ends a response whose body does not come to its end, and leaves an unknown outcome', async () => {
  const upstream = await httpUpstream((_, response) => {
    response.writeHead(200, { 'Content-Length': '4' }).write('do')
  })
  const operations = { 'valuation.score': { idempotency: true, deadline: '1s' } }
  const { port } = await bootGateway({ upstream: upstream.url, operations })

  expect([await post(port, 'a'), await post(port, 'a')]).toEqual(['504 deadline-exceeded', '409 outcome-unknown'])
  expect(upstream.begun()).toBe(1)
})

test('a deadline frees the key of a request that has waited for its connection until then', async () => {
  const upstream = await httpUpstream(({ body }, response) => {
    // Its head has come, so no deadline ends it; its body keeps the only connection.
    if (`${body}` === 'first') response.writeHead(200, { 'Content-Length': '4' }).write('do')
    else response.end('done')
  })
  const { port, line } = await bootGateway({
    upstreams: { valuation: { endpoints: [upstream.url], maxConnections: 1 } },
    operations: { 'valuation.score': { idempotency: true, deadline: '1s' } },
  })
  const first = await rawClient(port)
  first.send('POST /valuation/score HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nfirst')
  await first.until((received) => received.includes(' 200 '))

  const late = await post(port, 'a')
  first.socket.resetAndDestroy()
  await line(({ failure }) => failure === 'client-gone')

  expect(late).toBe('504 deadline-exceeded')
  expect(await post(port, 'a')).toBe('200 done')
})

test('a replay removes nothing from the cache: only what was processed did', async () => {
  const upstream = await httpUpstream(({ method }, response) => {
    if (method === 'POST') response.writeHead(201, { Location: '/market/insights' }).end('done')
    else response.setHeader('Cache-Control', 'max-age=60').end(String(upstream.requests.length))
  })
  const operations = { ...once.operations, 'market.insights': { cache: true } }
  const { port } = await bootGateway({ upstream: upstream.url, operations })
  const get = async () => (await call(port)).body.toString()

  const got = [await get(), await post(port, 'a'), await get(), await post(port, 'a'), await get()]

  expect(got).toEqual(['1', '201 done', '3', '201 done replayed', '3'])
})

describe('with a contract that is enforced', () => {
  const json = { fields: ['Content-Type', 'application/json'] }
  const boot = async (answer: string) => {
    const upstream = await httpUpstream((_, response) =>
      response.writeHead(200, { 'Content-Type': 'application/json' }).end(answer),
    )
    const contract = { file: contractFile(), request: 'enforce', response: 'enforce' }
    return { upstream, ...(await bootGateway({ upstream: upstream.url, contract, ...once })) }
  }

  test('a request that breaks it uses up no key', async () => {
    const { port, upstream } = await boot('{"grade":"A"}')
    const send = (body: string) => post(port, 'a', { ...json, body: Buffer.from(body) })

    const got = [await send('{"amount":1}'), await send('{"id":"a"}'), await send('{"id":"a"}')]

    expect(got).toEqual(['400 invalid-request', '200 {"grade":"A"}', '200 {"grade":"A"} replayed'])
    expect(upstream.requests).toHaveLength(1)
  })

  test('a response that breaks it leaves an unknown outcome', async () => {
    const { port, upstream } = await boot('{"grade":"Z"}')
    const send = () => post(port, 'a', { ...json, body: Buffer.from('{"id":"a"}') })

    expect([await send(), await send()]).toEqual(['502 invalid-response', '409 outcome-unknown'])
    expect(upstream.requests).toHaveLength(1)
  })
})

describe('with an audit log', () => {
  test('the line of a replay has the digests of the first request and response', async () => {
    const log = createAuditLog(onTestFinished)
    const upstream = await httpUpstream((_, response) => response.end('done'))
    const audit = { ...log.settings, digests: 'both' }
    const live = await bootLiveGateway({ upstream: upstream.url, audit, ...once })
    const sha256 = (text: string) => createHash('sha256').update(text).digest('hex')

    await post(live.gateway.address.port, 'a')
    await post(live.gateway.address.port, 'a')
    await eventually(() => log.lines().filter(({ event }) => event === 'exchange').length === 2)

    const own = { requestDigest: sha256('abc'), answerDigest: sha256('done') }
    expect(log.lines().filter(({ event }) => event === 'exchange')).toMatchObject([own, own])
  })
})

test('a replay counts for the rate limit', async () => {
  const upstream = await httpUpstream((_, response) => response.end('done'))
  const limits = { address: { rate: '1/min', burst: 2 } }
  const { port } = await bootGateway({ upstream: upstream.url, limits, ...once })

  const got = [await post(port, 'a'), await post(port, 'a'), await post(port, 'a')]

  expect(got).toEqual(['200 done', '200 done replayed', '429 rate-limited'])
})

describe('with each kind of body', () => {
  const boot = async (settings: Settings = {}) => {
    const upstream = await httpUpstream(({ body }, response) => response.end(`got ${body}`))
    return { upstream, ...(await bootGateway({ upstream: upstream.url, ...once, ...settings })) }
  }

  test.each<readonly [string, WireRequest, WireRequest, readonly string[]]>([
    ['chunks, and by length', { chunkBytes: 1 }, {}, ['200 got abc', '200 got abc replayed']],
    ['chunks of another size', { chunkBytes: 1 }, { chunkBytes: 2 }, ['200 got abc', '200 got abc replayed']],
    [
      'trailers, and without',
      { chunkBytes: 1, trailers: 'X-Late: 1\r\n' },
      { chunkBytes: 1 },
      ['200 got abc', '200 got abc replayed'],
    ],
    ['nothing, and a length of 0', { body: undefined }, { body: Buffer.alloc(0) }, ['200 got ', '200 got  replayed']],
    ['nothing, and something', { body: undefined }, {}, ['200 got ', '422 idempotency-key-reused']],
    [
      'the same with another query',
      {},
      { target: '/valuation/score?a=1' },
      ['200 got abc', '422 idempotency-key-reused'],
    ],
    ['the same with another type', {}, { fields: ['Content-Type', 'a/b'] }, ['200 got abc', '200 got abc replayed']],
  ] as never)('%s', async (_, first, second, expected) => {
    const { port, upstream } = await boot()

    expect([await post(port, 'a', first), await post(port, 'a', second)]).toEqual(expected)
    expect(upstream.requests).toHaveLength(1)
  })

  test('a client that waits for 100 Continue gets it, and then the replay', async () => {
    const { port, upstream } = await boot()
    const request = {
      method: 'POST',
      target: '/valuation/score',
      fields: ['Idempotency-Key', 'a', 'Expect', '100-continue'],
      body: Buffer.from('abc'),
    }

    const [first, second] = [await call(port, request), await call(port, request)]

    expect([first, second].map(({ interim }) => interim.map(({ status }) => status))).toEqual([[100], [100]])
    expect([first, second].map(({ status, body }) => `${status} ${body}`)).toEqual(['200 got abc', '200 got abc'])
    expect(upstream.requests).toHaveLength(1)
  })
})

test('an interim response goes to the client of the first request, and is not part of a replay', async () => {
  const upstream = await rawUpstream((socket) =>
    onRequest(socket, () =>
      socket.end(
        'HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 4\r\nConnection: close\r\n\r\ndone',
      ),
    ),
  )
  const { port } = await bootGateway({ upstream: upstream.url, listen: { interim: 'relay' }, ...once })
  const request = {
    method: 'POST',
    target: '/valuation/score',
    fields: ['Idempotency-Key', 'a'],
    body: Buffer.from('abc'),
  }

  const [first, second] = [await call(port, request), await call(port, request)]

  expect(first.interim.map(({ status }) => status)).toEqual([103])
  expect([second.interim, second.status, second.body.toString()]).toEqual([[], 200, 'done'])
})

test('a replay has the interaction id of its own request, not that of the first', async () => {
  const upstream = await httpUpstream((request, response) => {
    response.setHeader('X-FAPI-Interaction-Id', receivedValues(request, 'x-fapi-interaction-id'))
    response.end('done')
  })
  const { port } = await bootGateway({ upstream: upstream.url, ...once })
  const ask = async (...ids: readonly string[]) => {
    const { fields } = await call(port, {
      method: 'POST',
      target: '/valuation/score',
      fields: ['Idempotency-Key', 'a', ...ids.flatMap((id) => ['x-fapi-interaction-id', id])],
      body: Buffer.from('abc'),
    })
    return fieldValues(fields, 'x-fapi-interaction-id')
  }

  expect([await ask('first'), await ask('second'), await ask()]).toEqual([['first'], ['second'], []])
  expect(upstream.requests).toHaveLength(1)
})
