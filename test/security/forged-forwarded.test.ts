import { describe, expect, test } from 'vitest'
import { bootGateway } from '../helpers/gateway.ts'
import { receivedNames, receivedValues, roundTrip } from '../helpers/round-trip.ts'
import { httpUpstream } from '../helpers/upstream.ts'

// The attack: a client that says it is another, to the gateway's log and limits or to what the upstream allows by
// address.
const forged = [
  ...[
    'Forwarded: for=6.6.6.6;proto=https;host=evil',
    'X-Forwarded-For: 6.6.6.6',
    'X-Forwarded-Proto: evil',
    'X-Forwarded-Host: evil',
  ],
  ...[
    'X-Forwarded-Port: evil',
    'X-Forwarded-Server: evil',
    'X-Forwarded-Prefix: /evil',
    'X-Real-IP: 6.6.6.6',
    'X-Forwarded: 6.6.6.6',
  ],
]
const twins = forged.flatMap((line) => {
  const at = line.indexOf(':')
  const name = line.slice(0, at)
  const value = line.slice(at)
  return [
    name.replaceAll('-', '_') + value,
    name.replace('-', '_') + value,
    name.toUpperCase().replaceAll('-', '_') + value,
  ]
})
const get = (lines: readonly string[]): string =>
  `GET /market/insights HTTP/1.1\r\nHost: a\r\n${lines.map((line) => `${line}\r\n`).join('')}\r\n`

describe('of an untrusted peer', () => {
  test.each([...forged, ...forged.map((line) => line.toLowerCase()), ...twins.filter((line) => /^[^:]*_/.test(line))])(
    '%s does not arrive',
    async (line) => {
      const upstream = await httpUpstream()
      const { port } = await bootGateway({ upstream: upstream.url })

      const { arrived } = await roundTrip(port, upstream, get([line]))

      expect(JSON.stringify(arrived[0]?.rawHeaders)).not.toMatch(/6\.6\.6\.6|evil/)
      expect(receivedNames(arrived[0]).filter((name) => name.includes('_'))).toEqual([])
    },
  )

  test('the forwarded fields are the gateway’s own, each once', async () => {
    const upstream = await httpUpstream()
    const { port, line } = await bootGateway({ upstream: upstream.url })

    const { arrived } = await roundTrip(port, upstream, get([...forged, ...twins]))

    expect(receivedValues(arrived[0], 'x-forwarded-for')).toEqual(['127.0.0.1'])
    expect(receivedValues(arrived[0], 'x-forwarded-proto')).toEqual(['http'])
    expect(receivedValues(arrived[0], 'x-forwarded-host')).toEqual(['a'])
    expect(
      receivedNames(arrived[0]).filter((name) => name.includes('forwarded') || name.includes('real')),
    ).toHaveLength(3)
    expect((await line(({ status }) => status === 200)).client).toBe('127.0.0.1')
  })
})

describe('of a trusted proxy', () => {
  const listen = { trustedProxies: ['127.0.0.0/8', '10.0.0.0/8'] }

  test('what it says of its client is believed and handed on', async () => {
    const upstream = await httpUpstream()
    const { port, line } = await bootGateway({ upstream: upstream.url, listen })
    const said = [
      'Forwarded: for=192.0.2.1',
      'X-Forwarded-For: 192.0.2.1',
      'X-Forwarded-Proto: https',
      'X-Forwarded-Host: shop',
      'X-Real-IP: 192.0.2.1',
    ]

    const { arrived } = await roundTrip(port, upstream, get(said))

    expect(receivedValues(arrived[0], 'x-forwarded-for')).toEqual(['192.0.2.1, 127.0.0.1'])
    expect(receivedValues(arrived[0], 'x-forwarded-proto')).toEqual(['https'])
    expect(receivedValues(arrived[0], 'x-forwarded-host')).toEqual(['shop'])
    expect(receivedValues(arrived[0], 'forwarded')).toEqual(['for=192.0.2.1'])
    expect(receivedValues(arrived[0], 'x-real-ip')).toEqual(['192.0.2.1'])
    expect((await line(({ status }) => status === 200)).client).toBe('192.0.2.1')
  })

  test('the client is the rightmost that is not trusted, however much it made up itself', async () => {
    const upstream = await httpUpstream()
    const { port, line } = await bootGateway({ upstream: upstream.url, listen })

    await roundTrip(
      port,
      upstream,
      get(['X-Forwarded-For: 6.6.6.6, 127.0.0.1', 'X-Forwarded-For: 203.0.113.5, 10.1.1.1']),
    )

    expect((await line(({ status }) => status === 200)).client).toBe('203.0.113.5')
  })

  test('an entry that is no address does not become the client', async () => {
    const upstream = await httpUpstream()
    const { port, line } = await bootGateway({ upstream: upstream.url, listen })

    await roundTrip(port, upstream, get(['X-Forwarded-For: 6.6.6.6, "}{evil", 10.1.1.1']))

    expect((await line(({ status }) => status === 200)).client).toBe('10.1.1.1')
  })

  test.each(twins.filter((line) => /^[^:]*_/.test(line)))(
    '%s does not arrive: the proxy would not have written it',
    async (line) => {
      const upstream = await httpUpstream()
      const { port } = await bootGateway({ upstream: upstream.url, listen })

      const { arrived } = await roundTrip(port, upstream, get([line]))

      expect(JSON.stringify(arrived[0]?.rawHeaders)).not.toMatch(/6\.6\.6\.6|evil/)
    },
  )
})

describe('where Forwarded is read (listen.forwarded)', () => {
  const modes = ['rfc7239', 'both'] as const
  const trustedProxies = ['127.0.0.0/8', '10.0.0.0/8']

  test.each(modes)('of an untrusted peer nothing arrives, and the gateway names it: %s', async (mode) => {
    const upstream = await httpUpstream()
    const { port, line } = await bootGateway({ upstream: upstream.url, listen: { forwarded: mode } })

    const { arrived } = await roundTrip(port, upstream, get([...forged, ...twins]))

    expect(JSON.stringify(arrived[0]?.rawHeaders)).not.toMatch(/6\.6\.6\.6|evil/)
    expect(receivedValues(arrived[0], 'forwarded')).toEqual(['for=127.0.0.1;proto=http;host="a"'])
    expect(receivedValues(arrived[0], 'x-forwarded-for')).toEqual(['127.0.0.1'])
    expect((await line(({ status }) => status === 200)).client).toBe('127.0.0.1')
  })

  test.each(modes)(
    'of a trusted proxy it says who the client is, and goes on with the gateway’s hop: %s',
    async (mode) => {
      const upstream = await httpUpstream()
      const { port, line } = await bootGateway({ upstream: upstream.url, listen: { trustedProxies, forwarded: mode } })
      const said = [
        'Forwarded: for=6.6.6.6;host=evil, for="',
        'forwarded: for="[2001:db8::1]:4711";proto=https;host=shop, for=10.1.1.1;by=10.2.2.2',
      ]

      const { arrived } = await roundTrip(port, upstream, get(said))

      expect(receivedValues(arrived[0], 'forwarded')).toEqual([
        'for="[2001:db8::1]";proto=https;host="shop", for=10.1.1.1, for=127.0.0.1',
      ])
      expect(receivedValues(arrived[0], 'x-forwarded-for')).toEqual(['2001:db8::1, 10.1.1.1, 127.0.0.1'])
      expect(receivedValues(arrived[0], 'x-forwarded-proto')).toEqual(['https'])
      expect(receivedValues(arrived[0], 'x-forwarded-host')).toEqual(['shop'])
      expect((await line(({ status }) => status === 200)).client).toBe('2001:db8::1')
    },
  )

  test('a client cannot name another past a proxy that sets Forwarded alone', async () => {
    const upstream = await httpUpstream()
    const { port, line } = await bootGateway({
      upstream: upstream.url,
      listen: { trustedProxies, forwarded: 'rfc7239' },
    })
    const said = [
      'X-Forwarded-For: 6.6.6.6',
      'X-Forwarded-Proto: evil',
      'X-Forwarded-Host: evil',
      'X-Real-IP: 6.6.6.6',
      'X-Forwarded: for=6.6.6.6',
      'Forwarded: for=203.0.113.5',
    ]

    const { arrived } = await roundTrip(port, upstream, get(said))

    expect(JSON.stringify(arrived[0]?.rawHeaders)).not.toMatch(/6\.6\.6\.6|evil/)
    expect((await line(({ status }) => status === 200)).client).toBe('203.0.113.5')
  })

  test('a client that writes the field that its proxy leaves alone is refused, and named by the proxy’s address', async () => {
    const upstream = await httpUpstream()
    const { port, line } = await bootGateway({ upstream: upstream.url, listen: { trustedProxies, forwarded: 'both' } })

    const { response, arrived } = await roundTrip(
      port,
      upstream,
      get(['Forwarded: for=6.6.6.6', 'X-Forwarded-For: 203.0.113.5']),
    )

    expect(response.status).toBe(400)
    expect(arrived).toEqual([])
    expect(await line(({ status }) => status === 400)).toMatchObject({
      client: '127.0.0.1',
      reason: 'forwarded-contradiction',
    })
  })
})
