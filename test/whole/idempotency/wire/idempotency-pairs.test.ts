/** A key of idempotency, and each other feature on the way of its request. */
import { createHash } from 'node:crypto'
import { describe, expect, onTestFinished, test } from 'vitest'
import { createAuditLog } from '../../../features/audit/audit-log-place.ts'
import { once, post, send, told } from '../../../features/idempotency/wire/keyed-post.ts'
import { contractFile } from '../../../helpers/contract.ts'
import { bootGateway, type Settings } from '../../../helpers/gateway.ts'
import { liveGatewayForAll } from '../../../helpers/live-gateway.ts'
import { rawClient } from '../../../helpers/raw-client.ts'
import { receivedValues } from '../../../helpers/round-trip.ts'
import { httpUpstream, onRequest, rawUpstream } from '../../../helpers/upstream.ts'
import { call, eventually, fieldValues, type WireRequest } from '../../../helpers/wire.ts'

const other = { body: Buffer.from('other') }
const forwarding = { 'valuation.score': { idempotency: { onUnknown: 'forward' } } }

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

  /** Boots a gateway with retries, before an upstream that sends these (null: a reset), and the last from then on. */
  const bootBefore = async (
    operations: NonNullable<Settings['operations']>,
    ...responses: readonly (string | null)[]
  ) => {
    let heads = 0
    const upstream = await rawUpstream((socket) =>
      onRequest(socket, () => {
        const status = responses[Math.min(heads++, responses.length - 1)]
        if (status == null) socket.resetAndDestroy()
        else socket.end(`HTTP/1.1 ${status}\r\nContent-Length: 4\r\nConnection: close\r\n\r\ndone`)
      }),
    )
    const booted = await bootGateway({ upstream: upstream.url, defaults: { retry: {} }, operations })
    return { ...booted, heads: () => heads }
  }

  test.each([
    ['reject', once.operations, 1, ['502 reset-before-headers', '409 outcome-unknown']],
    ['forward', forwarding, 2, ['200 done', '200 done replayed']],
  ])('and onUnknown %s, a reset request is sent so often', async (_, operations, times, expected) => {
    const { port, heads } = await bootBefore(operations, null, '200 OK')

    expect([await post(port, 'a'), await post(port, 'a')]).toEqual(expected)
    expect(heads()).toBe(times)
  })

  test.each([
    ['was reset', null],
    ['got a 503', '503 Service Unavailable'],
  ])('a denial frees no key whose first attempt %s: it may have been processed', async (_, first) => {
    const { port, heads } = await bootBefore(forwarding, first, '409 Conflict')

    expect([await post(port, 'a'), await post(port, 'a', other)]).toEqual(['409 done', '422 idempotency-key-reused'])
    expect(heads()).toBe(2)
  })

  // The balancing draws which attempt comes first. One that ends with the one that sent nothing is a 502.
  test('a key is free when one attempt sent nothing and the other was denied', async () => {
    const upstream = await httpUpstream(({ body }, response) =>
      response.writeHead(`${body}` === 'other' ? 200 : 429).end('done'),
    )
    const retry = { on: ['connect-failed', 429] }
    const valuation = { endpoints: ['http://127.0.0.1:1', upstream.url], outlier: 'none', retry }
    const { port } = await bootGateway({ upstreams: { valuation }, operations: forwarding })

    const got = [await post(port, 'a'), await post(port, 'a', other)]

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
  expect([await post(port, 'b'), await post(port, 'a')]).toEqual(['200 done replayed', '409 outcome-unknown'])
})

describe('with a deadline', () => {
  const operations = { 'valuation.score': { idempotency: true, deadline: '1s' } }

  test('a request that it ends leaves an unknown outcome', async () => {
    const upstream = await httpUpstream(() => {})
    const { port } = await bootGateway({ upstream: upstream.url, operations })

    expect([await post(port, 'a'), await post(port, 'a')]).toEqual(['504 deadline-exceeded', '409 outcome-unknown'])
    expect(upstream.begun()).toBe(1)
  })

  test('a request that has waited for its connection until then frees its key', async () => {
    const upstream = await httpUpstream(({ body }, response) => {
      // Its head has come, so no deadline ends it; its body keeps the only connection.
      if (`${body}` === 'first') response.writeHead(200, { 'Content-Length': '4' }).write('do')
      else response.end('done')
    })
    const valuation = { endpoints: [upstream.url], maxConnections: 1 }
    const { port, line } = await bootGateway({ upstreams: { valuation }, operations })
    const first = await rawClient(port)
    first.send('POST /valuation/score HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nfirst')
    await first.until((received) => received.includes(' 200 '))

    const late = await post(port, 'a')
    first.socket.resetAndDestroy()
    await line(({ failure }) => failure === 'client-gone')

    expect([late, await post(port, 'a')]).toEqual(['504 deadline-exceeded', '200 done'])
  })
})

describe('with a contract that is enforced', () => {
  const boot = async (result: string) => {
    const upstream = await httpUpstream((_, response) =>
      response.writeHead(200, { 'Content-Type': 'application/json' }).end(result),
    )
    const contract = { file: contractFile(), request: 'enforce', response: 'enforce' }
    const { port } = await bootGateway({ upstream: upstream.url, contract, ...once })
    const postJson = (body: string) =>
      post(port, 'a', { fields: ['Content-Type', 'application/json'], body: Buffer.from(body) })
    return { upstream, postJson }
  }

  test('a request that breaks it uses up no key', async () => {
    const { postJson, upstream } = await boot('{"grade":"A"}')

    const got = [await postJson('{"amount":1}'), await postJson('{"id":"a"}'), await postJson('{"id":"a"}')]

    expect(got).toEqual(['400 invalid-request', '200 {"grade":"A"}', '200 {"grade":"A"} replayed'])
    expect(upstream.requests).toHaveLength(1)
  })

  test('a response that breaks it leaves an unknown outcome', async () => {
    const { postJson, upstream } = await boot('{"grade":"Z"}')

    const got = [await postJson('{"id":"a"}'), await postJson('{"id":"a"}')]

    expect(got).toEqual(['502 invalid-response', '409 outcome-unknown'])
    expect(upstream.requests).toHaveLength(1)
  })
})

test('the audit line of a replay has the digests of the first request and response', async () => {
  const log = createAuditLog(onTestFinished)
  const upstream = await httpUpstream((_, response) => response.end('done'))
  const { port } = await bootGateway({ upstream: upstream.url, audit: { ...log.settings, digests: 'both' }, ...once })
  const sha256 = (text: string) => createHash('sha256').update(text).digest('hex')
  const exchanges = () => log.lines().filter(({ event }) => event === 'exchange')

  for (let nth = 0; nth < 2; nth++) await post(port, 'a')
  await eventually(() => exchanges().length === 2)

  const own = { requestDigest: sha256('abc'), responseDigest: sha256('done') }
  expect(exchanges()).toMatchObject([own, own])
})

test('a replay counts for the rate limit', async () => {
  const upstream = await httpUpstream((_, response) => response.end('done'))
  const limits = { address: { rate: '1/min', burst: 2 } }
  const { port } = await bootGateway({ upstream: upstream.url, limits, ...once })

  const got = [await post(port, 'a'), await post(port, 'a'), await post(port, 'a')]

  expect(got).toEqual(['200 done', '200 done replayed', '429 rate-limited'])
})

describe('in one gateway', () => {
  const gateway = liveGatewayForAll({
    listen: { interim: 'relay' },
    operations: { ...once.operations, 'market.insights': { cache: true } },
  })

  test('a replay removes nothing from the cache: only what was processed did', async () => {
    gateway.respondWith(({ method }, response) => {
      if (method === 'POST') response.writeHead(201, { Location: '/market/insights' }).end('done')
      else response.setHeader('Cache-Control', 'max-age=60').end(String(gateway.received().length))
    })
    const [get, postIt] = [async () => (await call(gateway.port)).body.toString(), () => post(gateway.port, 'cached')]

    const got = [await get(), await postIt(), await get(), await postIt(), await get()]

    expect(got).toEqual(['1', '201 done', '3', '201 done replayed', '3'])
  })

  const [chunked, trailers] = [{ chunkBytes: 1 }, 'X-Late: 1\r\n']
  test.each<readonly [what: string, first: object, second: object, body: string, told: string]>([
    ['chunks and by length', chunked, {}, 'abc', '200 got abc replayed'],
    ['chunks of another size', chunked, { chunkBytes: 2 }, 'abc', '200 got abc replayed'],
    ['trailers and without', { ...chunked, trailers }, chunked, 'abc', '200 got abc replayed'],
    ['nothing and a length of 0', { body: undefined }, { body: Buffer.alloc(0) }, '', '200 got  replayed'],
    ['nothing and something', { body: undefined }, {}, '', '422 idempotency-key-reused'],
    ['the same with another query', {}, { target: '/valuation/score?a=1' }, 'abc', '422 idempotency-key-reused'],
    ['the same with another type', {}, { fields: ['Content-Type', 'a/b'] }, 'abc', '200 got abc replayed'],
  ])('a body in %s', async (what, first, second, body, expected) => {
    gateway.respondWith((request, response) => response.end(`got ${request.body}`))

    const got = [await post(gateway.port, what, first), await post(gateway.port, what, second)]

    expect(got).toEqual([`200 got ${body}`, expected])
    expect(gateway.received()).toHaveLength(1)
  })

  /** Sends a POST twice, and says the interim responses of each and what came of it. */
  const twice = async (key: string, more: WireRequest = {}) => {
    const got = [await send(gateway.port, key, more), await send(gateway.port, key, more)]
    return got.map((each) => [...each.interim.map(({ status }) => status), told(each)])
  }

  test('a client that waits for 100 Continue gets it, and then the replay', async () => {
    gateway.respondWith((_, response) => response.end('done'))

    expect(await twice('continued', { fields: ['Expect', '100-continue'] })).toEqual([
      [100, '200 done'],
      [100, '200 done replayed'],
    ])
  })

  test('an interim response goes to the client of the first request, and is not part of a replay', async () => {
    gateway.respondWith((_, response) => response.writeEarlyHints({ link: '</a>' }, () => response.end('done')))

    expect(await twice('hinted')).toEqual([[103, '200 done'], ['200 done replayed']])
  })

  test('a replay has the interaction id of its own request, not that of the first', async () => {
    gateway.respondWith((request, response) => {
      response.setHeader('X-FAPI-Interaction-Id', receivedValues(request, 'x-fapi-interaction-id')).end('done')
    })
    const ask = async (...ids: readonly string[]) => {
      const fields = ids.flatMap((id) => ['x-fapi-interaction-id', id])
      return fieldValues((await send(gateway.port, 'fapi', { fields })).fields, 'x-fapi-interaction-id')
    }

    expect([await ask('first'), await ask('second'), await ask()]).toEqual([['first'], ['second'], []])
    expect(gateway.received()).toHaveLength(1)
  })
})
