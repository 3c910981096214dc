import { hash } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { createAuditLog } from '../../../features/audit/audit-log-place.ts'
import { bootApiKeyGateway, key } from '../../../helpers/api-key-gateway.ts'
import { type LogLine, openGateway, type Settings, type TestGateway } from '../../../helpers/gateway.ts'
import { dialHttp2, listenHttp2, missing, requestHttp2 } from '../../../helpers/http2.ts'
import { bootLiveGateway } from '../../../helpers/live-gateway.ts'
import { proxyV1, proxyV2, proxyV2Raw, tcpBalancer, tlv } from '../../../helpers/proxy-protocol.ts'
import { exchangeRaw, isWholeResponse, parseStatus, type RawClient, rawClient } from '../../../helpers/raw-client.ts'
import { receivedValues } from '../../../helpers/round-trip.ts'
import { tlsHandshake } from '../../../helpers/tls-client.ts'
import { openHttpUpstream, type TestUpstream } from '../../../helpers/upstream.ts'
import { bareGet } from '../../../helpers/wire.ts'

// The attack: a client that says by a PROXY protocol header that it is another, or that has the gateway wait for one.
const get = bareGet()
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
    exchanges: () => lines.slice(linesBefore).filter(({ msg }) => msg === 'exchange'),
    line: (wanted: (each: LogLine) => boolean) => line((each) => lines.indexOf(each) >= linesBefore && wanted(each)),
    requests: () => upstream.requests.slice(requestsBefore),
  }
}

const dial = async (port: number, from?: string): Promise<RawClient> => {
  const dialled = await rawClient(port, from)
  onTestFinished(() => dialled.close())
  return dialled
}

/** Sends a header and a request. Returns the status, whom the log takes the client for, and the fields that arrived. */
const ask = async (header: Buffer, listen: Settings['listen'] = {}, request = get) => {
  const gateway = await boot(listen)
  const status = parseStatus(await exchangeRaw(gateway.port, withRequest(header, request)))
  const { client } = await gateway.line(({ msg }) => msg === 'exchange')
  const [arrived] = gateway.requests()
  return { status, client, arrived, of: (lower: string) => receivedValues(arrived, lower) }
}

const rejected = ({ line }: Pick<TestGateway, 'line'>) => line(({ fault }) => fault === 'client')

// proxy-header.test.ts has how a header is read, listener.test.ts what it says of TLS.
describe('from a load balancer, the client is whom the header names', () => {
  test.each([
    ['version 1, IPv6', proxyV1('2001:db8::1'), '2001:db8::1'],
    ['version 2, with a name and a field of its own', proxyV2(client, tlv(2, 'a'), tlv(0xea, 'x')), client],
  ])('on HTTP/1: %s', async (_, header, address) => {
    const asked = await ask(header)

    expect(asked).toMatchObject({ status: 200, client: address })
    expect(asked.of('x-forwarded-for')).toEqual([address])
  })

  test('however it is cut into packets, and for the next request', async () => {
    const gateway = await boot()
    const { socket, until, send } = await dial(gateway.port)
    socket.setNoDelay()

    for (const byte of withRequest(proxyV2(client))) {
      send(Buffer.from([byte]))
      await new Promise(setImmediate)
    }
    await until(isWholeResponse)
    send(get)
    await until((text) => text.split('HTTP/1.1 200').length === 3)

    expect(gateway.exchanges().map((each) => each.client)).toEqual([client, client])
  })

  test('on HTTP/1, and the body that comes in the same packets arrives whole', async () => {
    const body = 'x'.repeat(300_000)
    const post = `POST /risk/asset-valuation HTTP/1.1\r\nHost: a\r\nContent-Length: ${body.length}\r\n\r\n${body}`

    expect((await ask(proxyV2(client), {}, post)).arrived?.body.toString()).toBe(body)
  })

  test.skipIf(missing)('on HTTP/1 over TLS, with the hello in the packet of the header or behind it', async () => {
    const gateway = await boot({ ...listenHttp2(), http2: false })
    const behind = await dial(gateway.port)
    behind.send(proxyV1(client))

    const together = await tlsHandshake(await tcpBalancer(gateway.port, proxyV2(client)))
    for (const { socket, failure } of [together, await tlsHandshake(gateway.port, { socket: behind.socket })]) {
      expect(failure).toBeNull()
      socket.write(get)
      await new Promise((resolve) => socket.once('data', resolve))
      socket.destroy()
    }

    const exchanges = () => gateway.exchanges().map((each) => [each.client, each.status])
    await expect.poll(exchanges).toEqual(Array(2).fill([client, 200]))
  })

  const secureTlv = (client: number) => tlv(0x20, Buffer.from([client, 0, 0, 0, 0]))

  test.skipIf(missing)('on HTTP/2, whose TLS ends here, whatever the header says of TLS', async () => {
    const gateway = await boot(listenHttp2())
    const session = dialHttp2(await tcpBalancer(gateway.port, proxyV2(client, secureTlv(0))))
    const head = { ':path': '/market/insights', ':authority': 'localhost' }

    const responses = [await requestHttp2(session, head), await requestHttp2(session, head)]

    expect(responses.map(({ status }) => status)).toEqual([200, 200])
    expect(gateway.exchanges().map((each) => each.client)).toEqual([client, client])
    const [, second] = gateway.requests()
    expect(receivedValues(second, 'x-forwarded-for')).toEqual([client])
    expect(receivedValues(second, 'x-forwarded-proto')).toEqual(['https'])
  })

  test.skipIf(missing)('in the line of a handshake that fails, with the name that was asked for', async () => {
    const gateway = await boot({ ...listenHttp2(), timeouts: { headers: '500ms' } })
    const { ended, send } = await dial(gateway.port)

    send(Buffer.concat([proxyV2(client, tlv(2, 'gateway.example')), Buffer.from([22, 3, 1])]))
    await ended()

    const line = await gateway.line(({ msg }) => msg === 'handshake failed')
    expect(line).toMatchObject({ client, authority: 'gateway.example', reason: 'timeout' })
  })

  test.each([
    ['version 1, and https in the file', proxyV1(client), 'https'],
    ['version 2 that says no TLS, whatever the file says', proxyV2(client, secureTlv(0)), 'http'],
  ])('in X-Forwarded-Proto, Forwarded and the port of Host: %s', async (_, header, scheme) => {
    const hosts = [scheme === 'https' ? 'a:443' : 'a:80']

    const asked = await ask(header, { proxyProtocol: { ...proxyProtocol, scheme: 'https' }, forwarded: 'both', hosts })

    expect(asked.status).toBe(200)
    expect(asked.of('x-forwarded-proto')).toEqual([scheme])
    expect(asked.of('forwarded')).toEqual([expect.stringContaining(`proto=${scheme}`)])
  })

  test('for every limit, and for audit', async () => {
    const audit = createAuditLog(onTestFinished)
    const live = await bootLiveGateway({
      listen: { proxyProtocol },
      limits: { address: { rate: '1/min', burst: 1 } },
      audit: audit.settings,
    })
    const addresses = [client, client, '203.0.113.6', client]
    const statuses: number[] = []

    for (const address of addresses)
      statuses.push(parseStatus(await exchangeRaw(live.gateway.address.port, withRequest(proxyV1(address)))))
    await live.gateway.close()

    expect(statuses).toEqual([200, 429, 200, 429])
    const audited = audit.lines().filter(({ event }) => event === 'exchange')
    expect(audited.map(({ address }) => address)).toEqual(addresses)
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
    const connect = async (header: Buffer): Promise<RawClient | null> => {
      const asking = await dial(port)
      asking.send(withRequest(header))
      const text = await asking.until(isWholeResponse).catch(() => null)
      return text === null ? null : asking
    }

    const first = await connect(proxyV1(client))
    const others = []
    for (const header of [proxyV1(client), proxyV1('203.0.113.6'), local, local]) others.push(await connect(header))
    first?.close()

    expect(first).not.toBeNull()
    expect(others.map((each) => each !== null)).toEqual([false, true, true, true])
    await expect.poll(() => connect(proxyV1(client))).not.toBeNull()
  })
})

describe('what a client says beside the header', () => {
  const forged = 'GET /market/insights HTTP/1.1\r\nHost: a\r\nX-Forwarded-For: 6.6.6.6\r\n\r\n'

  test.each([
    ['of its own connection is believed, which a trusted proxy has', local, '127.0.0.1', '6.6.6.6'],
    ['unknown is not, version 1', Buffer.from('PROXY UNKNOWN\r\n'), '127.0.0.1', '127.0.0.1'],
    ['unknown is not, version 2', proxyV2Raw(1, 0, Buffer.alloc(0)), '127.0.0.1', '127.0.0.1'],
    ['on a Unix socket is not', proxyV2Raw(1, 0x31, Buffer.alloc(216, 7)), '127.0.0.1', '127.0.0.1'],
    ['of a load balancer that is trusted is not', proxyV1(client), '127.0.0.1', client],
    ['is, where a trusted proxy is in front of the load balancer', proxyV1(client), client, '6.6.6.6'],
  ])('%s', async (_, header, trusted, address) => {
    expect(await ask(header, { trustedProxies: [trusted] }, forged)).toMatchObject({ client: address })
  })

  const behindProxy = `for=198.51.100.9;proto=http;host="a", for=${client}`
  test.each([
    ['a trusted proxy in front is', client, '198.51.100.9', behindProxy],
    ['a client is not', '203.0.113.6', '203.0.113.6', 'for=203.0.113.6;proto=http;host="a"'],
  ])('%s believed what Forwarded says', async (_, named, address, rendered) => {
    const listen = { trustedProxies: [client, '127.0.0.1'], forwarded: 'rfc7239' }
    const request = forged.replace('X-Forwarded-For', 'Forwarded: for=198.51.100.9\r\nX-Forwarded-For')

    const asked = await ask(proxyV1(named), listen, request)

    expect([asked.client, asked.of('forwarded')]).toEqual([address, [rendered]])
    expect(JSON.stringify(asked.arrived?.rawHeaders)).not.toContain('6.6.6.6')
  })
})

describe('from a load balancer, what is no header is closed without a word', () => {
  test.each([
    ['a request without one', Buffer.from(get), 'no-proxy-header'],
    ['TLS without one', Buffer.from([22, 3, 1, 0, 5]), 'no-proxy-header'],
    ['a malformed line', Buffer.from('PROXY TCP4 203.0.113.5\r\n'), 'bad-proxy-header'],
    ['a header with a wrong checksum', proxyV2(client, tlv(3, 'abcd')), 'bad-proxy-header'],
  ])('%s', async (_, bytes, reason) => {
    const gateway = await boot()
    const { send, ended } = await dial(gateway.port)

    send(bytes)

    expect((await ended()).received).toBe('')
    const logged = await rejected(gateway)
    expect(logged).toMatchObject({ client: '127.0.0.1', failure: 'bad-request', reason })
    expect(JSON.stringify(logged)).not.toContain('203.0.113')
  })

  test('one that ends within it, wherever', async () => {
    const gateway = await boot()
    const header = proxyV2(client, tlv(4, 'xyz'))

    const ends = await Promise.all(
      [...header.keys()].slice(1).map(async (cut) => {
        const { socket, ended } = await dial(gateway.port)
        socket.end(header.subarray(0, cut))
        return (await ended()).received
      }),
    )

    expect(new Set(ends)).toEqual(new Set(['']))
    const reasons = gateway.exchanges().map(({ reason }) => reason)
    expect(reasons).toEqual(Array(header.length - 1).fill('bad-proxy-header'))
  })

  test.each([
    ['nothing', ''],
    ['half of one', 'PROXY TCP4 203.0.'],
  ])('one that sends %s, after listen.timeouts.headers', async (_, bytes) => {
    const gateway = await boot({ timeouts: { headers: '50ms' } })
    const { send, ended } = await dial(gateway.port)

    send(bytes)

    expect((await ended()).received).toBe('')
    expect(await rejected(gateway)).toMatchObject({ failure: 'request-timeout', reason: 'proxy-header-too-slow' })
  })

  test('and one that only looks whether the port is open leaves no line', async () => {
    const gateway = await boot()

    for (const bytes of [Buffer.alloc(0), local, proxyV1(client)]) {
      const { socket, ended } = await dial(gateway.port)
      socket.end(bytes)
      await ended()
    }
    await exchangeRaw(gateway.port, withRequest(proxyV1(client)))

    expect(gateway.exchanges().map(({ status }) => status)).toEqual([200])
  })

  test('a second header is no request', async () => {
    const gateway = await boot()

    await exchangeRaw(gateway.port, withRequest(Buffer.concat([proxyV1(client), proxyV1('6.6.6.6')])))

    expect(await rejected(gateway)).toMatchObject({ status: 400, client, reason: 'proxy-header' })
  })
})

describe('from any other address', () => {
  const other = '127.0.0.2'

  test.each<[string, Buffer, object, number]>([
    ['a request without a header is served', Buffer.alloc(0), { status: 200 }, 1],
    ['a header of version 1 is rejected and named', proxyV1('6.6.6.6'), { status: 400, reason: 'proxy-header' }, 0],
    ['a header of version 2 is rejected and named', proxyV2('6.6.6.6'), { status: 400, reason: 'proxy-header' }, 0],
  ])('%s, and nothing in it is believed', async (_, header, logged, sent) => {
    const gateway = await boot()
    const { send, until, ended } = await dial(gateway.port, other)

    send(withRequest(header))
    await until(isWholeResponse)
    if (sent === 0) await ended()

    expect(await gateway.line(({ msg }) => msg === 'exchange')).toMatchObject({ ...logged, client: other })
    expect(gateway.requests()).toHaveLength(sent)
  })
})

test('a client that ends its side behind its request gets a response', async () => {
  const { socket, until } = await dial((await boot()).port)

  socket.end(withRequest(proxyV2(client)))

  expect(parseStatus(await until(isWholeResponse))).toBe(200)
})

test('an edit switches it on, changes who sends it, and switches it off, for connections that come from then on', async () => {
  const patient = { timeouts: { headers: '10m' } } // for the connection that is open from the beginning
  const live = await bootLiveGateway({ listen: patient })
  const { port } = live.gateway.address
  const before = await dial(port)
  const statusOf = async (sent: string | Buffer) => parseStatus(await exchangeRaw(port, sent))
  const kinds = async () => [await statusOf(get), await statusOf(withRequest(proxyV1(client)))]
  const seen = [await kinds()]

  for (const listen of [{ proxyProtocol }, { proxyProtocol: { from: ['192.0.2.1'] } }, {}]) {
    live.edit({ listen: { ...patient, ...listen } })
    await live.gateway.reload('request')
    seen.push(await kinds())
  }
  before.send(get)

  const off = [200, 400]
  expect(seen).toEqual([off, [0, 200], off, off])
  expect(parseStatus(await before.until(isWholeResponse))).toBe(200)
})

test('a stop ends connections that have sent half a header, or a header and nothing behind it, at once; the admin listener takes none', async () => {
  const live = await bootLiveGateway({ listen: { proxyProtocol }, shutdown: { wait: '0s', deadline: '20s' } })
  const { port } = live.gateway.address
  const toAdmin = withRequest(proxyV1(client), 'GET /ready HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n')
  const admin = await exchangeRaw(Number(new URL(live.admin).port), toAdmin)
  const waiting = [await dial(port), await dial(port)]
  waiting[0]?.send('PROXY TCP4 ')
  waiting[1]?.send(proxyV1(client))
  await exchangeRaw(port, withRequest(proxyV1(client)))

  const started = performance.now()
  await live.gateway.close()

  expect(parseStatus(admin)).toBe(400)
  for (const each of waiting) expect((await each.ended()).received).toBe('')
  expect(performance.now() - started).toBeLessThan(10_000) // and not when its time to send it is over
})
