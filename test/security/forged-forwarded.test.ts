import { describe, expect, test } from 'vitest'
import { liveGatewayForAll } from '../helpers/live-gateway.ts'
import { receivedNames, receivedValues, roundTrip } from '../helpers/round-trip.ts'

// The attack: a client passes for another in the gateway's log and limits, or at an upstream that allows addresses.
// `forwarded.test.ts` shows how the fields are read, `fields.test.ts` what a trusted proxy's X-Forwarded-* becomes.
const forged = [
  ...['Forwarded: for=6.6.6.6;proto=https;host=evil', 'X-Forwarded-For: 6.6.6.6', 'X-Forwarded-Proto: evil'],
  ...['X-Forwarded-Host: evil', 'X-Forwarded-Port: evil', 'X-Forwarded-Server: evil', 'X-Forwarded-Prefix: /evil'],
  ...['X-Real-IP: 6.6.6.6', 'X-Forwarded: 6.6.6.6'],
]
const twins = forged.slice(1).flatMap((line) => {
  const [name = '', value = ''] = line.split(': ')
  const spelled = [name.replaceAll('-', '_'), name.replace('-', '_'), name.toUpperCase().replaceAll('-', '_')]
  return spelled.map((twin) => `${twin}: ${value}`)
})
const evil = /6\.6\.6\.6|evil/
const known = ['forwarded', 'x-forwarded-for', 'x-forwarded-proto', 'x-forwarded-host', 'x-real-ip']

/** Sends a request with these fields; returns the upstream's request, and the client in the log. */
const send = async ({ port, server, lines }: ReturnType<typeof liveGatewayForAll>, fields: readonly string[]) => {
  const before = lines.length
  const head = ['GET /market/insights HTTP/1.1', 'Host: a', ...fields, '\r\n'].join('\r\n')
  const { response, arrived } = await roundTrip(port, server, head)
  await expect.poll(() => lines.length).toBe(before + 1)
  return {
    line: lines[before],
    status: response.status,
    count: arrived.length,
    others: receivedNames(arrived[0]).filter((name) => /forwarded|real|_/.test(name) && !known.includes(name)),
    said: known.map((name) => receivedValues(arrived[0], name).join(' and ')),
    text: JSON.stringify(arrived[0]?.rawHeaders),
  }
}

describe.each([
  ['x-forwarded', {}, ''],
  ['both', { forwarded: 'both' }, 'for=127.0.0.1;proto=http;host="a"'],
])('of an untrusted peer (listen.forwarded: %s)', (_, listen, forwarded) => {
  const site = liveGatewayForAll({ listen })

  test('no forwarding field of an untrusted peer arrives, in any case or as a twin: the gateway sets each once', async () => {
    const { line, said, others, text } = await send(site, [
      ...forged,
      ...twins,
      ...forged.map((each) => each.toLowerCase()),
    ])

    expect(text).not.toMatch(evil)
    expect([said, others]).toEqual([[forwarded, '127.0.0.1', 'http', 'a', ''], []])
    expect(line?.client).toBe('127.0.0.1')
  })
})

const trustedProxies = ['127.0.0.0/8', '10.0.0.0/8']

describe.each(['rfc7239', 'both'] as const)('of a trusted proxy, where Forwarded is read (%s)', (forwarded) => {
  const site = liveGatewayForAll({ listen: { trustedProxies, forwarded } })

  test('Forwarded of a trusted proxy names the client, and gets the gateway’s hop', async () => {
    const { line, said } = await send(site, [
      'Forwarded: for=6.6.6.6;host=evil, for="',
      'forwarded: for="[2001:db8::1]:4711";proto=https;host=shop, for=10.1.1.1;by=10.2.2.2',
    ])

    expect(said).toEqual([
      'for="[2001:db8::1]";proto=https;host="shop", for=10.1.1.1, for=127.0.0.1',
      ...['2001:db8::1, 10.1.1.1, 127.0.0.1', 'https', 'shop', ''],
    ])
    expect(line?.client).toBe('2001:db8::1')
  })

  test('a client cannot name another client past a proxy that sets only one of the fields', async () => {
    const alone = forged.filter((line) => /^X-(?:Forwarded(?:-For|-Proto|-Host)?|Real-IP):/.test(line))
    const fields =
      forwarded === 'both'
        ? ['Forwarded: for=6.6.6.6', 'X-Forwarded-For: 203.0.113.5']
        : [...alone, 'Forwarded: for=203.0.113.5']

    const { count, line, status, text } = await send(site, fields)

    if (forwarded === 'rfc7239') {
      expect([status, line?.client]).toEqual([200, '203.0.113.5'])
      expect(text).not.toMatch(evil)
    } else {
      expect([status, count]).toEqual([400, 0])
      expect(line).toMatchObject({ client: '127.0.0.1', reason: 'forwarded-contradiction' })
    }
  })
})
