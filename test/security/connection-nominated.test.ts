import { describe, expect, test } from 'vitest'
import { bootGateway } from '../helpers/gateway.ts'
import { receivedNames, receivedValues, roundTrip } from '../helpers/round-trip.ts'
import { httpUpstream } from '../helpers/upstream.ts'

// The attack: `Connection: X-Forwarded-For` makes a careless proxy drop what it has just set itself, or what guards the
// upstream.
const get = (fields: string): string => `GET /market/insights HTTP/1.1\r\nHost: a\r\n${fields}\r\n`

describe('a client that names fields in Connection', () => {
  test.each(['X-Forwarded-For', 'X-Forwarded-Proto', 'X-Forwarded-Host', 'X-Request-Id', 'Via', 'Host'])(
    'does not remove the gateway’s own %s',
    async (name) => {
      const upstream = await httpUpstream()
      const { port } = await bootGateway({ upstream: upstream.url })

      for (const connection of [name, name.toLowerCase(), `close, ${name}`, `${name}\r\nConnection: ${name}`]) {
        const { arrived } = await roundTrip(port, upstream, get(`Connection: ${connection}\r\n`))

        expect(receivedValues(arrived[0], name.toLowerCase())).toHaveLength(1)
      }
    },
  )

  test('does not remove what the operator sets', async () => {
    const upstream = await httpUpstream()
    const market = { endpoints: [upstream.url], request: { set: { 'X-Api-Key': 'guard' } } }
    const { port } = await bootGateway({ upstream: upstream.url, upstreams: { market } })

    const { arrived } = await roundTrip(port, upstream, get('X-Api-Key: mine\r\nConnection: x-api-key\r\n'))

    expect(receivedValues(arrived[0], 'x-api-key')).toEqual(['guard'])
  })

  test('does not change where its body ends', async () => {
    const upstream = await httpUpstream()
    const { port } = await bootGateway({ upstream: upstream.url })
    const head = 'POST /inventory/sync HTTP/1.1\r\nHost: a\r\n'

    const sized = await roundTrip(port, upstream, `${head}Connection: content-length\r\nContent-Length: 5\r\n\r\nhello`)
    const chunked = await roundTrip(
      port,
      upstream,
      `${head}Connection: transfer-encoding\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n`,
    )

    expect(sized.arrived.map(({ body }) => String(body))).toEqual(['hello'])
    expect(chunked.arrived.map(({ body }) => String(body))).toEqual(['hello'])
  })

  test('removes its own fields, and Connection with them', async () => {
    const upstream = await httpUpstream()
    const { port } = await bootGateway({ upstream: upstream.url })

    const { arrived } = await roundTrip(
      port,
      upstream,
      get('X-Hop: 1\r\nConnection: x-HOP, X-Other\r\nx-hop: 2\r\nX-Kept: 3\r\n'),
    )

    expect(receivedNames(arrived[0])).toContain('x-kept')
    expect(receivedNames(arrived[0])).not.toContain('x-hop')
    expect(receivedValues(arrived[0], 'connection').join()).not.toMatch(/hop/i)
  })

  test('hides its own fields only: those of the next request on the connection arrive', async () => {
    const upstream = await httpUpstream()
    const { port } = await bootGateway({ upstream: upstream.url })

    await roundTrip(
      port,
      upstream,
      get('Connection: keep-alive, x-a\r\nX-A: 1\r\n') + get('X-A: 2\r\nConnection: close\r\n'),
    )

    expect(upstream.requests.flatMap((each) => receivedValues(each, 'x-a'))).toEqual(['2'])
  })
})
