import type { ServerResponse } from 'node:http'
import fc from 'fast-check'
import pino from 'pino'
import { describe, expect, onTestFinished, test } from 'vitest'
import { getClientAddress } from '../../../src/core/downstream/request/forwarded.ts'
import { isValidRequestId } from '../../../src/core/downstream/request/request-head.ts'
import { FailedAttempt, GatewayError } from '../../../src/core/exchange/failures/errors.ts'
import { cidrMatcher } from '../../../src/core/lib/net/addresses.ts'
import { logAccess } from '../../../src/core/log/access-log.ts'
import { openBrokenGateway } from '../../helpers/broken-gateway.ts'
import { bootGateway, type LogLine, openGateway, testConfig } from '../../helpers/gateway.ts'
import { exchangeRaw, rawClient } from '../../helpers/raw-client.ts'
import { httpUpstream, onRequest, rawUpstream } from '../../helpers/upstream.ts'
import { bareGet } from '../../helpers/wire.ts'
import { exchangeRecord } from './exchange-record.ts'

const always = [
  ...['level', 'time', 'requestId', 'client', 'operation', 'status', 'endpoint', 'attempts', 'gatewayMs', 'upstreamMs'],
  ...['bytesIn', 'bytesOut', 'config', 'msg'],
]

const isExchange = ({ msg }: LogLine): boolean => msg === 'exchange'
const get = bareGet()

test('an exchange leaves one line, with exactly these fields', async () => {
  const upstream = await httpUpstream()
  const settings = { upstream: upstream.url }
  const { port, line, lines } = await bootGateway(settings)

  await exchangeRaw(port, get.replace('\r\n\r\n', '\r\nX-Request-Id: of-the-client\r\n\r\n'))

  const logged = await line(isExchange)
  expect(Object.keys(logged)).toEqual(always)
  expect(logged).toMatchObject({
    ...{ level: 30, requestId: 'of-the-client', client: '127.0.0.1', operation: 'market.insights', status: 200 },
    ...{ endpoint: upstream.url, attempts: 1, config: testConfig(settings).hash },
  })
  expect(Math.abs(Number(logged.time) - Date.now())).toBeLessThan(60_000)
  expect(lines.filter(isExchange).length).toBe(1)
})

test('the line is written when the body has ended, with upstream and gateway times apart', async () => {
  let held: ServerResponse | undefined
  const upstream = await httpUpstream((_, response) => {
    held = response
    response.write('first')
  })
  const { port, line, lines } = await bootGateway({ upstream: upstream.url })
  const client = await rawClient(port)

  const startedAt = performance.now()
  client.send(get)
  await client.until((text) => text.includes('first'))
  const early = lines.filter(isExchange).length
  setTimeout(() => held?.end('last'), 200)
  const { upstreamMs, gatewayMs, bytesOut } = await line(isExchange)
  const tookMs = performance.now() - startedAt
  client.close()

  expect([early, bytesOut]).toEqual([0, 'firstlast'.length])
  expect(upstreamMs).toBeGreaterThanOrEqual(199)
  expect(gatewayMs).toBeGreaterThanOrEqual(0)
  // The upstream's time, counted in both parts, would make the sum longer than the whole.
  expect(Number(upstreamMs) + Number(gatewayMs)).toBeLessThanOrEqual(tookMs + 0.2) // each is rounded
})

test('bytes are counted both ways, of a body that is read first and of one that streams', async () => {
  const upstream = await httpUpstream(({ body }, response) => void response.end('y'.repeat(2 * body.length)))
  const { port, line } = await bootGateway({ upstream: upstream.url })

  for (const size of [1000, 100_000]) {
    const head = `POST /risk/asset-valuation HTTP/1.1\r\nHost: gateway\r\nContent-Length: ${size}\r\n\r\n`
    await exchangeRaw(port, head + 'x'.repeat(size))

    expect(await line((each) => isExchange(each) && each.bytesIn === size)).toMatchObject({ bytesOut: size * 2 })
  }
})

test('with access: false nothing is written', async () => {
  const { port, lines } = await bootGateway({ log: { access: false } })

  await exchangeRaw(port, get)
  await exchangeRaw(port, get.replace('market', 'nowhere'))
  await exchangeRaw(port, 'nonsense\r\n\r\n')

  expect(lines.filter(isExchange)).toEqual([])
})

describe('a failure', () => {
  const own = { operation: null, endpoint: null, attempts: 0, upstreamMs: null, bytesIn: 0, fault: 'client', level: 30 }
  const malformed = { cause: 'no HTTP method in the request line', reason: 'bad-method' }

  test('a failure of the client is logged at level info, with its kind', async () => {
    const { port, line } = await bootGateway()

    for (const [failure, status, bytes, more] of [
      ['not-found', 404, bareGet('/nowhere'), {}],
      ['method-not-allowed', 405, 'CONNECT gateway:443 HTTP/1.1\r\nHost: gateway:443\r\n\r\n', {}],
      ['bad-request', 400, 'nonsense\r\n\r\n', malformed],
    ] as const) {
      const response = await exchangeRaw(port, bytes)

      const logged = await line((each) => isExchange(each) && each.failure === failure)
      expect(Object.keys(logged).sort()).toEqual([...always, 'failure', 'fault', ...Object.keys(more)].sort())
      expect(logged).toMatchObject({ ...own, ...more, status, bytesOut: response.split('\r\n\r\n')[1]?.length })
    }
  })

  test('a failure of the upstream is a warning, with the cause in one line', async () => {
    const { port, line } = await bootGateway({ upstream: 'http://127.0.0.1:1' })

    await exchangeRaw(port, get)

    const logged = await line(isExchange)
    expect(Object.keys(logged).sort()).toEqual([...always, 'failure', 'fault', 'reason', 'cause'].sort())
    expect(logged).toMatchObject({
      ...{ level: 40, status: 502, failure: 'connect-failed', fault: 'upstream', reason: 'refused' },
      ...{ cause: 'connect ECONNREFUSED 127.0.0.1:1', endpoint: 'http://127.0.0.1:1' },
    })
  })

  test('a failure of the gateway itself is an error, with the whole stack', async () => {
    const { port, line, gateway } = await openGateway({}, openBrokenGateway)
    onTestFinished(() => gateway.close())

    await exchangeRaw(port, get)

    const cause = expect.stringMatching(/planted.*\n\s+at /)
    const expected = { level: 50, status: 500, failure: 'internal', fault: 'gateway', cause }
    expect(await line(isExchange)).toMatchObject(expected)
  })
})

test('no line holds a field value, a query value or a body, of a forwarded, rejected or malformed request', async () => {
  const secret = 'a5ecret'
  const fieldLines = [
    ...[`Authorization: Bearer ${secret}`, `Cookie: session=${secret}`, `X-Api-Key: ${secret}`],
    ...[`User-Agent: ${secret}`],
    ...[`X-Request-Id: ${secret} is no id`, `x-fapi-interaction-id: ${secret}`, `X-Forwarded-For: ${secret}`],
    ...[`Host: ${secret}.invalid`, `Referer: http://${secret}.invalid/`],
  ].join('\r\n')
  const request = (line: string, more = ''): string => `${line}\r\n${fieldLines}\r\n${more}\r\n`
  const post = `POST /risk/asset-valuation?key=${secret} HTTP/1.1`
  const withBody = request(post, `Content-Length: ${secret.length}\r\n`) + secret
  const ok = 'HTTP/1.1 200 OK\r\n'
  let raw = ''
  const upstream = await rawUpstream((socket) => onRequest(socket, () => socket.end(raw)))
  const { port, line, lines } = await bootGateway({ upstream: upstream.url })
  const exchanges = () => lines.filter(isExchange)

  for (const [bytes, next, status] of [
    [withBody, `HTTP/1.1 200 ${secret}\r\nSet-Cookie: ${secret}\r\nContent-Length: 7\r\n\r\n${secret}`, 200],
    [request(`GET /${secret}?key=${secret} HTTP/1.1`), '', 404],
    [request(`PUT /market/insights?key=${secret} HTTP/1.1`), '', 405],
    [request(`GET /market/insights?key=${secret} HTTP/1.1`, `${secret} : ${secret}\r\n`), '', 400],
    [`${secret}\r\n\r\n`, '', 400],
    [request('GET /market/insights HTTP/1.1', `X: ${secret.repeat(10_000)}\r\n`), '', 431],
    [request(post, 'Transfer-Encoding: chunked\r\n') + secret, '', 400],
    [withBody, `${secret}\r\n\r\n`, 502],
    [withBody, `${ok}${secret} : ${secret}\r\n\r\n`, 502],
    [withBody, `${ok}X: ${secret}\x01\r\n\r\n`, 502],
    [withBody, `${ok}Transfer-Encoding: ${secret}\r\n\r\n`, 502],
    [withBody, `${ok}Content-Length: ${secret}\r\n\r\n`, 502],
    [withBody, `${ok}Transfer-Encoding: chunked\r\n\r\n${secret}\r\n`, 200],
    [withBody, `HTTP/1.1 200 ${secret}\x01\r\nContent-Length: 0\r\n\r\n`, 502],
  ] as const) {
    const before = exchanges().length
    raw = next
    await exchangeRaw(port, bytes)
    expect(await line((each) => isExchange(each) && exchanges().indexOf(each) >= before)).toMatchObject({ status })
  }

  expect(JSON.stringify(lines)).not.toContain(secret)
})

describe('the line of an exchange', () => {
  const peer = { address: '10.0.0.1', trusted: true, secure: false, inFlight: 1, certificate: () => null }
  const isTrusted = cidrMatcher(['10.0.0.0/8'])

  // The values of a client in a line: a stored id, and an address behind a trusted proxy. Quotes and backslashes above
  // all.
  const hostile = fc.string({
    unit: fc.constantFrom('"', '\\', '\n', '%', ':', '.', 'f', 'e', '8', '0', '1', '[', ']', ' ', '}'),
  })
  const id = fc.oneof(hostile, fc.string()).filter(isValidRequestId)
  const zoned = fc.tuple(fc.ipV6(), hostile).map(([ip, zone]) => `${ip}%${zone}`)

  const lineOf = (more: Parameters<typeof exchangeRecord>[0]) => {
    const lines: string[] = []
    logAccess(pino({ base: null }, { write: (line: string) => lines.push(line) }), exchangeRecord(more))
    expect(lines).toHaveLength(1)
    return JSON.parse(lines[0] ?? '')
  }

  test('the line of an exchange is JSON, whatever a client sends', () => {
    const time = fc.float({ noNaN: true, min: 0, max: 1e6 })
    fc.assert(
      fc.property(id, fc.oneof(hostile, fc.ipV4(), zoned), time, (requestId, forwarded, totalMs) => {
        const client = getClientAddress(peer, forwarded, isTrusted)

        const line = lineOf({ requestId, client, totalMs, upstreamMs: totalMs / 2 })

        expect(line).toMatchObject({ requestId, client, upstreamMs: expect.any(Number) })
        expect(Math.abs(line.gatewayMs - totalMs / 2)).toBeLessThanOrEqual(0.0501)
      }),
    )
  })

  describe('attempts that failed', () => {
    const connectFailed = new GatewayError('connect-failed', {
      reason: 'refused',
      cause: new Error('connect ECONNREFUSED "127.0.0.1:1"'),
    })
    const attempt = (errorOrStatus: GatewayError | number, endpoint = 'http://market-a:8080') =>
      new FailedAttempt(endpoint, errorOrStatus, 0)
    const loggedAttempt = {
      ...{ endpoint: 'http://market-a:8080', failure: 'connect-failed', reason: 'refused' },
      cause: 'connect ECONNREFUSED "127.0.0.1:1"',
    }

    test('failed attempts before the response are in its line, each with its own cause', () => {
      const failedAttempts = [attempt(connectFailed), attempt(503, 'http://market-b:8080')]

      expect(lineOf({ attempts: 3, failedAttempts })).toMatchObject({
        status: 200,
        failedAttempts: [loggedAttempt, { endpoint: 'http://market-b:8080', status: 503 }],
      })
    })

    test('failed attempts before the failure of the exchange are beside it, and it is not logged twice', () => {
      const failure = new GatewayError('headers-timeout')
      const failedAttempts = [attempt(connectFailed), attempt(failure)]

      const line = lineOf({ attempts: 2, status: 504, failure, failedAttempts })

      expect(line).toMatchObject({ failure: 'headers-timeout', failedAttempts: [loggedAttempt] })
    })

    test('the line has no failed attempts if there is only the one whose result the client got', () => {
      const failed = lineOf({ status: 502, failure: connectFailed, failedAttempts: [attempt(connectFailed)] })
      const responded = lineOf({ status: 503, failedAttempts: [attempt(503)] })

      expect([failed.failedAttempts, responded.failedAttempts]).toEqual([undefined, undefined])
    })

    test('the line has at most eight failed attempts', () => {
      const failedAttempts = Array.from({ length: 300 }, () => attempt(connectFailed))

      expect(lineOf({ attempts: 301, failedAttempts }).failedAttempts).toHaveLength(8)
    })
  })
})
