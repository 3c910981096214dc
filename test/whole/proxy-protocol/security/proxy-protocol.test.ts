import { hash } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { createAuditLog } from '../../../features/audit/audit-log-place.ts'
import { bootApiKeyGateway, key } from '../../../helpers/api-key-gateway.ts'
import { type LogLine, openGateway, type Settings, type TestGateway } from '../../../helpers/gateway.ts'
import { dialHttp2, get as http2Get, listenHttp2, missing, requestHttp2 } from '../../../helpers/http2.ts'
import { bootLiveGateway } from '../../../helpers/live-gateway.ts'
import { proxyV1, proxyV2, proxyV2Raw, tcpBalancer, tlv } from '../../../helpers/proxy-protocol.ts'
import { exchangeRaw, isWholeResponse, parseStatus, type RawClient, rawClient } from '../../../helpers/raw-client.ts'
import { receivedValues } from '../../../helpers/round-trip.ts'
import { tlsHandshake } from '../../../helpers/tls-client.ts'
import { openHttpUpstream, type TestUpstream } from '../../../helpers/upstream.ts'

// The attack: a client that says by a PROXY protocol header that it is another, or that has the gateway wait for one.
const get = 'GET /market/insights HTTP/1.1\r\nHost: a\r\n\r\n'
const client = '203.0.113.5'
const proxyProtocol = { from: ['127.0.0.1'] }
const withRequest = (header: Buffer, request: string = get): Buffer => Buffer.concat([header, Buffer.from(request)])
const local = proxyV2Raw(0, 0, Buffer.alloc(0))

let upstream: TestUpstream
const gateways = new Map<string, Promise<TestGateway>>()
beforeAll(async () => {
  upstream = await openHttpUpstream()
})
afterAll(async () => {
  for (const booted of gateways.values()) await (await booted).gateway.close()
  await upstream.close()
})

/** Opens a gateway, one for each kind of settings, and shows what is logged and arrives from now on. */
const boot = async (listen: Settings['listen'] = {}) => {
  const key = JSON.stringify(listen)
  const opening = gateways.get(key) ?? openGateway({ upstream: upstream.url, listen: { proxyProtocol, ...listen } })
  gateways.set(key, opening)
  const { port, lines, line } = await opening
  const [linesBefore, requestsBefore] = [lines.length, upstream.requests.length]
  return {
    port,
    lines: () => lines.slice(linesBefore),
    line: (wanted: (each: LogLine) => boolean) => line((each) => lines.indexOf(each) >= linesBefore && wanted(each)),
    requests: () => upstream.requests.slice(requestsBefore),
  }
}

const dial = async (port: number, from?: string): Promise<RawClient> => {
  const dialled = await rawClient(port, from)
  onTestFinished(() => dialled.close())
  return dialled
}

const served = ({ line }: Pick<TestGateway, 'line'>) => line(({ status }) => status === 200)
const refused = ({ line }: Pick<TestGateway, 'line'>) => line(({ fault }) => fault === 'client')

describe('from a load balancer, the client is whom the header names', () => {
  test.each([
    ['version 1, IPv6', proxyV1('2001:db8::1'), '2001:db8::1'],
    ['version 2, with a name and a field of its own', proxyV2(client, tlv(2, 'a'), tlv(0xea, 'x')), client],
  ])('on HTTP/1: %s', async (_, header, address) => {
    const gateway = await boot()

    const received = await exchangeRaw(gateway.port, withRequest(header))

    expect(parseStatus(received)).toBe(200)
    expect((await served(gateway)).client).toBe(address)
    expect(receivedValues(gateway.requests()[0], 'x-forwarded-for')).toEqual([address])
  })

  test.each([
    ['version 1', proxyV1(client)],
    ['version 2', proxyV2(client)],
  ])('however it is cut into packets: %s', async (_, header) => {
    const gateway = await boot()
    const bytes = withRequest(header)
    const { socket, until, send } = await dial(gateway.port)
    socket.setNoDelay(true)

    for (const byte of bytes) {
      send(Buffer.from([byte]))
      await new Promise(setImmediate)
    }
    await until(isWholeResponse)
    send(get)
    await until((text) => text.split('HTTP/1.1 200').length === 3)

    expect(
      gateway
        .lines()
        .filter(({ msg }) => msg === 'exchange')
        .map((each) => each.client),
    ).toEqual([client, client])
  })

  test('on HTTP/1, and the body that comes in the same packets arrives whole', async () => {
    const gateway = await boot()
    const body = 'x'.repeat(300_000)
    const post = `POST /risk/asset-valuation HTTP/1.1\r\nHost: a\r\nContent-Length: ${body.length}\r\n\r\n${body}`

    await exchangeRaw(gateway.port, withRequest(proxyV2(client), post))

    expect(gateway.requests()[0]?.body.toString()).toBe(body)
  })

  test.skipIf(missing)('on HTTP/1 over TLS, with the hello in the packet of the header or behind it', async () => {
    const { port, lines } = await boot({ ...listenHttp2(), http2: false })
    const behind = await dial(port)
    behind.send(proxyV1(client))

    const [one, two] = [
      await tlsHandshake(await tcpBalancer(port, proxyV2(client))),
      await tlsHandshake(port, { socket: behind.socket }),
    ]
    for (const { socket, failure } of [one, two]) {
      expect(failure).toBeNull()
      socket.write(get)
      await new Promise((resolve) => socket.once('data', resolve))
      socket.destroy()
    }

    await expect
      .poll(() =>
        lines()
          .filter(({ msg }) => msg === 'exchange')
          .map((each) => [each.client, each.status]),
      )
      .toEqual([
        [client, 200],
        [client, 200],
      ])
  })

  test.skipIf(missing)('on HTTP/2', async () => {
    const gateway = await boot(listenHttp2())
    const session = dialHttp2(await tcpBalancer(gateway.port, proxyV2(client)))
    const head = Object.fromEntries(http2Get().flatMap((each, i, all) => (i % 2 ? [] : [[each, all[i + 1]]])))

    const responses = [await requestHttp2(session, head), await requestHttp2(session, head)]

    expect(responses.map(({ status }) => status)).toEqual([200, 200])
    expect(
      gateway
        .lines()
        .filter(({ msg }) => msg === 'exchange')
        .map((each) => each.client),
    ).toEqual([client, client])
    expect(receivedValues(gateway.requests()[1], 'x-forwarded-for')).toEqual([client])
  })

  test.skipIf(missing)(
    'in the line of a handshake that fails, with the name that the load balancer was asked for',
    async () => {
      const gateway = await boot({ ...listenHttp2(), timeouts: { headers: '500ms' } })
      const { ended, send } = await dial(gateway.port)

      send(Buffer.concat([proxyV2(client, tlv(2, 'gateway.example')), Buffer.from([22, 3, 1])]))
      await ended()

      expect(await gateway.line(({ msg }) => msg === 'handshake failed')).toMatchObject({
        client,
        authority: 'gateway.example',
        reason: 'timeout',
      })
    },
  )

  const secureTlv = (client: number) => tlv(0x20, Buffer.from([client, 0, 0, 0, 0]))

  test.each([
    ['version 1, and nothing in the file', proxyV1(client), {}, 'http'],
    ['version 1, and https in the file', proxyV1(client), { scheme: 'https' }, 'https'],
    ['version 2 without TLS in it, and https in the file', proxyV2(client), { scheme: 'https' }, 'https'],
    ['version 2 that says TLS', proxyV2(client, secureTlv(1)), {}, 'https'],
    ['version 2 that says no TLS, whatever the file says', proxyV2(client, secureTlv(0)), { scheme: 'https' }, 'http'],
    ['a connection of its own', local, { scheme: 'https' }, 'http'],
  ])('in X-Forwarded-Proto, Forwarded and the port of Host: %s', async (_, header, more, scheme) => {
    const gateway = await boot({
      proxyProtocol: { ...proxyProtocol, ...more },
      forwarded: 'both',
      hosts: [scheme === 'https' ? 'a:443' : 'a:80'],
    })

    const received = await exchangeRaw(gateway.port, withRequest(header))

    expect(parseStatus(received)).toBe(200)
    expect(receivedValues(gateway.requests()[0], 'x-forwarded-proto')).toEqual([scheme])
    expect(receivedValues(gateway.requests()[0], 'forwarded')).toEqual([expect.stringContaining(`proto=${scheme}`)])
  })

  test('in X-Forwarded-Proto, and an edit of it holds for the next request on the connection', async () => {
    const before = upstream.requests.length
    const live = await bootLiveGateway({ upstream: upstream.url, listen: { proxyProtocol } })
    const { until, send } = await dial(live.gateway.address.port)
    send(withRequest(proxyV1(client)))
    await until(isWholeResponse)

    live.edit({ upstream: upstream.url, listen: { proxyProtocol: { ...proxyProtocol, scheme: 'https' } } })
    await live.gateway.reload('request')
    send(get)
    await until((text) => text.split('HTTP/1.1 200').length === 3)

    const protos = upstream.requests.slice(before).flatMap((request) => receivedValues(request, 'x-forwarded-proto'))
    expect(protos).toEqual(['http', 'https'])
  })

  test.skipIf(missing)(
    'in X-Forwarded-Proto: a header without TLS in it says nothing of TLS that ends here',
    async () => {
      const gateway = await boot(listenHttp2())
      const session = dialHttp2(await tcpBalancer(gateway.port, proxyV2(client, secureTlv(0))))
      const head = Object.fromEntries(http2Get().flatMap((each, i, all) => (i % 2 ? [] : [[each, all[i + 1]]])))

      await requestHttp2(session, head)

      expect(receivedValues(gateway.requests()[0], 'x-forwarded-proto')).toEqual(['https'])
    },
  )

  test('for every limit, and for audit', async () => {
    const audit = createAuditLog(onTestFinished)
    const live = await bootLiveGateway({
      listen: { proxyProtocol },
      limits: { address: { rate: '1/min', burst: 1 } },
      audit: audit.settings,
    })
    const { port } = live.gateway.address
    const statuses: number[] = []

    for (const address of [client, client, '203.0.113.6', client])
      statuses.push(parseStatus(await exchangeRaw(port, withRequest(proxyV1(address)))))
    await live.gateway.close()

    expect(statuses).toEqual([200, 429, 200, 429])
    const audited = audit.lines().filter(({ event }) => event === 'exchange')
    expect(audited.map(({ address }) => address)).toEqual([client, client, '203.0.113.6', client])
  })

  test('for where a client may call from', async () => {
    const apiKeys = [{ id: 'key', sha256: hash('sha256', key.slice('key.'.length)) }]
    const { gateway } = await bootApiKeyGateway('all', {
      listen: { proxyProtocol },
      clients: [{ id: 'bank-a', operations: 'all', addresses: ['203.0.113.0/24'], apiKeys }],
    })
    const asked = get.replace('\r\n\r\n', `\r\nX-Api-Key: ${key}\r\n\r\n`)
    const statuses: number[] = []

    for (const header of [proxyV2(client), proxyV2('192.0.2.7'), local])
      statuses.push(parseStatus(await exchangeRaw(gateway.port, withRequest(header, asked))))

    expect(statuses).toEqual([200, 403, 403])
  })

  test('for the bound on connections of one address', async () => {
    const { port } = await boot({ maxConnectionsPerAddress: 1 })
    const ask = async (header: Buffer): Promise<RawClient | null> => {
      const asking = await dial(port)
      asking.send(withRequest(header))
      return asking.until(isWholeResponse).then(
        () => asking,
        () => null,
      )
    }

    const first = await ask(proxyV1(client))
    const others = [await ask(proxyV1(client)), await ask(proxyV1('203.0.113.6')), await ask(local), await ask(local)]
    first?.close()

    expect(first).not.toBeNull()
    expect(others.map((each) => each !== null)).toEqual([false, true, true, true])
    await expect.poll(() => ask(proxyV1(client))).not.toBeNull()
  })
})

describe('from a load balancer that names no client', () => {
  const forged = 'GET /market/insights HTTP/1.1\r\nHost: a\r\nX-Forwarded-For: 6.6.6.6\r\n\r\n'
  const trustedProxies = ['127.0.0.1']

  test.each([
    ['its own connection is believed what a trusted proxy says', local, '6.6.6.6'],
    ['an unknown client is not, version 1', Buffer.from('PROXY UNKNOWN\r\n'), '127.0.0.1'],
    ['an unknown client is not, version 2', proxyV2Raw(1, 0, Buffer.alloc(0)), '127.0.0.1'],
    ['a client on a Unix socket is not', proxyV2Raw(1, 0x31, Buffer.alloc(216, 7)), '127.0.0.1'],
  ])('%s', async (_, header, address) => {
    const gateway = await boot({ trustedProxies })

    await exchangeRaw(gateway.port, withRequest(header, forged))

    expect((await served(gateway)).client).toBe(address)
  })

  test('its clients are not believed because it is', async () => {
    const gateway = await boot({ trustedProxies })

    await exchangeRaw(gateway.port, withRequest(proxyV1(client), forged))

    expect((await served(gateway)).client).toBe(client)
  })

  test('a trusted proxy in front of it is believed', async () => {
    const gateway = await boot({ trustedProxies: [client] })

    await exchangeRaw(gateway.port, withRequest(proxyV1(client), forged))

    expect((await served(gateway)).client).toBe('6.6.6.6')
    expect(receivedValues(gateway.requests()[0], 'x-forwarded-for')).toEqual([`6.6.6.6, ${client}`])
  })

  test.each([
    [
      'a trusted proxy in front of it is',
      client,
      '198.51.100.9',
      `for=198.51.100.9;proto=http;host="a", for=${client}`,
    ],
    ['a client of it is not', '203.0.113.6', '203.0.113.6', 'for=203.0.113.6;proto=http;host="a"'],
  ])('%s believed what Forwarded says', async (_, named, address, rendered) => {
    const gateway = await boot({ trustedProxies: [client, '127.0.0.1'], forwarded: 'rfc7239' })
    const asked = forged.replace('X-Forwarded-For', 'Forwarded: for=198.51.100.9\r\nX-Forwarded-For')

    await exchangeRaw(gateway.port, withRequest(proxyV1(named), asked))

    expect((await served(gateway)).client).toBe(address)
    expect(receivedValues(gateway.requests()[0], 'forwarded')).toEqual([rendered])
    expect(JSON.stringify(gateway.requests()[0]?.rawHeaders)).not.toContain('6.6.6.6')
  })
})

describe('from a load balancer, what is no header is closed without a word', () => {
  test.each([
    ['a request without one', Buffer.from(get), 'no-proxy-header'],
    ['TLS without one', Buffer.from([22, 3, 1, 0, 5]), 'no-proxy-header'],
    ['a malformed line', Buffer.from('PROXY TCP4 203.0.113.5\r\n'), 'bad-proxy-header'],
    ['a line that is too long', Buffer.from(`PROXY UNKNOWN ${'x'.repeat(100)}`), 'bad-proxy-header'],
    ['a header that says it is too long', proxyV2Raw(1, 0x11, Buffer.alloc(0), 60_000), 'bad-proxy-header'],
    ['a header with a wrong checksum', proxyV2(client, tlv(3, 'abcd')), 'bad-proxy-header'],
  ])('%s', async (_, bytes, reason) => {
    const gateway = await boot()
    const { send, ended } = await dial(gateway.port)

    send(bytes)
    const { received } = await ended()

    expect(received).toBe('')
    const logged = await refused(gateway)
    expect(logged).toMatchObject({ client: '127.0.0.1', failure: 'bad-request', reason })
    expect(JSON.stringify(logged)).not.toContain('203.0.113')
  })

  test.each([
    ['version 1', proxyV1(client)],
    ['version 2', proxyV2(client, tlv(4, 'xyz'))],
  ])('one that ends within it, wherever: %s', async (_, header) => {
    const gateway = await boot()

    const ends = await Promise.all(
      [...header.keys()].slice(1).map(async (cut) => {
        const { socket, ended } = await dial(gateway.port)
        socket.end(header.subarray(0, cut))
        return (await ended()).received
      }),
    )

    expect(new Set(ends)).toEqual(new Set(['']))
    const lines = gateway.lines().filter(({ msg }) => msg === 'exchange')
    expect(lines).toHaveLength(header.length - 1)
    expect(new Set(lines.map(({ reason }) => reason))).toEqual(new Set(['bad-proxy-header']))
  })

  test.each([
    ['nothing', ''],
    ['half of one', 'PROXY TCP4 203.0.'],
  ])('one that sends %s, after listen.timeouts.headers', async (_, bytes) => {
    const gateway = await boot({ timeouts: { headers: '50ms' } })
    const { send, ended } = await dial(gateway.port)

    send(bytes)
    const { received } = await ended()

    expect(received).toBe('')
    expect(await refused(gateway)).toMatchObject({ failure: 'request-timeout', reason: 'proxy-header-too-slow' })
  })

  test('and one that only looks whether the port is open leaves no line', async () => {
    const gateway = await boot()

    for (const bytes of ['', local.toString('latin1'), proxyV1(client).toString('latin1')]) {
      const { socket, ended } = await dial(gateway.port)
      socket.end(bytes, 'latin1')
      await ended()
    }
    await exchangeRaw(gateway.port, withRequest(proxyV1(client)))

    expect(
      gateway
        .lines()
        .filter(({ msg }) => msg === 'exchange')
        .map(({ status }) => status),
    ).toEqual([200])
  })

  test('a second header is no request', async () => {
    const gateway = await boot()

    const received = await exchangeRaw(gateway.port, withRequest(Buffer.concat([proxyV1(client), proxyV1('6.6.6.6')])))

    expect(parseStatus(received)).toBe(400)
    expect(await refused(gateway)).toMatchObject({ client, reason: 'proxy-header' })
  })
})

describe('from any other address', () => {
  const other = '127.0.0.2'

  test('a request without a header is served', async () => {
    const gateway = await boot()
    const { send, until } = await dial(gateway.port, other)

    send(get)
    await until(isWholeResponse)

    expect((await served(gateway)).client).toBe(other)
  })

  test.each([
    ['version 1', proxyV1('6.6.6.6')],
    ['version 2', proxyV2('6.6.6.6')],
  ])('a header is refused and named, and nothing in it is believed: %s', async (_, header) => {
    const gateway = await boot()
    const { send, ended } = await dial(gateway.port, other)

    send(withRequest(header))
    const { received } = await ended()

    expect(parseStatus(received)).toBe(400)
    expect(await refused(gateway)).toMatchObject({ client: other, reason: 'proxy-header' })
    expect(gateway.requests()).toEqual([])
  })
})

test('a client that ends its side behind its request is answered', async () => {
  const gateway = await boot()
  const { socket, until } = await dial(gateway.port)

  socket.end(withRequest(proxyV2(client)))

  expect(parseStatus(await until(isWholeResponse))).toBe(200)
})

test('the admin listener takes no header, from a load balancer either', async () => {
  const live = await bootLiveGateway({ listen: { proxyProtocol } })
  const request = Buffer.from('GET /ready HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n')

  const received = await exchangeRaw(Number(new URL(live.admin).port), Buffer.concat([proxyV1(client), request]))

  expect(parseStatus(received)).toBe(400)
})

test('an edit switches it on, changes who sends it, and switches it off, for connections that come from then on', async () => {
  const patient = { timeouts: { headers: '10m' } } // for the connection that is open from the beginning
  const live = await bootLiveGateway({ listen: patient })
  const { port } = live.gateway.address
  const before = await dial(port)
  const kinds = async (): Promise<readonly number[]> => [
    parseStatus(await exchangeRaw(port, get)),
    parseStatus(await exchangeRaw(port, withRequest(proxyV1(client)))),
  ]
  const edited = async (listen: NonNullable<Settings['listen']>): Promise<readonly number[]> => {
    live.edit({ listen: { ...patient, ...listen } })
    await live.gateway.reload('request')
    return kinds()
  }

  const seen = [
    await kinds(),
    await edited({ proxyProtocol }),
    await edited({ proxyProtocol: { from: ['192.0.2.1'] } }),
    await edited({}),
  ]
  before.send(get)

  expect(seen).toEqual([
    [200, 400],
    [0, 200],
    [200, 400],
    [200, 400],
  ])
  expect(parseStatus(await before.until(isWholeResponse))).toBe(200)
})

describe('a stop', () => {
  test.each([
    ['half a header', 'PROXY TCP4 '],
    ['a header, and nothing behind it', proxyV1(client).toString()],
  ])('ends a connection that has sent %s at once', async (_, bytes) => {
    const live = await bootLiveGateway({ listen: { proxyProtocol }, shutdown: { wait: '0s', deadline: '20s' } })
    const waiting = await dial(live.gateway.address.port)
    waiting.send(bytes)
    await exchangeRaw(live.gateway.address.port, withRequest(proxyV1(client)))

    const started = performance.now()
    await live.gateway.close()

    expect((await waiting.ended()).received).toBe('')
    expect(performance.now() - started).toBeLessThan(10_000) // and not when its time to send it is over
  })
})
