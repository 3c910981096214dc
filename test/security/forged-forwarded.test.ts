import { describe, expect, test } from 'vitest'
import { gatewayForAll } from '../helpers/gateway.ts'
import { receivedNames, receivedValues, roundTrip } from '../helpers/round-trip.ts'

// The attack: a client that says it is another, to the gateway's log and limits or to what the upstream allows by
// address.
const forged = [
  ...['Forwarded: for=6.6.6.6;proto=https;host=evil', 'X-Forwarded-For: 6.6.6.6', 'X-Forwarded-Proto: evil'],
  ...['X-Forwarded-Host: evil', 'X-Forwarded-Port: evil', 'X-Forwarded-Server: evil', 'X-Forwarded-Prefix: /evil'],
  ...['X-Real-IP: 6.6.6.6', 'X-Forwarded: 6.6.6.6'],
]
const twins = forged
  .filter((line) => /^[^:]*-/.test(line))
  .flatMap((line) => {
    const [name = '', value = ''] = line.split(': ')
    return [name.replaceAll('-', '_'), name.replace('-', '_'), name.toUpperCase().replaceAll('-', '_')].map(
      (twin) => `${twin}: ${value}`,
    )
  })

/** Sends a request with these fields; returns what arrived, and whom the log takes the client for. */
const send = async ({ port, upstream, lines }: ReturnType<typeof gatewayForAll>, fields: readonly string[]) => {
  const before = lines.length
  const head = ['GET /market/insights HTTP/1.1', 'Host: a', ...fields, '\r\n'].join('\r\n')
  const { response, arrived } = await roundTrip(port, upstream, head)
  await expect.poll(() => lines.length).toBe(before + 1)
  return {
    line: lines[before],
    status: response.status,
    count: arrived.length,
    names: receivedNames(arrived[0]),
    of: (lower: string) => receivedValues(arrived[0], lower),
    text: JSON.stringify(arrived[0]?.rawHeaders),
  }
}

const evil = /6\.6\.6\.6|evil/

describe('of an untrusted peer', () => {
  const site = gatewayForAll()

  test.each([
    ['as they are named', (line: string) => line],
    ['in lower case', (line: string) => line.toLowerCase()],
  ])('none arrives, %s or by a twin: the forwarded fields are the gateway’s own, each once', async (_, spell) => {
    const { line, names, of, text } = await send(site, [...forged, ...twins].map(spell))

    expect(text).not.toMatch(evil)
    expect(of('x-forwarded-for')).toEqual(['127.0.0.1'])
    expect(of('x-forwarded-proto')).toEqual(['http'])
    expect(of('x-forwarded-host')).toEqual(['a'])
    expect(names.filter((name) => /forwarded|real|_/.test(name))).toHaveLength(3)
    expect(line?.client).toBe('127.0.0.1')
  })
})

const trustedProxies = ['127.0.0.0/8', '10.0.0.0/8']

describe('of a trusted proxy', () => {
  const site = gatewayForAll({ listen: { trustedProxies } })

  test('what it says of its client is believed and handed on, and no twin: it would not have written that', async () => {
    const said = [
      ...['Forwarded: for=192.0.2.1', 'X-Forwarded-For: 192.0.2.1', 'X-Forwarded-Proto: https'],
      ...['X-Forwarded-Host: shop', 'X-Real-IP: 192.0.2.1', ...twins],
    ]

    const { line, of, text } = await send(site, said)

    expect(of('x-forwarded-for')).toEqual(['192.0.2.1, 127.0.0.1'])
    expect(of('x-forwarded-proto')).toEqual(['https'])
    expect(of('x-forwarded-host')).toEqual(['shop'])
    expect(of('forwarded')).toEqual(['for=192.0.2.1'])
    expect(of('x-real-ip')).toEqual(['192.0.2.1'])
    expect(text).not.toMatch(evil)
    expect(line?.client).toBe('192.0.2.1')
  })

  test.each([
    [
      'the client is the rightmost that is not trusted, however much it made up itself',
      ['X-Forwarded-For: 6.6.6.6, 127.0.0.1', 'X-Forwarded-For: 203.0.113.5, 10.1.1.1'],
      '203.0.113.5',
    ],
    [
      'an entry that is no address does not become the client',
      ['X-Forwarded-For: 6.6.6.6, "}{evil", 10.1.1.1'],
      '10.1.1.1',
    ],
  ])('%s', async (_, said, client) => {
    expect((await send(site, said)).line?.client).toBe(client)
  })
})

describe.each(['rfc7239', 'both'] as const)('where Forwarded is read (listen.forwarded: %s)', (forwarded) => {
  const [stranger, proxy] = [
    gatewayForAll({ listen: { forwarded } }),
    gatewayForAll({ listen: { trustedProxies, forwarded } }),
  ]

  test('of an untrusted peer nothing arrives, and the gateway names it', async () => {
    const { line, of, text } = await send(stranger, [...forged, ...twins])

    expect(text).not.toMatch(evil)
    expect(of('forwarded')).toEqual(['for=127.0.0.1;proto=http;host="a"'])
    expect(of('x-forwarded-for')).toEqual(['127.0.0.1'])
    expect(line?.client).toBe('127.0.0.1')
  })

  test('of a trusted proxy it says who the client is, and goes on with the gateway’s hop', async () => {
    const { line, of } = await send(proxy, [
      'Forwarded: for=6.6.6.6;host=evil, for="',
      'forwarded: for="[2001:db8::1]:4711";proto=https;host=shop, for=10.1.1.1;by=10.2.2.2',
    ])

    expect(of('forwarded')).toEqual(['for="[2001:db8::1]";proto=https;host="shop", for=10.1.1.1, for=127.0.0.1'])
    expect(of('x-forwarded-for')).toEqual(['2001:db8::1, 10.1.1.1, 127.0.0.1'])
    expect(of('x-forwarded-proto')).toEqual(['https'])
    expect(of('x-forwarded-host')).toEqual(['shop'])
    expect(line?.client).toBe('2001:db8::1')
  })

  test('a client cannot name another past a proxy that sets one of them alone', async () => {
    const sound = forwarded === 'both' ? 'X-Forwarded-For: 203.0.113.5' : 'Forwarded: for=203.0.113.5'
    const others =
      forwarded === 'both'
        ? ['Forwarded: for=6.6.6.6']
        : forged.filter((line) => /^X-(?:Forwarded(?:-For|-Proto|-Host)?|Real-IP):/.test(line))

    const { count, line, status, text } = await send(proxy, [...others, sound])

    if (forwarded === 'rfc7239') {
      expect([status, line?.client]).toEqual([200, '203.0.113.5'])
      expect(text).not.toMatch(evil)
    } else {
      expect([status, count]).toEqual([400, 0])
      expect(line).toMatchObject({ client: '127.0.0.1', reason: 'forwarded-contradiction' })
    }
  })
})
