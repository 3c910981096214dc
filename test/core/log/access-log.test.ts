import type { ServerResponse } from 'node:http'
import { describe, expect, onTestFinished, test } from 'vitest'
import { openBrokenGateway } from '../../helpers/broken-gateway.ts'
import { bootGateway, type LogLine, openGateway, type TestGateway, testConfig } from '../../helpers/gateway.ts'
import { exchangeRaw, isWholeResponse, rawClient } from '../../helpers/raw-client.ts'
import { httpUpstream, onRequest, rawUpstream } from '../../helpers/upstream.ts'

const always = [
  'level',
  'time',
  'requestId',
  'client',
  'operation',
  'status',
  'endpoint',
  'attempts',
  'gatewayMs',
  'upstreamMs',
  'bytesIn',
  'bytesOut',
  'config',
  'msg',
]

const isExchange = ({ msg }: LogLine): boolean => msg === 'exchange'
const get = 'GET /market/insights HTTP/1.1\r\nHost: gateway\r\n\r\n'

test('an exchange leaves one line, with these fields and no others', async () => {
  const upstream = await httpUpstream()
  const settings = { upstream: upstream.url }
  const { port, line, lines } = await bootGateway(settings)

  await exchangeRaw(port, get.replace('\r\n\r\n', '\r\nX-Request-Id: of-the-client\r\n\r\n'))

  const logged = await line(isExchange)
  expect(Object.keys(logged)).toEqual(always)
  expect(logged).toMatchObject({
    level: 30,
    requestId: 'of-the-client',
    client: '127.0.0.1',
    operation: 'market.insights',
    status: 200,
    endpoint: upstream.url,
    attempts: 1,
    config: testConfig(settings).hash,
  })
  expect(Math.abs(Number(logged.time) - Date.now())).toBeLessThan(60_000)
  expect(lines.filter(isExchange).length).toBe(1)
})

test('the line is written when the body has ended, not before', async () => {
  let response: ServerResponse | undefined
  const upstream = await httpUpstream((_, upstreamResponse) => {
    response = upstreamResponse
    upstreamResponse.write('first')
  })
  const { port, line, lines } = await bootGateway({ upstream: upstream.url })
  const client = await rawClient(port)

  client.send(get)
  await client.until((text) => text.includes('first'))
  const early = lines.filter(isExchange).length
  response?.end('last')
  await client.until(isWholeResponse)
  client.close()

  expect(early).toBe(0)
  expect((await line(isExchange)).bytesOut).toBe('firstlast'.length)
})

test('requests one after another on one connection leave a line each', async () => {
  const { port, lines, line } = await bootGateway()
  const client = await rawClient(port)

  client.send(get.repeat(5) + get.replace('\r\n\r\n', '\r\nX-Request-Id: the-last\r\nConnection: close\r\n\r\n'))
  await client.ended()
  await line(({ requestId }) => requestId === 'the-last')

  const ids = lines.filter(isExchange).map(({ requestId }) => requestId)
  expect(ids.length).toBe(6)
  expect(new Set(ids).size).toBe(6)
})

test.each([
  ['a body read first', 1000],
  ['a body that streams', 100_000],
])('bytes are counted both ways: %s', async (_, size) => {
  const upstream = await httpUpstream((_, response) => void response.end('y'.repeat(size * 2)))
  const { port, line } = await bootGateway({ upstream: upstream.url })

  const head = `POST /risk/asset-valuation HTTP/1.1\r\nHost: gateway\r\nContent-Length: ${size}\r\n\r\n`
  await exchangeRaw(port, head + 'x'.repeat(size))

  expect(await line(isExchange)).toMatchObject({ bytesIn: size, bytesOut: size * 2 })
})

test('what the upstream took is kept apart from what the gateway took', async () => {
  const upstream = await httpUpstream((_, response) => void setTimeout(() => response.end('late'), 200))
  const { port, line } = await bootGateway({ upstream: upstream.url })

  const startedAt = performance.now()
  await exchangeRaw(port, get)
  const { upstreamMs, gatewayMs } = await line(isExchange)
  const tookMs = performance.now() - startedAt

  expect(upstreamMs).toBeGreaterThanOrEqual(199)
  expect(gatewayMs).toBeGreaterThanOrEqual(0)
  // Counted in both, the time of the upstream would make the sum longer than the whole.
  expect(Number(upstreamMs) + Number(gatewayMs)).toBeLessThanOrEqual(tookMs + 0.2) // each is rounded
})

test('with access: false nothing is written', async () => {
  const { port, lines } = await bootGateway({ log: { access: false } })

  await exchangeRaw(port, get)
  await exchangeRaw(port, get.replace('market', 'nowhere'))
  await exchangeRaw(port, 'nonsense\r\n\r\n')

  expect(lines.filter(isExchange)).toEqual([])
})

describe('a failure', () => {
  test.each([
    ['not-found', 404, 'GET /nowhere HTTP/1.1\r\nHost: gateway\r\n\r\n'],
    ['method-not-allowed', 405, 'CONNECT gateway:443 HTTP/1.1\r\nHost: gateway:443\r\n\r\n'],
    ['bad-request', 400, 'nonsense\r\n\r\n'],
  ])('of the client is logged with its kind, at the level of information: %s', async (failure, status, bytes) => {
    const { port, line } = await bootGateway()

    const response = await exchangeRaw(port, bytes)

    const { cause, reason, ...logged } = await line(isExchange)
    expect(Object.keys(logged).sort()).toEqual([...always, 'failure', 'fault'].sort())
    expect(logged).toMatchObject({
      level: 30,
      operation: null,
      status,
      endpoint: null,
      attempts: 0,
      upstreamMs: null,
      bytesIn: 0,
      bytesOut: response.split('\r\n\r\n')[1]?.length,
      failure,
      fault: 'client',
    })
    expect(cause).toBe(failure === 'bad-request' ? 'no method of HTTP in the request line' : undefined)
    expect(reason).toBe(failure === 'bad-request' ? 'bad-method' : undefined)
  })

  test('of the upstream is a warning, with the cause in one line', async () => {
    const { port, line } = await bootGateway({ upstream: 'http://127.0.0.1:1' })

    await exchangeRaw(port, get)

    const logged = await line(isExchange)
    expect(Object.keys(logged).sort()).toEqual([...always, 'failure', 'fault', 'reason', 'cause'].sort())
    expect(logged).toMatchObject({
      level: 40,
      status: 502,
      failure: 'connect-failed',
      fault: 'upstream',
      reason: 'refused',
    })
    expect(logged.cause).toBe('connect ECONNREFUSED 127.0.0.1:1')
    expect(logged.endpoint).toBe('http://127.0.0.1:1')
  })

  test('of the gateway itself is an error, with the whole stack', async () => {
    const { port, line, gateway } = await openGateway({}, openBrokenGateway)
    onTestFinished(() => gateway.close())

    await exchangeRaw(port, get)

    const logged = await line(isExchange)
    expect(logged).toMatchObject({ level: 50, status: 500, failure: 'internal', fault: 'gateway' })
    expect(logged.cause).toMatch(/planted.*\n\s+at /)
  })
})

describe('no line holds a field value, a query value or a body', () => {
  const secret = 'a5ecret'
  const fieldLines = [
    `Authorization: Bearer ${secret}`,
    `Cookie: session=${secret}`,
    `X-Api-Key: ${secret}`,
    `X-Request-Id: ${secret} is no id`,
    `x-fapi-interaction-id: ${secret}`,
    `Referer: http://${secret}.invalid/`,
    `User-Agent: ${secret}`,
    `X-Forwarded-For: ${secret}`,
  ].join('\r\n')
  const request = (line: string, more = ''): string =>
    `${line}\r\nHost: ${secret}.invalid\r\n${fieldLines}\r\n${more}\r\n`
  const post = `POST /risk/asset-valuation?key=${secret} HTTP/1.1`
  const withBody = request(post, `Content-Length: ${secret.length}\r\n`) + secret

  /** Sends bytes and returns all log lines once the exchange has ended. */
  const linesAfter = async ({ port, line, lines }: TestGateway, bytes: string): Promise<string> => {
    const client = await rawClient(port)
    client.send(bytes)
    await client.until(isWholeResponse).catch(() => {})
    client.close()
    await line(isExchange)
    return JSON.stringify(lines)
  }

  test('of a request that is answered, nor of its response', async () => {
    const upstream = await httpUpstream((_, response) => {
      response.writeHead(200, secret, ['Set-Cookie', `session=${secret}`, 'X-Secret', secret])
      response.end(secret)
    })

    expect(await linesAfter(await bootGateway({ upstream: upstream.url }), withBody)).not.toContain(secret)
    expect(upstream.requests[0]?.body.toString()).toBe(secret)
  })

  test.each([
    ['for no operation', request(`GET /${secret}?key=${secret} HTTP/1.1`)],
    ['whose method is another', request(`PUT /market/insights?key=${secret} HTTP/1.1`)],
    ['that is malformed', request(`GET /market/insights?key=${secret} HTTP/1.1`, `${secret} : ${secret}\r\n`)],
    ['that is no HTTP', `${secret}\r\n\r\n`],
    ['that is too large', request(`GET /market/insights HTTP/1.1`, `X: ${secret.repeat(10_000)}\r\n`)],
    ['whose chunks are malformed', request(post, 'Transfer-Encoding: chunked\r\n') + secret],
  ])('of a request %s', async (_, bytes) => {
    expect(await linesAfter(await bootGateway(), bytes)).not.toContain(secret)
  })

  test.each([
    ['that is no HTTP', `${secret}\r\n\r\n`],
    ['with a malformed field', `HTTP/1.1 200 OK\r\n${secret} : ${secret}\r\n\r\n`],
    ['with a malformed value', `HTTP/1.1 200 OK\r\nX: ${secret}\x01\r\n\r\n`],
    ['with another coding', `HTTP/1.1 200 OK\r\nTransfer-Encoding: ${secret}\r\n\r\n`],
    ['with a malformed length', `HTTP/1.1 200 OK\r\nContent-Length: ${secret}\r\n\r\n`],
    ['with a malformed chunk', `HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n${secret}\r\n`],
    ['with a reason phrase of control characters', `HTTP/1.1 200 ${secret}\x01\r\nContent-Length: 0\r\n\r\n`],
  ])('of a response %s', async (_, bytes) => {
    const upstream = await rawUpstream((socket) => onRequest(socket, () => socket.end(bytes)))

    const lines = await linesAfter(await bootGateway({ upstream: upstream.url }), withBody)

    expect(lines).not.toContain(secret)
  })
})
